package schedule

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	backup "github.com/etcdsteward/etcd-steward/controllers/backup/plan"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestARunThatAPersonCallsCompleteAndProvenCountsAsNeither(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.looks(6)
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "hourly-20260301-1200"}, b); err != nil {
		t.Fatal(err)
	}
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backup.Record{Namespace: "shop", Name: b.Name, Outcome: &backup.Outcome{
		Complete: true, Reason: "Verified", Message: "m", FinishedAt: w.Now, VerifiedAt: w.Now,
		Facts: &backup.Facts{Key: keyAt("0300"), Revision: 7, StartedAt: w.Now},
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
