package backup

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Event is something to tell people once.
type Event struct {
	Warning              bool
	Reason, Action, Note string
}

// Events are what became different from the old status to the new one.
func Events(d Decision, old, status v1alpha1.EtcdBackupStatus) []Event {
	switch {
	case d.Outcome != nil && old.Stage != status.Stage && d.Outcome.Complete:
		return []Event{{Reason: EventComplete, Action: "Backup", Note: fmt.Sprintf("%s Revision %d, %d bytes, at %s.",
			d.Message, status.Revision, status.SizeBytes, status.Key)}}
	case d.Outcome != nil && old.Stage != status.Stage:
		return []Event{{Warning: true, Reason: EventFailed, Action: "Backup", Note: d.Reason + ": " + d.Message}}
	case d.Outcome != nil:
		return nil
	case d.Trouble && reasonOf(old) != d.Reason:
		return []Event{{Warning: true, Reason: EventHeldUp, Action: "Backup", Note: d.Reason + ": " + d.Message}}
	case old.JobName == "" && status.JobName != "":
		return []Event{{Reason: EventStarted, Action: "Backup", Note: fmt.Sprintf("Job %s makes the backup.", status.JobName)}}
	}
	return nil
}

func reasonOf(status v1alpha1.EtcdBackupStatus) string {
	for _, c := range status.Conditions {
		if c.Type == v1alpha1.BackupComplete {
			return c.Reason
		}
	}
	return ""
}
