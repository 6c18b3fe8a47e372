package backupplan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Observation is everything Next may know. It is a plain value.
type Observation struct {
	Now      time.Time // the only clock
	Operator string    // namespace/name of this install

	Backup    Backup
	Record    Record
	Signature Signature // of the record
	KeySecret string    // the Secret whose key it is signed with
	Cluster   Cluster
	Job       Job

	// Attempts are the Job's Pods, the oldest first.
	Attempts []Attempt

	// AgentImage is what the Job's Pods run; empty when it is not known.
	AgentImage string
}

// Backup is the EtcdBackup itself.
type Backup struct {
	Cluster   string // its name
	Schedule  string // that made it; empty: a person, or a program, did
	Created   time.Time
	Deadline  time.Duration // from Created
	Verify    bool
	Deleting  bool
	Marked    bool     // a schedule made it, and others can take it for theirs
	ClaimOf   string   // the member whose own volume the backup would write to; empty: nobody's
	Said      string   // what its condition said last: shown when nothing else is known, and never decided from
	Secrets   []Secret // that its store is reached with
	RecordErr string   // why the record cannot be read; empty when it can, and when there is none
	Ended     *Outcome // what its status says came of it: decided from only where the record was taken away, or damaged
}

// Cluster is the cluster to back up.
type Cluster struct {
	Exists       bool
	Deleting     bool
	Operator     string // the install that looks after it; empty when no install has claimed it
	Bootstrapped bool   // its members have answered, and their cluster ID is written down
	Asleep       bool   // its spec asks for no member
	Members      int    // members' Pods
}

// Job is the Job of the backup.
type Job struct {
	Exists  bool
	Foreign bool // another object's, of that name
	UID     string
	Created time.Time
	Tries   int // how many Pods it makes at most

	End     JobEnd
	EndedAt time.Time
	Reason  string // why it failed, in Kubernetes' words
	Message string

	Kept      bool     // it has no time to live
	Suspended bool     // it makes no Pod until a person says so
	Trouble   *Trouble // why it has no Pod
	Open      bool     // it is complete, and Kubernetes has not ended it
}

// JobEnd is how a Job ended.
type JobEnd string

// The ends of a Job.
const (
	JobRuns     JobEnd = ""
	JobComplete JobEnd = "Complete"
	JobFailed   JobEnd = "Failed"
)

// Attempt is one Pod of the Job.
type Attempt struct {
	Name    string
	UID     string
	Created time.Time
	Ended   bool // no step of it runs, and none will
	Good    bool // it ended and all went well
	Pod     PodState
	// Lost says in Kubernetes' words why the Pod as a whole was ended: evicted, for one.
	Lost     string
	Steps    []Step   // in the order in which they run
	Trouble  *Trouble // why it does not start
	Progress *Progress
}

// PodState is how the Pod of an attempt stands, apart from what its steps say.
type PodState string

// The states of a Pod.
const (
	PodRuns      PodState = ""
	PodSucceeded PodState = "Succeeded"
	PodFailed    PodState = "Failed"
	PodDeleting  PodState = "Deleting"
)

// Step is one container of an attempt.
type Step struct {
	Name       string
	State      StepState
	Message    string // the container's last words
	StartedAt  time.Time
	FinishedAt time.Time

	SaysProgress bool // on a port, how far it is
}

// StepState is how a step is.
type StepState string

// The states of a step.
const (
	StepWaits  StepState = "Waits"
	StepRuns   StepState = "Runs"
	StepDone   StepState = "Done"
	StepBroken StepState = "Broken" // it ended otherwise than well
)

// Trouble is what keeps something from starting.
type Trouble struct{ Reason, Message string }

// Progress is what a step says of itself.
type Progress struct {
	Bytes int64
	Total int64 // zero: nobody knows
}

// Names of the steps, as their containers have them.
const (
	stepSnapshot = "snapshot"
	stepFetch    = "fetch"
	stepRestore  = "restore"
	stepCompare  = "compare"
)

func (o Observation) deadline() time.Time { return o.Backup.Created.Add(o.Backup.Deadline) }

// step finds a step by name; an absent one waits.
func (a Attempt) step(name string) Step {
	if i := slices.IndexFunc(a.Steps, func(s Step) bool { return s.Name == name }); i >= 0 {
		return a.Steps[i]
	}
	return Step{Name: name, State: StepWaits}
}

// Over is when the last step that ran ended; zero when none did.
func (a Attempt) Over() time.Time {
	var over time.Time
	for _, step := range a.Steps {
		if step.FinishedAt.After(over) {
			over = step.FinishedAt
		}
	}
	return over
}

func (a Attempt) running() (Step, bool) {
	if i := slices.IndexFunc(a.Steps, func(s Step) bool { return s.State == StepRuns }); i >= 0 {
		return a.Steps[i], true
	}
	return Step{}, false
}

func (a Attempt) begun() bool {
	return slices.ContainsFunc(a.Steps, func(s Step) bool { return s.State != StepWaits })
}

// latest is the newest attempt; nil when there is none.
func (o Observation) latest() *Attempt {
	if len(o.Attempts) == 0 {
		return nil
	}
	return &o.Attempts[len(o.Attempts)-1]
}

// Decision is what to do now, and what to say.
type Decision struct {
	Change Change // nil: nothing

	Stage           string
	Reason, Message string
	Trouble         bool // a person may have to do something about it
	Outcome         *Outcome
	Attempt         *Attempt // whose steps the status shows

	// Ignored means that the backup is another operator's: nothing of it is written.
	Ignored bool
	// Recheck is when to look again even if nothing is heard; zero: never.
	Recheck time.Duration
}

// Change is one effect. The set is closed.
type Change interface{ change() }

// CreateJob creates the Job, which has so much time left.
type CreateJob struct{ Deadline time.Duration }

// RecordJob writes down which Job was made.
type RecordJob struct{ UID string }

// RecordOutcome writes down what came of it. It is signed where the operator has it from the Job's own last words.
type RecordOutcome struct {
	Outcome Outcome
	Signed  bool
}

// ReleaseJob gives a Job whose outcome is recorded a time to live.
type ReleaseJob struct{ UID string }

// LeaveAlone takes from an EtcdBackup that a schedule made what others take it for theirs by.
type LeaveAlone struct{}

func (LeaveAlone) change()    {}
func (CreateJob) change()     {}
func (RecordJob) change()     {}
func (RecordOutcome) change() {}
func (ReleaseJob) change()    {}

// Refused is the decision whose change was not possible, with the reason.
func (d Decision) Refused(reason, message string, recheck time.Duration) Decision {
	d.Change, d.Reason, d.Message, d.Recheck = nil, reason, words.Bounded(message), recheck
	d.Trouble = true
	return d
}

// Stages of a backup, as the status shows them.
const (
	StageWaiting  = "Waiting"
	StageStarting = "Starting"
	StageSnapshot = "Snapshot"
	StageFetch    = "Fetch"
	StageRestore  = "Restore"
	StageCompare  = "Compare"
	StageComplete = "Complete"
	StageFailed   = "Failed"
)

// Reasons of the condition Complete, and of Failed. Where a step of the Job says itself why it failed, it is its word.
const (
	ReasonVerified = "Verified"
	ReasonStored   = "Stored"

	ReasonCreating               = "Creating"
	ReasonStarting               = "Starting"
	ReasonRunning                = "Running"
	ReasonRetrying               = "Retrying"
	ReasonDeleting               = "Deleting"
	ReasonClusterNotFound        = "ClusterNotFound"
	ReasonClusterDeleting        = "ClusterDeleting"
	ReasonClusterNotBootstrapped = "ClusterNotBootstrapped"
	ReasonClusterAsleep          = "ClusterAsleep"
	ReasonNoMembers              = "NoMembers"
	ReasonAgentImageUnknown      = "AgentImageUnknown"
	ReasonNameTaken              = "NameTaken"
	ReasonRecordUnreadable       = "RecordUnreadable"
	ReasonSuspended              = "Suspended"

	ReasonUnschedulable        = "Unschedulable"
	ReasonContainerNotStarting = "ContainerNotStarting"
	ReasonQuotaExceeded        = "QuotaExceeded"
	ReasonPodSecurity          = "PodSecurity"
	ReasonPodRefused           = "PodRefused"

	ReasonClaimOfAMember   = "ClaimOfAMember"
	ReasonDeadlineExceeded = "DeadlineExceeded"
	ReasonJobDeleted       = "JobDeleted"
	ReasonJobFailed        = "JobFailed"
	ReasonResultLost       = "ResultLost"
	ReasonStepFailed       = "StepFailed"
	ReasonRestoreFailed    = "RestoreFailed"
	ReasonEtcdutlMissing   = "EtcdutlMissing"
	ReasonPodLost          = "PodLost"
)

// Reasons of the condition Verified beside those above.
const (
	ReasonHashesAgree = "HashesAgree"
	ReasonNotAsked    = "NotAsked"
	ReasonNotYet      = "NotYet"
	ReasonNotProven   = "NotProven"
	ReasonNoWitness   = "NoWitness" // of Complete as well, as the next

	ReasonRecordNotSigned = "RecordNotSigned"
)

// Reasons of events.
const (
	EventStarted  = "BackupStarted"
	EventComplete = "BackupComplete"
	EventFailed   = "BackupFailed"
	EventHeldUp   = "BackupHeldUp"
	EventDoubted  = "BackupDoubted"
)
