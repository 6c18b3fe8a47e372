package resources

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestASpecSpreadsOverZonesWhereARuleOfItsOwnKeepsMembersApartByZone(t *testing.T) {
	members := &metav1.LabelSelector{MatchLabels: MemberSelector("demo")}
	others := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "noisy"}}
	spread := func(key string, selector *metav1.LabelSelector) v1alpha1.PodSpec {
		return v1alpha1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key,
			WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector}}}
	}
	apart := func(term corev1.PodAffinityTerm) v1alpha1.PodSpec {
		return v1alpha1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}}
	}
	preferred := func(term corev1.PodAffinityTerm) v1alpha1.PodSpec {
		return v1alpha1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}}}}
	}
	const zone, node = corev1.LabelTopologyZone, corev1.LabelHostname
	for name, row := range map[string]struct {
		pod  v1alpha1.PodSpec
		want bool
	}{
		"a spread over zones":                 {spread(zone, nil), true},
		"one that selects members":            {spread(zone, members), true},
		"one that selects others":             {spread(zone, others), false},
		"a spread over nodes":                 {spread(node, nil), false},
		"no two members in a zone":            {apart(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: members}), true},
		"rather no two in a zone":             {preferred(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: members}), true},
		"no two on a node":                    {apart(corev1.PodAffinityTerm{TopologyKey: node, LabelSelector: members}), false},
		"not in a zone with others":           {apart(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: others}), false},
		"not with those of another namespace": {apart(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: members, Namespaces: []string{"dev"}}), false},
		"with members alone": {v1alpha1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: zone, LabelSelector: members}}}}}, false},
		"nothing": {v1alpha1.PodSpec{}, false},
	} {
		if got := SpreadsOverZones(cluster(func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &row.pod })); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if SpreadsOverZones(cluster()) {
		t.Error("the default of all clusters")
	}
}

func TestMembersPreferNodesOfTheirOwnUnlessTheSpecSaysWhichPodsTheyKeepApartFrom(t *testing.T) {
	others := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "noisy"}}}
	onNodes := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}
	racks := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}}
	for name, row := range map[string]struct {
		pod  v1alpha1.PodSpec
		want bool // the operator's preference
	}{
		"nothing":               {v1alpha1.PodSpec{}, true},
		"which nodes suit":      {v1alpha1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: onNodes}}, true},
		"apart from others":     {v1alpha1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{others}}}}, false},
		"apart from none":       {v1alpha1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}}, false},
		"beside others":         {v1alpha1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{others}}}}, false},
		"a spread over racks":   {v1alpha1.PodSpec{TopologySpreadConstraints: racks}, false},
		"that, and which nodes": {v1alpha1.PodSpec{TopologySpreadConstraints: racks, Affinity: &corev1.Affinity{NodeAffinity: onNodes}}, false},
	} {
		c, given := cluster(func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = row.pod.DeepCopy() }), row.pod.Affinity
		got := mustPod(t, c, atBootstrap(c)).Spec.Affinity
		if has := got != nil && got.PodAntiAffinity != nil && len(got.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 1; has != row.want {
			t.Errorf("%s: %+v", name, got)
		}
		if !row.want && !reflect.DeepEqual(got, given) || given != nil && !reflect.DeepEqual(got.NodeAffinity, given.NodeAffinity) {
			t.Errorf("%s: of the spec's affinity it has %+v", name, got)
		}
		if !reflect.DeepEqual(*c.Spec.Pod, row.pod) {
			t.Errorf("%s: the spec was changed", name)
		}
	}
}

func TestASuccessorCountsTheMemberThatItFollowsOnlyWhereTheSpecSaysSo(t *testing.T) {
	leaving := labels.Set(MemberLabels(cluster(), "demo-2", incarnation))
	counts := func(s *metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return err == nil && selector.Matches(leaving)
	}
	start := func(pod *v1alpha1.PodSpec) corev1.PodSpec {
		c := cluster(func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = pod })
		s := joining(c)
		s.Leaving = []string{"demo-2"}
		return mustPod(t, c, s).Spec
	}
	byDefault := start(nil)
	for _, constraint := range byDefault.TopologySpreadConstraints {
		if counts(constraint.LabelSelector) {
			t.Errorf("by default it is spread by %s as if demo-2 stayed", constraint.TopologyKey)
		}
	}
	if counts(byDefault.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector) {
		t.Error("by default it keeps apart from demo-2")
	}
	user := start(&v1alpha1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule}}})
	if !counts(user.TopologySpreadConstraints[0].LabelSelector) {
		t.Error("a constraint of the spec does not count demo-2: no other node may be left to it")
	}
}
