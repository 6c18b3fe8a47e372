package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAClusterIsLookedAtAgainWhenABackupOfItIsProvenAndNotAtEachOfItsSteps(t *testing.T) {
	at := &metav1.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	backup := func(status v1alpha1.EtcdBackupStatus) client.Object { return &v1alpha1.EtcdBackup{Status: status} }
	schedule := func(status v1alpha1.EtcdBackupScheduleStatus) client.Object {
		return &v1alpha1.EtcdBackupSchedule{Status: status}
	}
	for name, row := range map[string]struct {
		from, to client.Object
		isSeen   bool
	}{
		"a backup gets on": {backup(v1alpha1.EtcdBackupStatus{Stage: "Fetch"}),
			backup(v1alpha1.EtcdBackupStatus{Stage: "Compare"}), false},
		"a backup is complete": {backup(v1alpha1.EtcdBackupStatus{}),
			backup(v1alpha1.EtcdBackupStatus{CompletedAt: at}), true},
		"a backup is proven": {backup(v1alpha1.EtcdBackupStatus{CompletedAt: at}),
			backup(v1alpha1.EtcdBackupStatus{CompletedAt: at, VerifiedAt: at}), true},
		"a backup is held up": {backup(v1alpha1.EtcdBackupStatus{Stage: "Starting", Conditions: []metav1.Condition{{Type: "Complete",
			Reason: "Starting"}}}), backup(v1alpha1.EtcdBackupStatus{Stage: "Starting", Conditions: []metav1.Condition{{Type: "Complete",
			Reason: "MountFailed", Message: "Secret s3 is missing."}}}), true},
		"a schedule begins a run": {schedule(v1alpha1.EtcdBackupScheduleStatus{}),
			schedule(v1alpha1.EtcdBackupScheduleStatus{Active: "run"}), false},
		"a test restore went well": {schedule(v1alpha1.EtcdBackupScheduleStatus{}),
			schedule(v1alpha1.EtcdBackupScheduleStatus{LastProvenTime: at}), true},
	} {
		if got := whatBacksUp.Update(event.UpdateEvent{ObjectOld: row.from, ObjectNew: row.to}); got != row.isSeen {
			t.Errorf("%s: %v", name, got)
		}
	}
	suspended := &v1alpha1.EtcdBackupSchedule{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	if !whatBacksUp.Update(event.UpdateEvent{ObjectOld: &v1alpha1.EtcdBackupSchedule{}, ObjectNew: suspended}) {
		t.Error("a schedule that was suspended is not seen")
	}
}
