package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// served is a cluster of so many members that serves, with a backup of it.
func served(t *testing.T, size int32) *world {
	t.Helper()
	w := newWorld(t, demo(size))
	w.settle()
	w.saved("nightly", 7)
	return w
}

func (w *world) isComplete(name string) bool {
	return meta.IsStatusConditionTrue(w.restoreOf(name).Status.Conditions, v1alpha1.RestoreComplete)
}

// holdsRestored says that the cluster is the next one after what ended, and that all of what ended is kept and nothing
// of it runs.
func holdsRestored(w *world, old map[string]bool) {
	w.t.Helper()
	record := w.bootstrapRecord()
	if len(record.Former) != 1 || !record.Next.IsZero() || record.ClusterID == 0 || record.Restore == "" {
		w.t.Errorf("the bootstrap record is %+v", record)
	}
	for _, pod := range w.pods() {
		if old[pod.Name] {
			w.t.Errorf("%s of the previous incarnation is there", pod.Name)
		}
	}
	var kept []string
	for _, claim := range w.claims() {
		if old[claim.Name] {
			kept = append(kept, claim.Name)
			if claim.Annotations[v1alpha1.AnnotationSuperseded] != record.Incarnation || claim.DeletionTimestamp != nil {
				w.t.Errorf("%s says %v", claim.Name, claim.Annotations)
			}
		}
	}
	status := w.restoreOf("back").Status
	if len(kept) != len(old) || !slices.Equal(status.OldVolumes, kept) {
		w.t.Errorf("%v are kept of %v, and the status says %v", kept, old, status.OldVolumes)
	}
	if status.Stage != "Complete" || status.ToIncarnation != record.Incarnation || status.FromIncarnation != record.Former[0].Incarnation || status.CompletedAt == nil || status.StartedAt == nil {
		w.t.Errorf("the EtcdRestore says %+v", status)
	}
}

func TestAClusterGoesBackToABackupWhereverTheOperatorIsKilled(t *testing.T) {
	for crashAt := 0; ; crashAt += needs.Stride(10) {
		size, old := int32(1), map[string]bool{"demo-0": true}
		if crashAt == 0 {
			size, old = 3, map[string]bool{"demo-0": true, "demo-1": true, "demo-2": true}
		}
		w := served(t, size)
		w.ask("back", backupNamed("nightly"))
		w.approve("back")
		if crashAt > 0 {
			w.crashAt = len(w.writes) + crashAt
		}
		w.until("the cluster is restored", func() bool { return w.isComplete("back") })
		w.settle()
		holdsRestored(w, old)
		if got := w.restoreOf("back").Status; got.Key != savedKey || got.Revision != 7 {
			t.Errorf("what was restored is said to be %s at %d", got.Key, got.Revision)
		}
		if got := w.status(); got.Size != size || got.Evidence == nil || got.Evidence.Quorum != string(plan.QuorumHolds) {
			t.Errorf("the cluster is %+v", got)
		}
		if crashAt > 0 && w.crashAt != 0 || t.Failed() {
			if crashAt < 20 {
				t.Errorf("the operator was killed %d times only", crashAt)
			}
			return
		}
	}
}

func TestNothingIsDoneWithoutAnApprovalOfWhatThereIs(t *testing.T) {
	w := served(t, 3)
	before, pods := w.bootstrapRecord(), w.uidsOf(&corev1.PodList{})
	w.ask("back", backupNamed("nightly"))
	w.until("it is told", func() bool { return len(w.restoreOf("back").Status.Conditions) > 0 })
	approved := meta.FindStatusCondition(w.restoreOf("back").Status.Conditions, v1alpha1.RestoreApproved)
	digest := w.status().Evidence.Digest
	for _, want := range []string{
		"Everything after revision 7, at which nightly was taken", "The cluster is at revision",
		`kubectl patch etcdrestore back -n shop --type merge -p '{"spec":{"approval":"` + digest + `"}}'`,
	} {
		if approved.Reason != report.RestoreReasonMissing || !strings.Contains(approved.Message, want) {
			t.Errorf("%q is not in %s: %s", want, approved.Reason, approved.Message)
		}
	}
	w.editRestore("back", func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = "0123456789abcdef" })
	for range 20 {
		w.passOn()
	}
	approved = meta.FindStatusCondition(w.restoreOf("back").Status.Conditions, v1alpha1.RestoreApproved)
	if approved.Reason != report.RestoreReasonStale || !strings.Contains(approved.Message, "0123456789abcdef") || !strings.Contains(approved.Message, digest) {
		t.Errorf("%s: %s", approved.Reason, approved.Message)
	}
	if after := w.bootstrapRecord(); fmt.Sprint(after) != fmt.Sprint(before) || !maps.Equal(w.uidsOf(&corev1.PodList{}), pods) {
		t.Errorf("something was done: %+v", after)
	}
}

func TestARestoreIsCalledOffUntilTheClusterMoves(t *testing.T) {
	for name, callOff := range map[string]func(*world){
		"deleted":  func(w *world) { w.delete(&v1alpha1.EtcdRestore{}, "back") },
		"reworded": func(w *world) { w.editRestore("back", func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = "" }) },
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t, 3)
			before, volumes := w.uidsOf(&corev1.PodList{}), w.uidsOf(&corev1.PersistentVolumeClaimList{})
			w.ask("back", backupNamed("nightly"))
			w.approve("back")
			w.until("something is restored", func() bool { return len(w.claims()) == 6 })
			if got := w.restoreOf("back").Status; got.Stage != "Restoring" {
				w.passOn()
			}
			callOff(w)
			w.until("nothing of it is left", func() bool { return w.bootstrapRecord().Next.IsZero() })
			w.settle()
			if !maps.Equal(w.uidsOf(&corev1.PodList{}), before) || !maps.Equal(w.uidsOf(&corev1.PersistentVolumeClaimList{}), volumes) {
				t.Errorf("it left %v and %v", w.uidsOf(&corev1.PodList{}), w.uidsOf(&corev1.PersistentVolumeClaimList{}))
			}
			if got := w.bootstrapRecord(); len(got.Former) > 0 || got.NextOrdinal != 6 {
				t.Errorf("the bootstrap record is %+v", got)
			}
		})
	}
}

func TestOfTwoRestoresTheOlderOneIsCarriedOutAndTheOtherOnesApprovalIsStale(t *testing.T) {
	w := served(t, 1)
	w.ask("back", backupNamed("nightly"))
	w.now = w.now.Add(1e9)
	w.ask("again", backupNamed("nightly"))
	w.approve("again")
	w.editRestore("back", func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = w.status().Evidence.Digest })
	w.until("the other one is told so", func() bool {
		c := meta.FindStatusCondition(w.restoreOf("again").Status.Conditions, v1alpha1.RestoreComplete)
		return c != nil && c.Reason == report.RestoreReasonAnother
	})
	w.until("the older one is complete", func() bool { return w.isComplete("back") })
	w.settle()
	record := w.bootstrapRecord()
	for range 20 {
		w.passOn()
	}
	if got := w.bootstrapRecord(); len(got.Former) != 1 || got.Incarnation != record.Incarnation {
		t.Errorf("the cluster was restored twice: %+v", got.Former)
	}
	if c := meta.FindStatusCondition(w.restoreOf("again").Status.Conditions, v1alpha1.RestoreApproved); c.Reason != report.RestoreReasonStale {
		t.Errorf("the other one is %s: %s", c.Reason, c.Message)
	}
}

func TestTheOldVolumesGoOnlyWhenTheRestoreSaysSo(t *testing.T) {
	w := served(t, 1)
	w.ask("back", backupNamed("nightly"))
	w.approve("back")
	w.until("the cluster is restored", func() bool { return w.isComplete("back") })
	w.settle()
	if _, ok := w.uidsOf(&corev1.PersistentVolumeClaimList{})["demo-0"]; !ok {
		t.Fatal("the old volume is gone")
	}
	w.editRestore("back", func(s *v1alpha1.EtcdRestoreSpec) { s.OldVolumes = v1alpha1.OldVolumesDelete })
	w.until("it is gone", func() bool { _, ok := w.uidsOf(&corev1.PersistentVolumeClaimList{})["demo-0"]; return !ok })
	w.settle()
	w.passOn()
	if got := w.restoreOf("back").Status.OldVolumes; len(got) > 0 {
		t.Errorf("the status still names %v", got)
	}
}

func TestALostQuorumComesBackFromTheMemberThatIsLeftAndFromNothingWithoutAnApproval(t *testing.T) {
	w := served(t, 3)
	w.loseData("demo-1")
	w.loseData("demo-2")
	w.until("that is said", func() bool { e := w.status().Evidence; return e != nil && e.Quorum == string(plan.QuorumLost) })
	e := w.status().Evidence
	for _, want := range []string{"demo-1 (", "demo-2 (", "source.survivor demo-0", "the EtcdBackup nightly", "everything after its revision 7", "source.empty"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q is not in %q", want, e.Message)
		}
	}
	before := w.bootstrapRecord()
	for range 20 {
		w.passOn()
	}
	if got := w.bootstrapRecord(); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Fatalf("something was done: %+v", got)
	}
	w.ask("back", v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: "demo-0"}})
	w.approve("back")
	w.until("the cluster is restored", func() bool { return w.isComplete("back") })
	w.settle()
	holdsRestored(w, map[string]bool{"demo-0": true})
	if got := w.status(); got.Size != 3 || got.Evidence.Quorum != string(plan.QuorumHolds) {
		t.Errorf("the cluster is %+v", got)
	}
}

func TestAMemberThatIsNoneIsNotRebuiltFrom(t *testing.T) {
	w := served(t, 3)
	w.loseData("demo-1")
	w.loseData("demo-2")
	w.ask("back", v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: "demo-1"}})
	w.until("the loss is seen", func() bool { e := w.status().Evidence; return e != nil && e.Quorum == string(plan.QuorumLost) })
	w.approve("back")
	w.until("it is refused", func() bool {
		return meta.IsStatusConditionTrue(w.restoreOf("back").Status.Conditions, v1alpha1.RestoreFailed)
	})
	if got := w.restoreOf("back").Status; got.Stage != "Waiting" || !w.bootstrapRecord().Next.IsZero() {
		t.Errorf("%+v", got)
	}
}

func TestWhenEverythingIsGoneTheClusterBeginsAnewOnlyByItsEmptyDoor(t *testing.T) {
	w := served(t, 3)
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		w.loseData(name)
	}
	w.until("that is said", func() bool { e := w.status().Evidence; return e != nil && e.Quorum == string(plan.QuorumLost) })
	w.ask("back", v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}})
	w.approve("back")
	w.until("the cluster is there again", func() bool { return w.isComplete("back") })
	w.settle()
	if got := w.bootstrapRecord(); len(got.Former) != 1 || !got.Origin.IsZero() || w.status().Size != 3 {
		t.Errorf("the bootstrap record is %+v", got)
	}
}

func TestASettledClusterWithARestoreWritesNothing(t *testing.T) {
	w := served(t, 1)
	w.ask("back", backupNamed("nightly"))
	w.until("it is told", func() bool { return len(w.restoreOf("back").Status.Conditions) > 0 })
	w.settle()
	before := len(w.writes)
	for range 20 {
		for _, p := range w.processes {
			if err := p.Put(); err != nil {
				t.Fatal(err)
			}
		}
		w.passOn()
	}
	if len(w.writes) != before {
		t.Errorf("it wrote %v", w.writes[before:])
	}
}

func TestARestoreWithstandsACacheThatLagsAndTwoOperators(t *testing.T) {
	for name, hardship := range hardships {
		t.Run(name, func(t *testing.T) {
			w := served(t, 3)
			w.ask("back", backupNamed("nightly"))
			w.hardship = hardship()
			w.approve("back")
			w.until("the cluster is restored", func() bool { return w.isComplete("back") })
			w.settle()
			holdsRestored(w, map[string]bool{"demo-0": true, "demo-1": true, "demo-2": true})
		})
	}
}

func TestEvidenceNamesNoBackupThatIsNotSigned(t *testing.T) {
	for name, isSigned := range map[string]bool{"signed": true, "changed": false} {
		w := served(t, 1)
		if !isSigned {
			b := &v1alpha1.EtcdBackup{}
			if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: "nightly"}, b); err != nil {
				t.Fatal(err)
			}
			b.Annotations[v1alpha1.AnnotationBackupRecord] = strings.Replace(b.Annotations[v1alpha1.AnnotationBackupRecord], `"revision":7`, `"revision":9000000000000000000`, 1)
			if err := w.kube.Update(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		w.ask("back", backupNamed("nightly"))
		w.until("it is told", func() bool { return len(w.restoreOf("back").Status.Conditions) > 0 })
		w.settle()
		if s := w.status(); (s.Evidence.Backup != nil) != isSigned || (s.LastProvenBackup != nil) != isSigned {
			t.Errorf("%s: %+v, %+v", name, s.Evidence, s.LastProvenBackup)
		}
	}
}
