package backupplan

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Events are what became different from the old status to the new one.
func Events(d Decision, old, status v1alpha1.EtcdBackupStatus) []words.Event {
	switch {
	case d.Outcome != nil && old.Stage != status.Stage:
		return []words.Event{ended(d, status)}
	case d.Outcome != nil:
		return nil
	case d.Trouble && words.ReasonOf(old.Conditions, v1alpha1.BackupComplete) != d.Reason:
		return []words.Event{{Warning: true, Reason: EventHeldUp, Action: "Backup", Note: d.Reason + ": " + d.Message}}
	case old.JobName == "" && status.JobName != "":
		return []words.Event{{Reason: EventStarted, Action: "Backup",
			Note: fmt.Sprintf("Job %s makes the backup.", status.JobName)}}
	}
	return nil
}

func ended(d Decision, status v1alpha1.EtcdBackupStatus) words.Event {
	switch {
	case d.Reason == ReasonRecordNotSigned:
		return words.Event{Warning: true, Reason: EventDoubted, Action: "Backup", Note: d.Message}
	case d.Outcome.Complete:
		isWarning := d.Reason == ReasonNoWitness || d.Outcome.Facts.Unconditional
		return words.Event{Warning: isWarning, Reason: EventComplete, Action: "Backup",
			Note: fmt.Sprintf("%s Revision %d, %d bytes, at %s.",
				d.Message, status.Revision, status.SizeBytes, status.Key)}
	}
	return words.Event{Warning: true, Reason: EventFailed, Action: "Backup", Note: d.Reason + ": " + d.Message}
}
