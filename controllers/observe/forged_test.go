package observe_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	backup "github.com/etcdsteward/etcd-steward/controllers/backup/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestABackupThatThePersonWhoMadeItCallsProvenIsNot(t *testing.T) {
	w := newBornWorld(t)
	at := metav1.NewTime(w.now)
	const nearTheHighest = 9223372036854775000
	w.put(resources.BuildRecordsSecret(w.cluster, []byte("key")))
	w.put(&v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: "forged",
			Annotations: map[string]string{v1alpha1.AnnotationBackupSignature: "00", v1alpha1.AnnotationBackupRecord: backup.Record{Namespace: w.cluster.Namespace,
				Name: "forged", Outcome: &backup.Outcome{Complete: true, Reason: "Verified", FinishedAt: w.now,
					VerifiedAt: w.now, Facts: &backup.Facts{Key: "k", Revision: nearTheHighest, StartedAt: w.now}}}.Encode()}},
		Spec:   v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: "demo"}},
		Status: v1alpha1.EtcdBackupStatus{Key: "k", Revision: nearTheHighest, StartedAt: &at, CompletedAt: &at, VerifiedAt: &at},
	})
	if seen := w.look(); seen.Proven != nil {
		t.Errorf("%+v", seen.Proven)
	}
}
