package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
