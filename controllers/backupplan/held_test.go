package backupplan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestABackupThatFailedDoesNotSayThatItGoesOn(t *testing.T) {
	o := seen(gaveUp("DeadlineExceeded"))
	o.Backup.Said = o.heldUp(StageStarting, Trouble{ReasonQuotaExceeded, "exceeded quota: pods"}).Message
	if d := Next(o); !strings.HasPrefix(d.Message, "exceeded quota: pods. The backup was not complete") {
		t.Errorf("it says %q", d.Message)
	}
}

func TestWhyABackupWaitsIsReadFromItsStatus(t *testing.T) {
	for _, row := range []struct{ stage, reason, want string }{
		{StageStarting, ReasonStarting, ""},
		{StageSnapshot, ReasonRunning, ""},
		{StageStarting, ReasonQuotaExceeded, ReasonQuotaExceeded},
		{StageWaiting, ReasonClusterNotFound, ReasonClusterNotFound},
		{StageFailed, ReasonDeadlineExceeded, ""},
		{StageComplete, ReasonVerified, ""},
	} {
		b := &v1alpha1.EtcdBackup{Status: v1alpha1.EtcdBackupStatus{Stage: row.stage,
			Conditions: []metav1.Condition{{Type: v1alpha1.BackupComplete, Reason: row.reason, Message: "It says why."}}}}
		if reason, message := Waits(b); reason != row.want || (message == "") != (row.want == "") {
			t.Errorf("%s, %s: it waits for %q: %s", row.stage, row.reason, reason, message)
		}
		b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		if reason, _ := Waits(b); reason != "" {
			t.Errorf("%s, %s: one that is deleted waits for %s", row.stage, row.reason, reason)
		}
	}
	if reason, _ := Waits(&v1alpha1.EtcdBackup{}); reason != "" {
		t.Errorf("a backup that was not looked at waits for %s", reason)
	}
}
