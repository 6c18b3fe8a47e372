package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// conditions are all conditions, always in the same order. Fenced, Reconciling and Stalled are present only while True,
// and the last two never both: that is how kstatus reads them.
func (in Input) conditions(s step) []metav1.Condition {
	all := append([]metav1.Condition{in.ready(s)}, in.health(s)...)
	if in.Cluster.Spec.ExpectsBackups() {
		all = append(all, in.backedUp(s))
	}
	all = append(all, in.fenced()...)
	switch {
	case in.isAtRest(s):
	case s.isStalled():
		all = append(all, is(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.reason, s.message))
	default:
		all = append(all, is(v1alpha1.ConditionReconciling, metav1.ConditionTrue, s.reason, s.message))
	}
	return words.Since(in.Observation.Now, in.Cluster.Generation, all, in.old().Conditions)
}

// isStalled reports that nothing goes on before a person does something.
func (s step) isStalled() bool { return s.verdict == plan.Refuse && s.needsHuman }

// looksAgain stands at the end of what the operator refuses for now, and not for good.
const looksAgain = " The operator looks again at least every 10 s, and goes on as soon as it can."

// tryAgain says that, or "".
func (in Input) tryAgain(s step) string {
	if s.verdict != plan.Refuse || s.isStalled() || in.isAtRest(s) || strings.Contains(s.message, " again") {
		return ""
	}
	return looksAgain
}

// health are the conditions that tell how the cluster is.
func (in Input) health(s step) []metav1.Condition {
	switch {
	case in.IsBlind:
		return unknown(s)
	case isAsleep(in.Observation):
		return asleep()
	}
	return []metav1.Condition{in.available(s), in.degraded(s), in.upToDate(s)}
}

// isAsleep reports a cluster of which no member runs, because spec.size is 0.
func isAsleep(o facts.Observation) bool {
	return o.Desired.Size == 0 && o.Current.Bootstrap.Asleep && !o.Current.Membership.Known
}

// asleep are the conditions of a cluster that sleeps: it serves no one, and nothing is wrong with it.
func asleep() []metav1.Condition {
	const says = "The cluster sleeps, because spec.size is 0."
	return []metav1.Condition{
		is(v1alpha1.ConditionAvailable, metav1.ConditionFalse, facts.ReasonAsleep, says),
		is(v1alpha1.ConditionDegraded, metav1.ConditionFalse, facts.ReasonAsleep, says),
		is(v1alpha1.ConditionUpToDate, metav1.ConditionUnknown, facts.ReasonAsleep, says+" Members follow the spec "+
			"once it wakes."),
	}
}

// fenced is True while a member is stopped because a person fenced it, since the time at which it was first seen so.
// Else there is no such condition.
func (in Input) fenced() []metav1.Condition {
	names := facts.Names(in.Observation.On(in.Observation.Current).KeptDown())
	if in.IsBlind || len(names) == 0 {
		return nil
	}
	return []metav1.Condition{is(v1alpha1.ConditionFenced, metav1.ConditionTrue, facts.ReasonFenced, fmt.Sprintf(
		"Stopped, with the volume kept: %s. To start a member again, take its name out of the annotation %s.",
		strings.Join(names, ", "), v1alpha1.AnnotationFence))}
}

// isAtRest reports that nothing is under way and nothing is held up: all is done, or the user asked for nothing to be
// done, or for all that is left to be done later.
func (in Input) isAtRest(s step) bool {
	o := in.Observation
	atRest := []string{facts.ReasonWindow, facts.ReasonAsleep, facts.ReasonFenced, facts.ReasonFenceWaits,
		facts.ReasonRollCA}
	return s.verdict == plan.Settled || slices.Contains(atRest, s.reason) || o.Desired.Paused || o.Desired.Deleting ||
		in.isDryRun()
}

// besideService are reasons to wait while all that the spec asks for serves.
var besideService = []string{facts.ReasonRollCA, facts.ReasonAwaitsIssuer}

// ready is True when everything that the spec asks for is so, and was seen to be so. A paused cluster may be ready: it
// is looked at as ever. So may one that gives clients days to follow a CA, which no spec asks for, and one whose
// issuer takes its time to renew certificates.
func (in Input) ready(s step) metav1.Condition {
	o := in.Observation
	status, reason, message := metav1.ConditionFalse, s.reason, s.message+s.also
	switch {
	case (o.Desired.Paused || slices.Contains(besideService, s.reason)) && !o.Desired.Deleting && isComplete(o):
		status = metav1.ConditionTrue
		message += " " + allHealthy(o)
	case o.Desired.Paused:
	case s.verdict == plan.Settled && o.Current.Membership.Known:
		status = metav1.ConditionTrue
	case in.isDryRun():
		reason = ReasonDryRun
	}
	return is(v1alpha1.ConditionReady, status, reason, message)
}

// isComplete reports whether what was observed is all that the spec asks for.
func isComplete(o facts.Observation) bool {
	if !o.Current.Membership.Known || o.Desired.Fault != "" || len(o.Current.Membership.Strangers) > 0 ||
		len(o.Current.Learners()) > 0 {
		return false
	}
	for _, object := range o.Objects {
		if object.State != facts.ObjectCurrent && (object.State != facts.ObjectDrifted || !object.IsAwaited()) {
			return false
		}
	}
	if len(namesOf(o, func(r facts.Replica) bool { return r.Pod.Unsteady(o.Now) != nil })) > 0 {
		return false
	}
	return len(o.Current.Voters()) == o.Desired.Size && len(o.Current.HealthyVoters()) == o.Desired.Size &&
		len(outdatedMembers(o)) == 0
}

// hasServed reports that the cluster was bootstrapped, be it in an earlier incarnation: one that moved to what was
// restored is not being created.
func hasServed(o facts.Observation) bool {
	return o.Current.IsAlive() || len(o.Current.Bootstrap.Former) > 0
}

// creating tells of a cluster that never served.
func (in Input) creating(s step) string {
	if in.isAtRest(s) || s.isStalled() {
		return "The cluster is not created yet; the condition Ready says why."
	}
	return "The cluster is being created."
}

// available is True only with a linearizable read in this very pass, and while no alarm keeps etcd from taking writes.
// The member list is asked for in no other way.
func (in Input) available(s step) metav1.Condition {
	o := in.Observation
	reason, refused := in.writesRefused()
	switch {
	case o.Current.Membership.Known && refused != "":
		return is(v1alpha1.ConditionAvailable, metav1.ConditionFalse, reason, refused)
	case o.Current.Membership.Known:
		message := "A quorum of the members answers."
		switch { // a member that the operator does not reach may still vote
		case len(o.Current.Voters()) == 1:
			message = join(message, facts.OnlyMember)
		case o.Current.Margin() >= 0:
			message = join(message, quorum(o).Says())
		}
		return is(v1alpha1.ConditionAvailable, metav1.ConditionTrue, ReasonReadSucceeded, message)
	case !hasServed(o):
		return is(v1alpha1.ConditionAvailable, metav1.ConditionFalse, ReasonCreating, in.creating(s))
	}
	message := "No quorum of the members answers"
	if o.Current.Membership.Why != "" {
		message += ": " + o.Current.Membership.Why
	}
	return in.keepFirst(is(v1alpha1.ConditionAvailable, metav1.ConditionFalse, ReasonReadFailed, sentence(message)))
}

// waitForRoom is what a person can do while the operator makes room.
const waitForRoom = "The operator makes room by itself where it can: the condition Ready says when, and what you can do"

// writesRefused says which alarm keeps etcd from taking writes, and what ends it, or "". The graver one comes first.
func (in Input) writesRefused() (reason, message string) {
	o := in.Observation
	raised := o.Current.Raised()
	for _, reason := range []string{ReasonCorrupt, ReasonNoSpace} {
		i := slices.IndexFunc(raised, func(a facts.Alarm) bool { return a.Name == reason })
		if i < 0 {
			continue
		}
		what, full := "A quorum answers reads. Writes are refused", ""
		ends := o.Current.RemedyOf(raised[i], o.Desired)
		if reason == ReasonNoSpace {
			what = "A quorum answers reads and deletions. All other writes are refused"
			full = fmt.Sprintf(" The %s.", o.Current.Fullest())
			switch silent := plan.LastSilent(o); {
			case o.Desired.Paused || in.isDryRun():
			case silent != "":
				ends = "The operator disarms it once " + silent + " answers too, and has room"
			case plan.MakesRoom(o):
				ends = waitForRoom
			}
		}
		return reason, fmt.Sprintf("%s, since etcd raised the alarm %s.%s %s.", what, reason, full, ends)
	}
	return "", ""
}

// keepFirst keeps the message of the old condition while status and reason are the same: for texts of errors, which
// differ from pass to pass in details without use.
func (in Input) keepFirst(c metav1.Condition) metav1.Condition {
	if old := in.oldCondition(c.Type); old != nil && old.Status == c.Status && old.Reason == c.Reason {
		c.Message = old.Message
	}
	return c
}

// upToDate is True when every member runs with the settings of this spec. It is Unknown while it is unknown who is a
// member.
func (in Input) upToDate(s step) metav1.Condition {
	o := in.Observation
	warning := strings.Join(in.warnings(), " ")
	stopped, other := stoppedMembers(o), outdatedMembers(o)
	status, reason, message := metav1.ConditionTrue, ReasonCurrent, "Every member runs with the settings of this spec."
	switch {
	case !hasServed(o):
		status, reason, message = metav1.ConditionFalse, ReasonCreating, in.creating(s)
	case len(other) > 0:
		status, reason = metav1.ConditionFalse, ReasonOutdated
		message = fmt.Sprintf("Members with other settings than those of this spec: %s.", strings.Join(other, ", "))
	case !o.Current.Membership.Known:
		status, reason, message = metav1.ConditionUnknown, ReasonReadFailed,
			"No quorum answers, so it is unknown which members there are."
	case o.Desired.Fault != "":
		status, reason = metav1.ConditionFalse, ReasonOutdated
		message = "This spec is refused, so members keep the settings that they have."
	case len(stopped) > 0:
		status, reason = metav1.ConditionFalse, ReasonNotRunning
		message = fmt.Sprintf("Not running: %s.", strings.Join(stopped, ", "))
	case warning != "":
		reason = ReasonCurrentWarned
	}
	return is(v1alpha1.ConditionUpToDate, status, reason, join(message, warning))
}

func is(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return words.Condition(kind, status, reason, message)
}

// join makes a text of those sentences that there are.
func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

func (in Input) oldCondition(kind string) *metav1.Condition {
	return meta.FindStatusCondition(in.Cluster.Status.Conditions, kind)
}

// Reasons of conditions that no rule of the planner speaks: what report itself sees in an observation. Each has a
// sentence in docs/conditions.md, as have those of the planner.
const (
	ReasonCreating      = "Creating"          // the cluster has no identity yet
	ReasonReadSucceeded = "ReadSucceeded"     // a linearizable read succeeded in this pass
	ReasonReadFailed    = "ReadFailed"        // no member could read linearizably in this pass
	ReasonNoSpace       = "NOSPACE"           // etcd's alarm: a database is full, and writes are refused
	ReasonCorrupt       = "CORRUPT"           // etcd's alarm: copies differ, and writes are refused
	ReasonAllHealthy    = "AllMembersHealthy" // as many voters as asked for are healthy
	ReasonUnhealthy     = "MembersUnhealthy"  // voters that have served before are not healthy
	ReasonMissing       = "MembersMissing"    // fewer voters than there have been
	// the wanted size was never reached; nothing is wrong with the voters there are
	ReasonNotReached     = "SizeNotReached"
	ReasonCurrent        = "MembersCurrent"    // every member runs with the settings of the spec
	ReasonCurrentWarned  = "SpecWarning"       // so it is, but something that the spec asks for calls for a warning
	ReasonOutdated       = "MembersOutdated"   // members are made with other settings
	ReasonNotRunning     = "MembersNotRunning" // members do not run at all
	ReasonBackupProven   = "BackupProven"      // the newest proven backup is as new as it should be
	ReasonBackupComplete = "BackupComplete"    // backups are complete in time, and their schedule proves none
	ReasonBackupTooOld   = "BackupTooOld"      // there is no good backup as new as it should be
	ReasonNoBackup       = "NoBackup"          // nothing backs the cluster up
	ReasonFirstBackup    = "FirstBackup"       // the first backup is still to come, and is not late
	ReasonDryRun         = "DryRun"            // the next step is published and not taken
	ReasonApplyFailed    = "ApplyFailed"       // a call of the operator failed
	ReasonTooManyChanges = "TooManyChanges"    // the cluster is changed again and again, and does not come to rest
)

// Reasons of events that no condition has.
const (
	EventRestoring   = "RestoreStarted"      // the backup is restored on the first members' volumes
	EventRestored    = "Restored"            // the cluster serves with it
	EventReady       = "Ready"               // everything asked for is so
	EventAlarmRaised = "AlarmRaised"         // etcd raised an alarm, and refuses writes
	EventDegraded    = "Degraded"            // fewer healthy voters than there were
	EventUnavailable = "Unavailable"         // no quorum of the members answers any more
	EventAvailable   = "AvailableAgain"      // it answers again
	EventResumed     = "Resumed"             // spec.paused was taken back
	EventNotTaken    = "NotTakenOver"        // this install was asked to, and cannot; another one looks after it
	EventSpecWarning = "SpecWarning"         // the spec is accepted, with a warning
	EventRenewed     = "CertificatesRenewed" // certificates were issued anew, in Secrets that there are

	EventDefragmented = "Defragmented"          // a member was defragmented
	EventDefragFailed = "DefragmentationFailed" // a member could not be
	// a time of the schedule passed before every member could begin
	EventDefragSkipped = "DefragmentationSkipped"

	EventRestoreWaits    = "RestoreWaits"    // of an EtcdRestore: it is there, and nothing is done without an approval
	EventRestoreApproved = "RestoreApproved" // of an EtcdRestore: its approval quotes the evidence
	EventRestorePrepared = "RestorePrepared" // of an EtcdRestore: the data lies on every new volume
	EventRestoreComplete = "RestoreComplete" // of an EtcdRestore: the cluster serves with it
)
