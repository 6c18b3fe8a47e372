package observe_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestOnlySchedulesThatBackThisClusterUpAreSeenWithIt(t *testing.T) {
	w := newBootstrappedWorld(t)
	schedule := func(name, cluster string, isSuspended bool) *v1alpha1.EtcdBackupSchedule {
		return &v1alpha1.EtcdBackupSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: name},
			Spec: v1alpha1.EtcdBackupScheduleSpec{Schedule: "0 3 * * *", Suspend: &isSuspended,
				ClusterRef: v1alpha1.ClusterReference{Name: cluster}},
		}
	}
	ofAnother, elsewhere := schedule("of-another", "other", false), schedule("elsewhere", "demo", false)
	elsewhere.Namespace = "another"
	leaving := schedule("leaving", "demo", false)
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: w.now}, []string{"example.com/keep"}
	weekly := schedule("weekly", "demo", false)
	weekly.Status.LastSuccessfulTime = &metav1.Time{Time: w.now}
	w.put(weekly)
	nightly := schedule("nightly", "demo", false)
	nightly.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ScheduleBackedUp, Status: metav1.ConditionFalse,
		Message: "The EtcdBackup nightly-1 failed (StoreFull): the store is full."}}
	w.put(nightly)
	w.put(schedule("resting", "demo", true))
	for _, s := range []*v1alpha1.EtcdBackupSchedule{ofAnother, elsewhere, leaving} {
		w.put(s)
	}
	seen := w.look().Schedules
	if len(seen) != 2 || seen[0].Name != "nightly" || seen[1].Name != "weekly" || seen[0].UpToDate ||
		seen[0].Failed != nightly.Status.Conditions[0].Message || seen[1].Failed != "" || !seen[0].Never || seen[1].Never {
		t.Errorf("%+v", seen)
	}
}

func TestTheNewestProvenBackupOfThisVeryClusterIsSeen(t *testing.T) {
	w := newBootstrappedWorld(t)
	began := func(age time.Duration) *metav1.Time { return &metav1.Time{Time: w.now.Add(-age).Truncate(time.Second)} }
	w.cluster.CreationTimestamp = *began(5 * time.Hour)
	w.put(resources.BuildRecordsSecret(w.cluster, []byte("key")))
	taken := func(name, cluster string, started, verified *metav1.Time) {
		b := &v1alpha1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: name, CreationTimestamp: *started},
			Spec:       v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}},
		}
		outcome := &backupplan.Outcome{Complete: true, Reason: "Done", FinishedAt: started.Time,
			Facts: &backupplan.Facts{Key: name, ClusterID: "c1", Revision: 7, StartedAt: started.Time}}
		if verified != nil {
			outcome.VerifiedAt = verified.Time
		}
		text := backupplan.Record{Namespace: b.Namespace, Name: name, Outcome: outcome}.Encode()
		b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: text,
			v1alpha1.AnnotationBackupSignature: backupplan.KeyOf([]byte("key"), b.Namespace, cluster).Sign(b, text)}
		w.put(b)
	}
	taken("of-an-earlier-cluster", "demo", began(6*time.Hour), began(6*time.Hour))
	if seen := w.look().Proven; seen != nil {
		t.Errorf("the backup of an earlier cluster: %+v", seen)
	}
	taken("older", "demo", began(4*time.Hour), began(4*time.Hour))
	taken("not-proven", "demo", began(time.Hour), nil)
	taken("of-another", "other", began(time.Hour), began(time.Hour))
	taken("of-a-wrong-clock", "demo", began(-time.Hour), began(-time.Hour))
	if seen := w.look().Proven; seen == nil || seen.Key != "older" || seen.ClusterID != "c1" || seen.Revision != 7 {
		t.Errorf("%+v", seen)
	}
}

func TestTheNewestBackupOfTheClusterThatDoesNotGetOnIsSeen(t *testing.T) {
	w := newBootstrappedWorld(t)
	put := func(name, cluster, reason string, age time.Duration) {
		w.put(&v1alpha1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: name, CreationTimestamp: metav1.Time{Time: w.now.Add(-age)}},
			Spec:       v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}},
			Status: v1alpha1.EtcdBackupStatus{Stage: backupplan.StageStarting, Conditions: []metav1.Condition{
				{Type: v1alpha1.BackupComplete, Reason: reason, Message: name + " says why."}}},
		})
	}
	put("runs", "demo", backupplan.ReasonRunning, time.Minute)
	put("of-another", "other", backupplan.ReasonQuotaExceeded, time.Minute)
	if seen := w.look().HeldUp; seen != nil {
		t.Errorf("%+v", seen)
	}
	put("older", "demo", backupplan.ReasonQuotaExceeded, time.Hour)
	put("nightly", "demo", backupplan.ReasonQuotaExceeded, 10*time.Minute)
	put("oldest", "demo", backupplan.ReasonQuotaExceeded, 2*time.Hour)
	seen := w.look().HeldUp
	if seen == nil || seen.Name != "nightly" || seen.Why != "nightly says why." || w.now.Sub(seen.Created).Round(time.Minute) != 10*time.Minute {
		t.Errorf("%+v", seen)
	}
}

func TestTheNewestBackupOfTheClusterIsSeenWhereItFailed(t *testing.T) {
	w := newBootstrappedWorld(t)
	put := func(name, cluster string, failed metav1.ConditionStatus, age time.Duration) {
		w.put(&v1alpha1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: name, CreationTimestamp: metav1.Time{Time: w.now.Add(-age)}},
			Spec:       v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}},
			Status:     v1alpha1.EtcdBackupStatus{Conditions: []metav1.Condition{{Type: v1alpha1.BackupFailed, Status: failed, Reason: "StoreNotFound"}}},
		})
	}
	put("older", "demo", metav1.ConditionTrue, time.Hour)
	put("of-another", "other", metav1.ConditionFalse, time.Minute)
	if seen := w.look().Failed; seen == nil || seen.Name != "older" || seen.Reason != "StoreNotFound" ||
		w.now.Sub(seen.Created).Round(time.Minute) != time.Hour {
		t.Errorf("%+v", seen)
	}
	put("newer", "demo", metav1.ConditionFalse, time.Minute)
	if seen := w.look().Failed; seen != nil {
		t.Errorf("%+v", seen)
	}
}

func TestABackupOfAnEarlierClusterIsSeenBeforeTheBootstrapAlone(t *testing.T) {
	w := newWorld(t)
	put := func(name, cluster, namespace, recorded string) {
		w.put(&v1alpha1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
				Annotations: map[string]string{v1alpha1.AnnotationBackupRecord: recorded}},
			Spec: v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}},
		})
	}
	outcome := func(name, namespace string, isComplete bool) string {
		return backupplan.Record{Namespace: namespace, Name: name, Outcome: &backupplan.Outcome{Complete: isComplete,
			Reason: "Done", FinishedAt: w.now, Facts: &backupplan.Facts{Key: "k"}}}.Encode()
	}
	put("elsewhere", "demo", "another", outcome("elsewhere", "another", true))
	put("of-another", "other", "shop", outcome("of-another", "shop", true))
	put("failed", "demo", "shop", outcome("failed", "shop", false))
	put("waiting", "demo", "shop", "")
	if left := w.look().BackupLeft; left != "" {
		t.Errorf("%s is no complete backup of the cluster", left)
	}
	put("nightly", "demo", "shop", outcome("nightly", "shop", true))
	if left := w.look().BackupLeft; left != "EtcdBackup nightly" {
		t.Errorf("%q", left)
	}
	w.put(resources.BuildPeerService(w.cluster, bootstrapRecord("demo-0"), "ops/etcd-steward"))
	if left := w.look().BackupLeft; left != "" {
		t.Errorf("the cluster is born, and %s is looked for", left)
	}
	w = newWorld(t)
	put("damaged", "demo", "shop", "{")
	if left := w.look().BackupLeft; left != "EtcdBackup damaged" {
		t.Errorf("a record that cannot be read says %q", left)
	}
}
