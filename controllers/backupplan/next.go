// Package backupplan decides what becomes of an EtcdBackup. Next is a pure function from what was observed to the one
// thing to do now; Status, Events and ValuesOf are pure functions from that to what people see.
//
// # Words
//
// A backup is one EtcdBackup. Its Job makes Pods, one after the other, until one succeeds: each is an attempt. An
// attempt has steps: snapshot, and to prove it fetch, restore and compare. The record is an annotation on the
// EtcdBackup: which Job was made for it, and what came of it. Facts are what the snapshot's manifest says.
//
// # The order of rules
//
//  1. What is done stays done: deleting, recorded, record-taken-away. An outcome that is recorded is the outcome, also
//     when the Job or the status is gone: a backup never runs twice. A record that was taken away, or damaged, is put
//     back from the status.
//  2. Whether anything may be done: other-operator, record-unreadable (it may have run; it has failed when its deadline
//     is over), name-taken.
//  3. The Job that there is: record-job, job-finished, etcdutl-missing, job-overdue, job-suspended,
//     attempt-lingers, job-running.
//     Its Pods' last words are the outcome, and it is kept until they are recorded. A container of others in a Pod
//     does not count, and a Pod that it keeps from ending is ended.
//  4. The Job that is gone: job-deleted. It was recorded, so it ran; nobody knows what came of it.
//  5. The Job that is not made yet: deadline, claim-of-a-member, cluster, agent-image, create-job.
//
// Nothing is decided from the status but that a backup that ended is not run again, and nothing here touches a member:
// a backup reads, and the cluster's own passes do not know of it.
package backupplan

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// How long until the next look, where nothing else says that something moved.
const (
	whileWaiting = 5 * time.Second
	whileRunning = 5 * time.Second
	whileDoubted = 10 * time.Minute // the key of a cluster is put back, or is no longer remembered as it was
	afterChange  = 20 * time.Millisecond
)

// rules in the order that the package names; the first that speaks wins.
var rules = []func(Observation) *Decision{
	deleting, recorded, recordTakenAway,
	otherOperator, recordUnreadable, nameTaken,
	recordJob, jobFinished, etcdutlMissing, jobOverdue, jobSuspended, attemptLingers, jobRunning,
	jobDeleted,
	deadlineExceeded, claimOfAMember, clusterMissing, agentImageMissing, createJob,
}

// Next is what to do now.
func Next(o Observation) Decision {
	for _, rule := range rules {
		if d := rule(o); d != nil {
			return *d
		}
	}
	panic("the last rule always speaks")
}

func waits(stage, reason, message string) *Decision {
	return &Decision{Stage: stage, Reason: reason, Message: words.Bounded(message), Recheck: whileWaiting}
}

func (d *Decision) troubled() *Decision {
	d.Trouble = true
	return d
}

// deleting leaves everything to the garbage collector, which takes the Job away.
func deleting(o Observation) *Decision {
	if !o.Backup.Deleting {
		return nil
	}
	d := waits(StageWaiting, ReasonDeleting, "The EtcdBackup is being deleted; what is in the store stays there.")
	d.Recheck = 0
	return d
}

// recordUnreadable makes no Job: the backup may have run. When its Job, if there is one, is over too, it has failed, so
// that a schedule does not wait for it for good.
func recordUnreadable(o Observation) *Decision {
	if o.Backup.RecordErr == "" {
		return nil
	}
	end := o.deadline().Add(overdue)
	message := fmt.Sprintf("The operator's record on this EtcdBackup was damaged (%s), so it is unknown "+
		"whether it ran.", o.Backup.RecordErr)
	if o.Now.Before(end) {
		return waits(StageWaiting, ReasonRecordUnreadable, fmt.Sprintf(
			"%s Delete the EtcdBackup and create another one; left alone, it has failed at %s.", message,
			words.Format(end))).troubled()
	}
	return ends(o.failed(ReasonRecordUnreadable, message+
		" What it has stored, if anything, stays in the store. Create another EtcdBackup."))
}

// recorded is the end. The Job, whose last words are written down now, may go.
func recorded(o Observation) *Decision {
	if o.Record.Outcome == nil {
		return nil
	}
	outcome, recheck := o.believed()
	d := &Decision{Outcome: &outcome, Stage: StageFailed, Reason: outcome.Reason, Recheck: recheck,
		Message: o.takenOver() + outcome.Message}
	if outcome.Complete {
		d.Stage = StageComplete
	}
	if change, after := o.jobSpent(outcome.Reason); change != nil || after > 0 {
		d.Change, d.Recheck = change, after
	}
	if d.Change == nil && o.Backup.Marked {
		d.Change = LeaveAlone{}
	}
	return d
}

// jobSpent is what becomes of a Job once its outcome is recorded.
func (o Observation) jobSpent(reason string) (change Change, recheck time.Duration) {
	switch {
	case !o.Job.Exists || o.Job.Foreign:
	case o.Job.Open:
		return o.Job.ToEnd(o.Attempts, o.Now)
	case o.Job.End == JobRuns && reason == ReasonEtcdutlMissing: // each further attempt would be for nothing
		return EndTask{UID: o.Job.UID}, afterChange
	case o.Job.End != JobRuns && o.Job.Kept:
		return ReleaseJob{UID: o.Job.UID}, afterChange
	}
	return nil, 0
}

// believed is the outcome that is recorded, as far as it counts, and when to look at it again.
func (o Observation) believed() (Outcome, time.Duration) {
	outcome := *o.Record.Outcome
	if !outcome.Complete || o.Signature == SignatureGood {
		return outcome, 0
	}
	said := "complete"
	if outcome.isProven() {
		said = "complete and proven"
	}
	why, recheck := o.doubt()
	outcome.Reason, outcome.VerifiedAt = ReasonRecordNotSigned, time.Time{}
	outcome.Message = words.Bounded(fmt.Sprintf("The record on this EtcdBackup says that the backup is %s. That does "+
		"not count, because %s It can be restored all the same: the restore checks its manifest in the store. "+
		"To have one that counts, create another EtcdBackup%s.", said, why, o.orNextRun()))
	return outcome, recheck
}

// doubt says why a record is not known to be the operator's, and when to look again.
func (o Observation) doubt() (why string, recheck time.Duration) {
	switch o.Signature {
	case SignatureUnknown:
		return fmt.Sprintf("its signature cannot be checked: there is no Secret %s with the key. The operator looks "+
			"again every %.0f minutes.", o.KeySecret, whileDoubted.Minutes()), whileDoubted
	case SignatureWrong:
		return fmt.Sprintf("its signature is not one with the key of the Secret %s: the record, or the key, was "+
			"changed. The operator looks again every %.0f minutes.", o.KeySecret, whileDoubted.Minutes()), whileDoubted
	case SignatureMissing, SignatureGood:
	}
	return fmt.Sprintf("it is not signed. An earlier release wrote it, or it was put back from the status. Or there "+
		"was no Secret %s to sign it with, or the operator did not write it.", o.KeySecret), 0
}

// takenOver says that the record is older than the EtcdBackup: it was created with the annotation of an earlier one.
// Clocks of nodes differ, by less than a minute.
func (o Observation) takenOver() string {
	finished := o.Record.Outcome.FinishedAt
	if o.Backup.Created.Sub(finished) <= time.Minute || strings.HasPrefix(o.Record.Outcome.Message, nothingRun) {
		return ""
	}
	return fmt.Sprintf("%s: this EtcdBackup was created with the record of an earlier one, which ended at %s. ",
		nothingRun, words.Format(finished))
}

const nothingRun = "Nothing was run"

// recordTakenAway puts the record back from the status, rather than let a backup run twice; also one that was damaged.
func recordTakenAway(o Observation) *Decision {
	if o.Backup.Ended == nil {
		return nil
	}
	return ends(*o.Backup.Ended)
}

func otherOperator(o Observation) *Decision {
	if o.Cluster.Operator == "" || o.Cluster.Operator == o.Operator {
		return nil
	}
	return &Decision{Ignored: true, Recheck: time.Minute}
}

func nameTaken(o Observation) *Decision {
	if !o.Job.Foreign {
		return nil
	}
	return waits(StageWaiting, ReasonNameTaken,
		"The Job that this backup needs exists already and was not made for it. "+
			"Delete the Job, or create another EtcdBackup.").troubled()
}

// recordJob comes before anything is expected of the Job: a Job that was recorded and is gone is not made again.
func recordJob(o Observation) *Decision {
	if !o.Job.Exists || o.Record.JobUID == o.Job.UID {
		return nil
	}
	d := waits(StageStarting, ReasonStarting, "The backup's Job was created.")
	d.Change, d.Recheck = RecordJob{UID: o.Job.UID}, afterChange
	return d
}

// jobDeleted is told apart from a Job that was never made by the record.
func jobDeleted(o Observation) *Decision {
	if o.Record.JobUID == "" {
		return nil
	}
	return ends(o.failed(ReasonJobDeleted,
		"The backup's Job was deleted before its outcome was seen. What it has stored, if anything, "+
			"stays in the store and is not known to be good. Create another EtcdBackup."))
}

func deadlineExceeded(o Observation) *Decision {
	if o.Now.Before(o.deadline()) {
		return nil
	}
	return ends(o.failed(ReasonDeadlineExceeded, o.late()))
}

// notAgain is what a person does after a backup that failed.
func (o Observation) notAgain() string {
	if o.Backup.Schedule == "" {
		return "It is not tried again. Create another EtcdBackup; changing this one does nothing."
	}
	return fmt.Sprintf("It is not tried again: create another EtcdBackup%s.", o.orNextRun())
}

// orNextRun is the other way to a further backup, as a part of a sentence, or "" where no schedule makes one.
func (o Observation) orNextRun() string {
	if o.Backup.Schedule == "" {
		return ""
	}
	return ", or wait for the next run of EtcdBackupSchedule " + o.Backup.Schedule
}

// late says what was in the way until the deadline, and then what follows from that.
func (o Observation) late() string {
	message := fmt.Sprintf("The backup was not complete %s after its creation, which is its spec.deadline. %s",
		o.Backup.Deadline, o.notAgain())
	if said := strings.TrimSuffix(strings.TrimSuffix(o.Backup.Said, o.goesOn()), "."); said != "" {
		return said + ". " + message
	}
	return message + " If it needs more time, set a longer spec.deadline in the next one."
}

// claimOfAMember never writes beside a member's data, whose room and disk are the member's.
func claimOfAMember(o Observation) *Decision {
	if o.Backup.ClaimOf == "" {
		return nil
	}
	return ends(o.failed(ReasonClaimOfAMember, fmt.Sprintf(
		"The claim in store.volume is the volume of %s: a backup needs a claim of its own. Create another EtcdBackup.",
		o.Backup.ClaimOf)))
}

func clusterMissing(o Observation) *Decision {
	until := fmt.Sprintf(" The backup waits for it until %s.", words.Format(o.deadline()))
	name := "EtcdCluster " + o.Backup.Cluster
	switch {
	case !o.Cluster.Exists:
		return waits(StageWaiting, ReasonClusterNotFound, name+" does not exist in this namespace."+until).troubled()
	case o.Cluster.Deleting:
		return waits(StageWaiting, ReasonClusterDeleting, name+" is being deleted."+until).troubled()
	case !o.Cluster.Bootstrapped:
		return waits(StageWaiting, ReasonClusterNotBootstrapped, name+" has not served yet."+until)
	case o.Cluster.Asleep:
		return waits(StageWaiting, ReasonClusterAsleep, name+" sleeps, because its spec.size is 0. Wake it first: set "+
			"that to the number of members that it is to have."+until).troubled()
	case o.Cluster.Members == 0:
		return waits(StageWaiting, ReasonNoMembers, name+" has no member's Pod to take a snapshot from."+until)
	}
	return nil
}

func agentImageMissing(o Observation) *Decision {
	if o.AgentImage != "" {
		return nil
	}
	return waits(StageWaiting, ReasonAgentImageUnknown,
		"The operator does not know which image it runs from, which backups run from too: "+
			"start it with --agent-image.").troubled()
}

func createJob(o Observation) *Decision {
	d := waits(StageStarting, ReasonCreating, "The backup's Job is created.")
	d.Change, d.Recheck = CreateJob{Deadline: o.deadline().Sub(o.Now)}, afterChange
	return d
}

// ends writes the outcome down; the next look shows it.
func ends(outcome Outcome) *Decision {
	d := &Decision{Change: RecordOutcome{Outcome: outcome}, Stage: StageFailed, Reason: outcome.Reason,
		Message: outcome.Message, Recheck: afterChange}
	if outcome.Complete {
		d.Stage = StageComplete
	}
	return d
}

// signed marks an outcome that the operator itself has seen.
func (d *Decision) signed() *Decision {
	change := d.Change.(RecordOutcome)
	change.Signed = change.Outcome.Complete
	d.Change = change
	return d
}

// failed is the end of a backup that did not come to be, now.
func (o Observation) failed(reason, message string) Outcome {
	return Outcome{Reason: reason, Message: words.Bounded(message), FinishedAt: o.Now.UTC().Truncate(time.Second)}
}
