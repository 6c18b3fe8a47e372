package schedule

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestARunThatAPersonCallsCompleteAndProvenCountsAsNeither(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.looks(6)
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "hourly-20260301-1200"}, b); err != nil {
		t.Fatal(err)
	}
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backupplan.Record{Namespace: "shop", Name: b.Name, Outcome: &backupplan.Outcome{
		Complete: true, Reason: "Verified", Message: "m", FinishedAt: w.Now, VerifiedAt: w.Now,
		Facts: &backupplan.Facts{Key: keyAt("0300"), Revision: 7, StartedAt: w.Now},
	}}.Encode()}
	if err := w.Kube.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.Now = w.Now.Add(time.Minute)
	w.looks(6)
	w.conditionIs("BackedUp", "Unknown RecordNotSigned")
	if s := w.schedule().Status; s.LastSuccessfulTime != nil || s.LastVerifiedTime != nil || s.LastProven != nil || s.NewestRestorable != nil {
		t.Errorf("%+v", s)
	}
}

// forgedTest is what a person writes of a test restore that never was.
func forgedTest(now time.Time) string {
	return scheduleplan.Record{At: now, Good: true, Reason: "Restored", Message: "m", FinishedAt: now, GoodAt: now, For: now,
		Newest: &scheduleplan.Point{Key: "etcd/forged/snapshot.db", Revision: 9000000000000000000, StartedAt: now}}.Encode()
}

func TestATestRestoreThatAPersonWroteProvesNothingAndIsMadeAtOnce(t *testing.T) {
	w := newScheduleWorld(t, hourly(testedAtTen), jobworld.Serving()...)
	w.hours(1) // ten past twelve
	w.Now = w.Now.Add(time.Minute)
	s := w.schedule()
	s.Annotations[v1alpha1.AnnotationLastTest] = forgedTest(w.Now)
	if err := w.Kube.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.looks(4)
	w.conditionIs("Proven", "False RecordNotSigned")
	if s := w.schedule().Status; s.LastProven != nil || s.LastProvenTime != nil || w.running() == nil {
		t.Errorf("the Job %v: %+v", w.running(), s)
	}
	w.ends(restoredNewest, "")
	w.looks(4)
	w.conditionIs("Proven", "True Restored")
	if s := w.schedule().Status; s.LastProven == nil || s.LastProven.Revision != 7 {
		t.Errorf("%+v", s)
	}
	w.restartKeeper()
	writes := len(w.Writes)
	w.looks(4)
	if w.conditionIs("Proven", "True Restored"); w.running() != nil || len(w.Writes) != writes {
		t.Errorf("it wrote %v", w.Writes[writes:])
	}
}

func TestATestRestoreThatCannotBeSignedIsNotMadeAgainAndAgain(t *testing.T) {
	w := newScheduleWorld(t, hourly(testedAtTen), jobworld.Serving()...)
	w.hours(1)
	w.looks(3)
	if err := w.Kube.Delete(t.Context(), jobworld.CA()); err != nil {
		t.Fatal(err)
	}
	w.restartKeeper()
	w.ends(restoredNewest, "")
	w.looks(4)
	w.conditionIs("Proven", "False RecordNotSigned")
	writes := len(w.Writes)
	w.Now = w.Now.Add(20 * time.Minute)
	w.looks(6)
	if w.running() != nil || len(w.Writes) != writes {
		t.Errorf("it wrote %v", w.Writes[writes:])
	}
}
