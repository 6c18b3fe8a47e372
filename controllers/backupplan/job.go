package backupplan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// patience is how long a Pod may take to start before it is said why it does not.
const patience = 5 * time.Second

// jobFinished reads what came of it in the Pods' last words.
func jobFinished(o Observation) *Decision {
	switch {
	case !o.Job.Exists || o.Job.End == JobRuns:
		return nil
	case o.Job.End == JobComplete:
		return ends(o.completed()).signed()
	}
	return ends(o.gaveUp())
}

// completed believes the attempt that succeeded, and no Job that says so without it.
func (o Observation) completed() Outcome {
	for i := len(o.Attempts) - 1; i >= 0; i-- {
		attempt := o.Attempts[i]
		if !attempt.Good {
			continue
		}
		facts, err := factsOf(attempt)
		if err != nil {
			return o.failed(ReasonResultLost,
				fmt.Sprintf("The backup's Job succeeded, and its result cannot be read: %v.", err))
		}
		return o.good(attempt, facts)
	}
	return o.failed(ReasonResultLost,
		"The backup's Job succeeded, and its Pod was gone before it said where the backup is. "+
			"The backup stays in the store. Create another EtcdBackup.")
}

func (o Observation) good(attempt Attempt, facts Facts) Outcome {
	outcome := Outcome{
		Complete: true, Reason: ReasonStored, Facts: &facts, FinishedAt: attempt.step(stepSnapshot).FinishedAt,
		Message: "The backup is in the store. It was not proven, because spec.verify is false.",
	}
	switch {
	case !o.Backup.Verify:
	case facts.Witness == "":
		outcome.FinishedAt = attempt.step(stepCompare).FinishedAt
		outcome.Reason, outcome.Message = ReasonNoWitness, facts.unconfirmed()
	default:
		outcome.FinishedAt = attempt.step(stepCompare).FinishedAt
		outcome.Reason, outcome.VerifiedAt = ReasonVerified, outcome.FinishedAt
		outcome.Message = "The backup is in the store. The store's copy was restored, and holds the keys that " +
			"the members held."
	}
	outcome.Message = words.Bounded(outcome.Message + facts.unconditional())
	return outcome
}

// gaveUp keeps the facts of a snapshot that was stored and not proven, for a person to look at.
func (o Observation) gaveUp() Outcome {
	if o.Job.isLate() {
		return o.withFacts(o.failed(ReasonDeadlineExceeded, o.late()))
	}
	reason, message := o.Job.WhyFailed(o.Attempts)
	return o.withFacts(o.failed(reason, strings.TrimSuffix(message, ".")+". "+o.notAgain()))
}

// isLate reports whether Kubernetes ended the Job since its time was over.
func (j Job) isLate() bool { return j.End == JobFailed && j.Reason == "DeadlineExceeded" }

// WhyFailed is why a Job failed, in the last words of its Pods, oldest first, and where there are none in Kubernetes'
// own.
func (j Job) WhyFailed(pods []Attempt) (reason, message string) {
	if j.isLate() {
		return ReasonDeadlineExceeded, "The Job was not complete within its deadline." + before(pods)
	}
	for i := len(pods) - 1; i >= 0; i-- {
		if reason, message := failureOf(pods[i]); reason != "" {
			return reason, ofAttempts(len(pods)) + message
		}
	}
	return ReasonJobFailed, fmt.Sprintf("The Job failed: %s: %s", j.Reason, j.Message)
}

// before is what failed last of a Job whose time was over. That its Pods were ended tells nothing: so does the
// deadline.
func before(pods []Attempt) string {
	for i := len(pods) - 1; i >= 0; i-- {
		if slices.ContainsFunc(pods[i].Steps, func(s Step) bool { return s.State == StepBroken }) {
			_, message := failureOf(pods[i])
			return " Before: " + message
		}
	}
	return ""
}

// LastWords are what a step of the Pod that succeeded said; empty when there is none.
func LastWords(pods []Attempt, step string) string {
	for i := len(pods) - 1; i >= 0; i-- {
		if pods[i].Good {
			return pods[i].step(step).Message
		}
	}
	return ""
}

func (o Observation) withFacts(outcome Outcome) Outcome {
	if latest := o.latest(); latest != nil {
		if facts, err := factsOf(*latest); err == nil {
			outcome.Facts = &facts
		}
	}
	return outcome
}

// ofAttempts goes before why the last of so many failed.
func ofAttempts(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("All %d attempts failed, the last one so: ", n)
}

// failureOf says why an attempt failed; empty when it did not.
func failureOf(a Attempt) (reason, message string) {
	for _, step := range a.Steps {
		if step.State == StepBroken {
			return brokenBy(step, a.Lost)
		}
	}
	if a.Lost != "" {
		return ReasonPodLost, "The backup's Pod was ended: " + words.Bounded(a.Lost)
	}
	return "", ""
}

// etcdutlMissing ends a backup whose every attempt would take a snapshot and fail in the same way. containerd begins
// such a step in vain, and CRI-O does not create its container.
func etcdutlMissing(o Observation) *Decision {
	latest := o.latest()
	if !o.Job.Exists || latest == nil || !latest.lacksEtcdutl() {
		return nil
	}
	return ends(o.withFacts(o.failed(ReasonEtcdutlMissing, withoutEtcdutl+" Then create another EtcdBackup. What was "+
		"written to the store stays there, and is not proven.")))
}

func (a Attempt) lacksEtcdutl() bool {
	return a.Trouble != nil && etcdutil.LacksEtcdutl(a.Trouble.Message) ||
		slices.ContainsFunc(a.Steps, func(s Step) bool {
			return s.State == StepBroken && etcdutil.LacksEtcdutl(s.Message)
		})
}

// overdue is how long past the deadline Kubernetes, which has the same one, is waited for to end the Job.
const overdue = time.Minute

// jobOverdue is for a Job that does not end: it was suspended, or no controller looks after Jobs. What it may still
// make, if it goes on one day, is left alone.
func jobOverdue(o Observation) *Decision {
	if !o.Job.Exists || o.Now.Sub(o.deadline()) < overdue {
		return nil
	}
	return ends(o.withFacts(o.failed(ReasonDeadlineExceeded, o.late())))
}

// jobSuspended says what nothing else tells: such a Job has no Pod and no event.
func jobSuspended(o Observation) *Decision {
	if !o.Job.Exists || !o.Job.Suspended {
		return nil
	}
	return o.heldUp(StageStarting, Trouble{ReasonSuspended,
		"The backup's Job is suspended (spec.suspend of the Job), as queues for Jobs do until there is room."})
}

// attemptLingers ends a Pod of which a step failed and something else goes on running: no other is made before.
func attemptLingers(o Observation) *Decision {
	change, recheck := o.Job.ToEnd(o.Attempts, o.Now)
	if change == nil && recheck == 0 {
		return nil
	}
	d := jobRunning(o)
	d.Change, d.Recheck = change, words.Sooner(whileRunning, recheck)
	return d
}

// jobRunning shows how far it is, or why it does not get on.
func jobRunning(o Observation) *Decision {
	if !o.Job.Exists {
		return nil
	}
	latest := o.latest()
	if latest == nil {
		return noPod(o)
	}
	d := &Decision{Attempt: latest, Recheck: whileRunning}
	step, runs := latest.running()
	switch {
	case latest.Ended && !latest.Good:
		d.Stage, d.Trouble = StageStarting, true
		d.Reason, d.Message = o.attemptFailed(*latest)
	case runs:
		d.Stage, d.Reason, d.Message = stages[step.Name], ReasonRunning, doing[step.Name]
	case latest.Trouble != nil && o.Now.Sub(latest.waitsSince()) >= patience:
		held := o.heldUp(stageOf(*latest), *latest.Trouble)
		d.Stage, d.Reason, d.Message, d.Trouble = held.Stage, held.Reason, held.Message, true
	default:
		d.Stage, d.Reason, d.Message = stageOf(*latest), ReasonStarting, "The next step of the backup is starting."
	}
	if before := len(o.Attempts) - 1; before > 0 && !d.Trouble {
		_, why := failureOf(o.Attempts[before-1])
		d.Message = words.Bounded(fmt.Sprintf("%s Attempt %d failed: %s", d.Message, before, why))
	}
	return d
}

// attemptFailed says that the latest attempt failed, and whether another one follows.
func (o Observation) attemptFailed(latest Attempt) (reason, message string) {
	reason, why := failureOf(latest)
	n, follows := len(o.Attempts), ""
	if n < o.Job.Tries {
		reason = ReasonRetrying
	} else {
		follows = ", which was the last"
	}
	return reason, words.Bounded(fmt.Sprintf("Attempt %d of %d failed%s: %s", n, o.Job.Tries, follows, why))
}

// noPod is a Job whose Pod is refused, or not made yet.
func noPod(o Observation) *Decision {
	if t := o.Job.Trouble; t != nil && o.Now.Sub(o.Job.Created) >= patience {
		return o.heldUp(StageStarting, *t)
	}
	return waits(StageStarting, ReasonStarting, "The backup's Job was created.")
}

func (a Attempt) waitsSince() time.Time {
	since := a.Created
	for _, step := range a.Steps {
		if step.FinishedAt.After(since) {
			since = step.FinishedAt
		}
	}
	return since
}

var (
	stages = map[string]string{
		stepSnapshot: StageSnapshot, stepFetch: StageFetch, stepRestore: StageRestore, stepCompare: StageCompare,
	}
	doing = map[string]string{
		stepSnapshot: "A snapshot of a member is written to the store.",
		stepFetch:    "The backup is read back from the store.",
		stepRestore:  "What the store gave back is restored in a scratch directory.",
		stepCompare:  "The restored copy is compared with what the members held.",
	}
)

// stageOf is the step that comes next in an attempt of which none runs.
func stageOf(a Attempt) string {
	if !a.begun() {
		return StageStarting
	}
	for _, step := range a.Steps {
		if step.State == StepWaits {
			return stages[step.Name]
		}
	}
	return StageStarting
}

// patienceWithOthers is how long a Pod whose steps are over may go on running: native sidecars are given their time to
// stop.
const patienceWithOthers = time.Minute

// EndTask ends what Kubernetes does not end by itself, since a container that a webhook put into the Pod goes on
// running, or has failed: a Job that is complete, or the Pod of an attempt that has failed, so that another is made.
type EndTask struct {
	Pod string // empty: the Job
	UID string
}

func (EndTask) change() {}

// ToEnd is what to end, and otherwise when to look again; neither where Kubernetes ends all by itself.
func (j Job) ToEnd(attempts []Attempt, now time.Time) (change Change, recheck time.Duration) {
	if len(attempts) == 0 {
		return nil, 0
	}
	for _, a := range attempts {
		if j.Open && a.Good && a.Pod != PodSucceeded {
			return endAt(EndTask{UID: j.UID}, a, now)
		}
	}
	if latest := attempts[len(attempts)-1]; j.End == JobRuns && latest.Ended && !latest.Good && latest.Pod == PodRuns {
		return endAt(EndTask{Pod: latest.Name, UID: latest.UID}, latest, now)
	}
	return nil, 0
}

// endAt ends at once where Kubernetes would make another attempt after one that went well.
func endAt(change EndTask, a Attempt, now time.Time) (Change, time.Duration) {
	due := a.Over().Add(patienceWithOthers)
	if wait := due.Sub(now); wait > 0 && a.Pod == PodRuns {
		return nil, wait
	}
	return change, 0
}
