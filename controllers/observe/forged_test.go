package observe_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

func TestOnlyASignedTestRestoreOfAScheduleProvesABackupThatHasNoEtcdBackup(t *testing.T) {
	for name, row := range map[string]struct {
		signedWith string // empty: not at all
		ofCluster  string
		want       bool
	}{
		"the operator's":               {"key", "demo", true},
		"a person's":                   {"", "demo", false},
		"signed with another key":      {"another", "demo", false},
		"of a schedule of another one": {"key", "other", false},
	} {
		w := newBootstrappedWorld(t)
		at := metav1.NewTime(w.now.Truncate(time.Second))
		const highest = 9223372036854775000
		w.put(resources.BuildRecordsSecret(w.cluster, []byte("key")))
		s := &v1alpha1.EtcdBackupSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: "nightly"},
			Spec:       v1alpha1.EtcdBackupScheduleSpec{Schedule: "0 3 * * *", ClusterRef: v1alpha1.ClusterReference{Name: row.ofCluster}},
			Status: v1alpha1.EtcdBackupScheduleStatus{LastProvenTime: &at,
				LastProven: &v1alpha1.RestorePoint{Key: "of the status", Revision: highest, Time: at}},
		}
		text := scheduleplan.Record{At: at.Time, Reason: "StoreFailed", Message: "The one after it failed.", FinishedAt: at.Time, GoodAt: at.Time,
			Newest: &scheduleplan.Point{Key: "tested", Revision: 9, StartedAt: at.Time}}.Encode()
		s.Annotations = map[string]string{v1alpha1.AnnotationLastTest: text}
		if row.signedWith != "" {
			s.Annotations[v1alpha1.AnnotationTestSignature] = backupplan.KeyOf([]byte(row.signedWith), s.Namespace, row.ofCluster).SignTest(s, text)
		}
		w.put(s)
		if seen := w.look().Proven; (seen != nil) != row.want || row.want && (seen.Key != "tested" || seen.Revision != 9) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

func TestABackupThatThePersonWhoMadeItCallsProvenIsNot(t *testing.T) {
	w := newBootstrappedWorld(t)
	at := metav1.NewTime(w.now)
	const nearTheHighest = 9223372036854775000
	w.put(resources.BuildRecordsSecret(w.cluster, []byte("key")))
	w.put(&v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: "forged",
			Annotations: map[string]string{v1alpha1.AnnotationBackupSignature: "00", v1alpha1.AnnotationBackupRecord: backupplan.Record{Namespace: w.cluster.Namespace,
				Name: "forged", Outcome: &backupplan.Outcome{Complete: true, Reason: "Verified", FinishedAt: w.now,
					VerifiedAt: w.now, Facts: &backupplan.Facts{Key: "k", Revision: nearTheHighest, StartedAt: w.now}}}.Encode()}},
		Spec:   v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: "demo"}},
		Status: v1alpha1.EtcdBackupStatus{Key: "k", Revision: nearTheHighest, StartedAt: &at, CompletedAt: &at, VerifiedAt: &at},
	})
	if seen := w.look(); seen.Proven != nil {
		t.Errorf("%+v", seen.Proven)
	}
}
