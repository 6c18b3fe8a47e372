package report

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// beside gives a member's Pod a sidecar, which the spec asks for or not.
func (w *scene) beside(name, sidecars string, ready bool) *scene {
	pod := w.find(name).Pod
	pod.Settings.Sidecars, pod.HeldUnready = sidecars, !ready
	pod.Sidecars = []facts.Sidecar{{Name: "shipper", Ready: ready}}
	return w
}

func TestSidecarsAreCountedWhileTheSpecOrAPodHasSome(t *testing.T) {
	asked := func() *scene {
		w := demo(3, begin).settled()
		w.o.Desired.Settings.Sidecars = "new"
		return w
	}
	for _, row := range []struct {
		name  string
		world *scene
		want  *v1alpha1.SidecarsStatus
	}{
		{"none", demo(3, begin).settled(), nil},
		{"asked for and nowhere yet", asked(), &v1alpha1.SidecarsStatus{Matched: 3}},
		{"on the way", asked().beside("demo-2", "new", true).beside("demo-1", "old", true), &v1alpha1.SidecarsStatus{Matched: 3, Updated: 1, Ready: 2}},
		{"one is not ready", asked().beside("demo-2", "new", false).beside("demo-1", "new", true), &v1alpha1.SidecarsStatus{Matched: 3, Updated: 2, Ready: 1}},
		{"a Pod is gone", asked().beside("demo-2", "new", true).podGone("demo-0"), &v1alpha1.SidecarsStatus{Matched: 2, Updated: 1, Ready: 1}},
		{"taken out of the spec, and still there", demo(3, begin).settled().beside("demo-0", "old", true), &v1alpha1.SidecarsStatus{Matched: 3, Updated: 2, Ready: 1}},
	} {
		got := Status(row.world.input()).Sidecars
		if (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}

func TestASidecarThatCrashesMakesTheClusterNotReadyAndNeitherDegradedNorUnavailable(t *testing.T) {
	status := Status(demo(3, begin).settled().beside("demo-1", "", false).input())
	for kind, want := range map[string]bool{v1alpha1.ConditionReady: false, v1alpha1.ConditionAvailable: true, v1alpha1.ConditionDegraded: false,
		v1alpha1.ConditionReconciling: true, v1alpha1.ConditionUpToDate: true} {
		if got := meta.IsStatusConditionTrue(status.Conditions, kind); got != want {
			t.Errorf("%s is %t: %+v", kind, got, status.Conditions)
		}
	}
	if status.NextStep.Reason != facts.ReasonSidecar || status.ReadyMembers != 3 {
		t.Errorf("%+v", status)
	}
}
