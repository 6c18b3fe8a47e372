package backupplan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Status is what people see of a decision. The old status serves for the times at which conditions turned, and nothing
// else.
func Status(o Observation, d Decision, jobName string, old v1alpha1.EtcdBackupStatus) v1alpha1.EtcdBackupStatus {
	status := v1alpha1.EtcdBackupStatus{Stage: d.Stage}
	if o.Job.Exists || o.Record.JobUID != "" {
		status.JobName = jobName
	}
	if d.Outcome != nil {
		d.Outcome.fill(&status)
	} else if d.Attempt != nil {
		d.Attempt.fill(&status)
	}
	status.Conditions = words.Since(o.Now, 0, conditions(o, d), old.Conditions)
	return status
}

func conditions(o Observation, d Decision) []metav1.Condition {
	isComplete := d.Outcome != nil && d.Outcome.Complete
	all := []metav1.Condition{condition(v1alpha1.BackupComplete, isComplete, d.Reason, d.Message)}
	switch {
	case d.Outcome == nil && o.Backup.Verify:
		return append(all, condition(v1alpha1.BackupVerified, false, ReasonNotYet, "The backup is not proven yet."))
	case d.Outcome != nil && !isComplete:
		return append(all, condition(v1alpha1.BackupFailed, true, d.Reason, d.Message),
			condition(v1alpha1.BackupVerified, false, ReasonNotProven,
				"The backup failed. What it stored, if anything, is not known to be good."))
	case isComplete:
		return append(all, d.Outcome.verified(o.Signature))
	}
	return append(all, notAsked())
}

// verified says of a complete backup whether it is proven.
func (outcome Outcome) verified(signature Signature) metav1.Condition {
	switch {
	case outcome.Reason == ReasonRecordNotSigned && signature == SignatureUnknown:
		return words.Condition(v1alpha1.BackupVerified, metav1.ConditionUnknown, outcome.Reason, outcome.Message)
	case outcome.isProven():
		return condition(v1alpha1.BackupVerified, true, ReasonHashesAgree, outcome.Facts.agreement())
	case outcome.Reason == ReasonRecordNotSigned, outcome.Reason == ReasonNoWitness:
		return condition(v1alpha1.BackupVerified, false, outcome.Reason, outcome.Message)
	}
	return notAsked()
}

func notAsked() metav1.Condition {
	return condition(v1alpha1.BackupVerified, false, ReasonNotAsked,
		"spec.verify is false: the backup is not restored for a proof.")
}

func condition(kind string, isTrue bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	return words.Condition(kind, status, reason, message)
}

func (outcome Outcome) fill(status *v1alpha1.EtcdBackupStatus) {
	if outcome.Facts != nil {
		outcome.Facts.fill(status)
	}
	if outcome.Complete {
		status.CompletedAt = words.TimeOrNil(outcome.FinishedAt)
		status.VerifiedAt = words.TimeOrNil(outcome.VerifiedAt)
	}
}

// fill shows what the manifest says as soon as the snapshot is stored, while it is being proven.
func (a Attempt) fill(status *v1alpha1.EtcdBackupStatus) {
	status.StartedAt = words.TimeOrNil(a.step(stepSnapshot).StartedAt)
	if facts, err := factsOf(a); err == nil {
		facts.fill(status)
	}
	if a.Progress == nil {
		return
	}
	status.BytesTransferred = new(a.Progress.Bytes)
	if a.Progress.Total > 0 {
		status.BytesTotal = new(a.Progress.Total)
	}
}

func (f Facts) fill(status *v1alpha1.EtcdBackupStatus) {
	status.Key, status.SizeBytes, status.SHA256 = f.Key, f.SizeBytes, f.SHA256
	status.Revision, status.TotalKeys = f.Revision, f.TotalKeys
	status.EtcdVersion, status.ClusterID, status.Member = f.EtcdVersion, f.ClusterID, f.Member
	status.Witness = f.Witness
	status.StartedAt = words.TimeOrNil(f.StartedAt)
}

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
