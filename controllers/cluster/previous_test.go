package cluster

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// failedRestore is a cluster that switched over, and then lost most of the restored volumes before their members
// served. It is returned with the record from before that.
func failedRestore(t *testing.T, size int32) (*world, record.Bootstrap) {
	t.Helper()
	w := served(t, size)
	before := w.bootstrapRecord()
	w.ask("back", backupNamed("nightly"))
	w.approve("back")
	w.until("the cluster switches over", func() bool { return len(w.bootstrapRecord().Former) == 1 })
	for _, name := range w.bootstrapRecord().Names[:size/2+1] {
		w.delete(&corev1.PersistentVolumeClaim{}, name)
	}
	w.until("the status tells the way back", func() bool {
		step := w.status().NextStep
		return step.Reason == facts.ReasonRestoreLost && strings.Contains(step.Message, `"source":{"previous":{}}`)
	})
	return w, before
}

func TestAClusterGoesBackFromWhatNeverServedWhereverTheOperatorIsKilled(t *testing.T) {
	for crashAt := 0; ; crashAt += needs.Stride(10) {
		size, old := int32(1), []string{"demo-0"}
		if crashAt == 0 {
			size, old = 3, []string{"demo-0", "demo-1", "demo-2"}
		}
		w, before := failedRestore(t, size)
		failed, volumes := w.bootstrapRecord(), w.uidsOf(&corev1.PersistentVolumeClaimList{})
		w.ask("home", v1alpha1.EtcdRestoreSource{Previous: &v1alpha1.PreviousSource{}})
		w.approve("home")
		if crashAt > 0 {
			w.crashAt = len(w.writes) + crashAt
		}
		w.until("it is back", func() bool { return w.isComplete("home") })
		w.settle()
		back := w.bootstrapRecord()
		if back.Incarnation != before.Incarnation || back.ClusterID != before.ClusterID || len(back.Former) != 1 ||
			back.Former[0].Incarnation != failed.Incarnation || back.NextOrdinal < failed.NextOrdinal ||
			back.LastCounter != failed.LastCounter || back.Served != failed.Served {
			t.Errorf("the bootstrap record was %+v and is %+v", failed, back)
		}
		var running []string
		for _, pod := range w.pods() {
			running = append(running, pod.Name)
		}
		if slices.Sort(running); !slices.Equal(running, old) {
			t.Errorf("%v run", running)
		}
		if got := w.uidsOf(&corev1.PersistentVolumeClaimList{}); !maps.Equal(got, volumes) {
			t.Errorf("the volumes were %v and are %v", volumes, got)
		}
		for _, claim := range w.claims() {
			isOld := slices.Contains(old, claim.Name)
			if says := claim.Annotations; isOld != (says[v1alpha1.AnnotationSuperseded] == "") ||
				isOld && says[v1alpha1.AnnotationGoesBack] != failed.Incarnation {
				t.Errorf("%s says %v", claim.Name, says)
			}
		}
		if crashAt > 0 && w.crashAt != 0 || t.Failed() {
			if crashAt < 10 {
				t.Errorf("the operator was killed %d times only", crashAt)
			}
			return
		}
	}
}
