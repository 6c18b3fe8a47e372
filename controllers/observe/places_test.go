package observe_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAMemberSaysWhyTheOnlyNodeOfItsVolumeWouldNotTakeItAgain(t *testing.T) {
	const pool = "pool"
	inPool := func(name string) *v1alpha1.PodSpec {
		return &v1alpha1.PodSpec{NodeSelector: map[string]string{pool: name}}
	}
	required := func(name string) *v1alpha1.PodSpec {
		return &v1alpha1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: pool, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}}}}}}
	}
	tolerating := &v1alpha1.PodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}}
	nothing := func(place) {}
	taint := func(p place) {
		p.node.Spec.Taints = []corev1.Taint{{Key: "db", Effect: corev1.TaintEffectNoSchedule}}
	}
	const others = "only node worker-0 can use its volume, and spec.pod asks for others"
	for name, row := range map[string]struct {
		spec *v1alpha1.PodSpec
		edit func(place)
		want string
	}{
		"a node selector that it fits":          {inPool("a"), nothing, ""},
		"a node selector of another pool":       {inPool("b"), nothing, others},
		"a node affinity of another pool":       {required("b"), nothing, others},
		"a node affinity that it fits":          {required("a"), nothing, ""},
		"a taint that is not tolerated":         {tolerating, taint, "only node worker-0 can use its volume, and node worker-0 has the taint db"},
		"a cordon":                              {inPool("a"), func(p place) { p.node.Spec.Unschedulable = true }, "unschedulable"},
		"a taint where nodes are asked no more": {nil, taint, ""},
		"a volume of a node by its name":        {inPool("b"), func(p place) { p.pin(onNode("worker-0")) }, others},
		"a volume that two nodes can use":       {inPool("b"), func(p place) { p.pin(onHost("worker-0", "worker-1")) }, ""},
		"a volume that every node can use":      {inPool("b"), func(p place) { p.volume.Spec.NodeAffinity = nil }, ""},
		"a volume of another claim":             {inPool("b"), func(p place) { p.volume.Spec.ClaimRef.UID = "other" }, ""},
		"a node that is gone":                   {inPool("b"), place.deleteNode, ""},
		"a node of another host name":           {inPool("b"), func(p place) { p.node.Labels[corev1.LabelHostname] = "x" }, ""},
		"no right to read nodes":                {inPool("b"), func(p place) { p.world.denied = true }, ""},
	} {
		p := newPlace(t)
		p.node.Labels[pool] = "a"
		p.world.cluster.Spec.Pod = row.spec
		row.edit(p)
		got := p.world.replica("demo-0").Volume.Misplaced
		if (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
