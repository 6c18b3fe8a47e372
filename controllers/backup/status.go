package backup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Status is what people see of a decision. The old status serves for the times at which conditions turned, and nothing else.
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
	status.Conditions = words.Since(o.Now, conditions(o, d), old.Conditions)
	return status
}

func conditions(o Observation, d Decision) []metav1.Condition {
	if d.Outcome == nil {
		verified := words.Condition(v1alpha1.BackupVerified, metav1.ConditionFalse, ReasonNotYet, "The backup is not proven yet.")
		if !o.Backup.Verify {
			verified = notAsked()
		}
		return []metav1.Condition{words.Condition(v1alpha1.BackupComplete, metav1.ConditionFalse, d.Reason, d.Message), verified}
	}
	if !d.Outcome.Complete {
		return []metav1.Condition{
			words.Condition(v1alpha1.BackupComplete, metav1.ConditionFalse, d.Reason, d.Message),
			words.Condition(v1alpha1.BackupFailed, metav1.ConditionTrue, d.Reason, d.Message),
			words.Condition(v1alpha1.BackupVerified, metav1.ConditionFalse, ReasonNotProven, "The backup failed; whatever of it is in the store is not known to be good."),
		}
	}
	verified := notAsked()
	if !d.Outcome.VerifiedAt.IsZero() {
		verified = words.Condition(v1alpha1.BackupVerified, metav1.ConditionTrue, ReasonHashesAgree,
			"The hash of the keys of the restored copy is the one that a member gave for that revision.")
	}
	return []metav1.Condition{words.Condition(v1alpha1.BackupComplete, metav1.ConditionTrue, d.Reason, d.Message), verified}
}

func notAsked() metav1.Condition {
	return words.Condition(v1alpha1.BackupVerified, metav1.ConditionFalse, ReasonNotAsked, "spec.verify is false: the backup is not restored to see whether it can be.")
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
	status.StartedAt = words.TimeOrNil(f.StartedAt)
}
