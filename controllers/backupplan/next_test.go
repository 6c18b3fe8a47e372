package backupplan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// a sentence of a snapshot that went well.
const manifest = `{"formatVersion":1,"key":"etcd/prod/demo/u/20260501T115900Z-0a1b2c3d/snapshot.db","clusterID":"cdf8","member":"demo-1",` +
	`"etcdVersion":"3.6.16","revision":42,"totalKeys":7,"sizeBytes":20512,"sha256":"` +
	`0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","startedAt":"2026-05-01T11:59:00.5Z","keysHash":{"hash":1,"member":"demo-2"}}`

// seen is a backup that is a minute old, of a cluster that serves; options say what is otherwise.
func seen(options ...func(*Observation)) Observation {
	o := Observation{
		Now: now, Operator: "ops/etcd-steward", AgentImage: "agent:v1",
		Backup: Backup{Cluster: "demo", Created: now.Add(-time.Minute), Deadline: time.Hour, Verify: true},
		Record: Record{Namespace: "prod", Name: "nightly"}, Signature: SignatureGood, KeySecret: "demo-ca",
		Cluster: Cluster{Exists: true, Operator: "ops/etcd-steward", Bootstrapped: true, Members: 3},
	}
	for _, option := range options {
		option(&o)
	}
	return o
}

func damaged(o *Observation) { o.Backup.RecordErr = "no JSON" }

func job(o *Observation) {
	o.Job = Job{Exists: true, UID: "job-1", Created: now.Add(-50 * time.Second), Tries: 4, Kept: true}
}

func recordedJob(o *Observation) {
	job(o)
	o.Record.JobUID = "job-1"
}

func complete(o *Observation) {
	recordedJob(o)
	o.Job.End = JobComplete
}

// open is a Job whose steps went well, and which Kubernetes has not ended.
func open(o *Observation) {
	complete(o)
	o.Job.Open = true
}

func late(o *Observation) { o.Now = now.Add(2 * time.Minute) }

func gaveUp(reason string) func(*Observation) {
	return func(o *Observation) {
		recordedJob(o)
		o.Job.End, o.Job.Reason, o.Job.Message = JobFailed, reason, "as Kubernetes says"
	}
}

func bySchedule(o *Observation) { o.Backup.Schedule = "nightly" }

func unproven(o *Observation) { o.Backup.Verify = false }

func with(attempts ...Attempt) func(*Observation) {
	return func(o *Observation) { o.Attempts = attempts }
}

// compared is a backup that ended well, whose snapshot step says so of the hash that it was compared with.
func compared(keysHash string) func(*Observation) {
	return func(o *Observation) {
		a := attempt(StepDone, StepDone, StepDone, StepDone).succeeded()
		a.Steps[0].Message = strings.Replace(manifest, `{"hash":1,"member":"demo-2"}`, keysHash, 1)
		complete(o)
		o.Attempts = []Attempt{a}
	}
}

const (
	byItself    = `{"hash":1,"member":"demo-1","onlyVoter":true}`
	byNoOther   = `{"hash":1,"member":"demo-1","noWitness":"member demo-2 does not answer"}`
	byOldItself = `{"hash":1,"member":"demo-1"}` // of an agent of the release before, which did not say why
)

// attempt is a Pod whose steps are as the words say: one for each of the four, or for the first alone.
func attempt(states ...StepState) Attempt {
	a := Attempt{Name: "pod", Created: now.Add(-40 * time.Second)}
	for i, name := range []string{stepSnapshot, stepFetch, stepRestore, stepCompare}[:max(1, len(states))] {
		step := Step{Name: name, State: StepWaits}
		if i < len(states) {
			step.State = states[i]
		}
		if step.State == StepDone {
			step.FinishedAt = now.Add(time.Duration(i-10) * time.Second)
		}
		if step.State == StepDone && name == stepSnapshot {
			step.Message = manifest
		}
		a.Steps = append(a.Steps, step)
	}
	return a
}

func (a Attempt) succeeded() Attempt {
	a.Ended, a.Good, a.Pod = true, true, PodSucceeded
	return a
}

func (a Attempt) broken(message string) Attempt {
	a.Ended, a.Pod = true, PodFailed
	for i := range a.Steps {
		if a.Steps[i].State == StepBroken {
			a.Steps[i].Message = message
		}
	}
	return a
}

func (a Attempt) lost(why string) Attempt {
	a.Ended, a.Lost, a.Pod = true, why, PodDeleting
	return a
}

// beside is an attempt whose steps are over, in a Pod with something else in it.
func (a Attempt) beside(pod PodState) Attempt {
	a.Pod = pod
	return a
}

func (a Attempt) troubled(reason, message string) Attempt {
	a.Trouble = &Trouble{Reason: reason, Message: message}
	return a
}

func (a Attempt) young() Attempt {
	a.Created = now.Add(-time.Second)
	return a
}

const noEtcdutl = `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to ` +
	`start container process: error during container init: exec: "etcdutl": executable file not found in $PATH: unknown`

const refusedByStore = `{"reason":"CredentialsRefused","message":"The store refuses the credentials."}`

func TestNext(t *testing.T) {
	outcome := Outcome{Complete: true, Reason: ReasonVerified, FinishedAt: now, Facts: &Facts{Key: "k"}}
	withoutProgram := Outcome{Reason: ReasonEtcdutlMissing, FinishedAt: now, Message: withoutEtcdutl}
	tooLate := Outcome{Reason: ReasonDeadlineExceeded, FinishedAt: now, Message: "late"}
	whole := attempt(StepDone, StepDone, StepDone, StepDone).succeeded()
	for _, row := range []struct {
		name          string
		o             Observation
		stage, reason string
		change        Change
		says          string
		trouble       bool
	}{
		{"a cluster that serves is backed up, within what is left of the deadline", seen(), StageStarting, ReasonCreating,
			CreateJob{Deadline: 59 * time.Minute}, "", false},
		{"a paused or degraded cluster is backed up as well: one member is enough", seen(func(o *Observation) { o.Cluster.Members = 1 }),
			StageStarting, ReasonCreating, CreateJob{Deadline: 59 * time.Minute}, "", false},
		{"a cluster that does not exist is waited for, and that is said", seen(func(o *Observation) { o.Cluster = Cluster{} }),
			StageWaiting, ReasonClusterNotFound, nil, "EtcdCluster demo does not exist in this namespace. The backup waits for it until 2026-05-01T12:59:00Z.", true},
		{"a cluster that is not born yet is waited for", seen(func(o *Observation) { o.Cluster.Bootstrapped = false }),
			StageWaiting, ReasonClusterNotBootstrapped, nil, "demo has not served yet", false},
		{"a cluster that is being deleted is not backed up", seen(func(o *Observation) { o.Cluster.Deleting = true }),
			StageWaiting, ReasonClusterDeleting, nil, "", true},
		{"a cluster that sleeps has to wake first, and that is said", seen(func(o *Observation) { o.Cluster.Asleep, o.Cluster.Members = true, 0 }),
			StageWaiting, ReasonClusterAsleep, nil, "Wake it first: set that to the number of members", true},
		{"a cluster without a Pod has nobody to take a snapshot from", seen(func(o *Observation) { o.Cluster.Members = 0 }),
			StageWaiting, ReasonNoMembers, nil, "", false},
		{"an operator that does not know its image says so", seen(func(o *Observation) { o.AgentImage = "" }),
			StageWaiting, ReasonAgentImageUnknown, nil, "--agent-image", true},
		{"a backup that waited past its deadline has failed, and says what it waited for",
			seen(func(o *Observation) {
				o.Cluster, o.Now, o.Backup.Said = Cluster{}, now.Add(time.Hour), "EtcdCluster demo does not exist."
			}),
			StageFailed, ReasonDeadlineExceeded, RecordOutcome{}, "EtcdCluster demo does not exist. The backup was not complete 1h0m0s after its creation, which is its spec.deadline. It is not tried again", false},
		{"a cluster of another operator is that operator's business", seen(func(o *Observation) { o.Cluster.Operator = "other/etcd-steward" }),
			"", "", nil, "", false},
		{"a backup that is being deleted is left to the garbage collector", seen(recordedJob, func(o *Observation) { o.Backup.Deleting = true }),
			StageWaiting, ReasonDeleting, nil, "", false},
		{"a record that cannot be read stops everything, since the backup may have run", seen(damaged),
			StageWaiting, ReasonRecordUnreadable, nil, "(no JSON), so it is unknown whether it ran. Delete the EtcdBackup and create another one; left alone, it has failed at 2026-05-01T13:00:00Z.", true},
		{"a Job of it is waited for as long as any", seen(damaged, recordedJob, func(o *Observation) { o.Now = now.Add(59*time.Minute + 59*time.Second) }),
			StageWaiting, ReasonRecordUnreadable, nil, "", true},
		{"once its time is over it has failed, and says what to do", seen(damaged, recordedJob, func(o *Observation) { o.Now = now.Add(time.Hour) }),
			StageFailed, ReasonRecordUnreadable, RecordOutcome{}, "Create another EtcdBackup.", false},
		{"a record that was damaged is put back from the status that tells what came of it",
			seen(damaged, func(o *Observation) { o.Backup.Ended, o.Now = &outcome, now.Add(time.Hour) }), StageComplete, ReasonVerified, RecordOutcome{}, "", false},
		{"one of another operator's cluster is that operator's business", seen(damaged, func(o *Observation) { o.Cluster.Operator, o.Now = "other/etcd-steward", now.Add(time.Hour) }),
			"", "", nil, "", false},
		{"somebody else's Job of that name is not touched", seen(func(o *Observation) { o.Job = Job{Exists: true, Foreign: true, UID: "x"} }),
			StageWaiting, ReasonNameTaken, nil, "", true},

		{"a Job that was made is recorded before anything is expected of it", seen(job), StageStarting, ReasonStarting, RecordJob{UID: "job-1"}, "", false},
		{"a Job that ended before it was recorded is recorded first", seen(complete, func(o *Observation) { o.Record.JobUID = "" }),
			StageStarting, ReasonStarting, RecordJob{UID: "job-1"}, "", false},
		{"a Job without a Pod is starting", seen(recordedJob), StageStarting, ReasonStarting, nil, "", false},
		{"a Job whose Pod is refused says why", seen(recordedJob, func(o *Observation) { o.Job.Trouble = &Trouble{ReasonQuotaExceeded, "exceeded quota: pods"} }),
			StageStarting, ReasonQuotaExceeded, nil, "exceeded quota: pods. The backup goes on by itself once that is put right, and fails at " +
				"2026-05-01T12:59:00Z if it is not.", true},
		{"a Job that is suspended says so, and what to do about it nobody else tells",
			seen(recordedJob, func(o *Observation) { o.Job.Suspended = true }), StageStarting, ReasonSuspended, nil, "until there is room. The backup goes on by itself", true},
		{"a Job that Kubernetes has a minute to end is not given up", seen(recordedJob, func(o *Observation) { o.Now = now.Add(59*time.Minute + 59*time.Second) }),
			StageStarting, ReasonStarting, nil, "", false},
		{"a Job that nobody ends is not waited for",
			seen(recordedJob, func(o *Observation) {
				o.Now, o.Job.Suspended, o.Backup.Said = now.Add(time.Hour), true, "The Job is suspended."
			}),
			StageFailed, ReasonDeadlineExceeded, RecordOutcome{}, "The Job is suspended. The backup was not complete", false},
		{"a member's own volume is nothing to write backups to", seen(func(o *Observation) { o.Backup.ClaimOf = "member demo-0 of EtcdCluster demo" }),
			StageFailed, ReasonClaimOfAMember, RecordOutcome{}, "is the volume of member demo-0 of EtcdCluster demo", false},
		{"a Job that was deleted has failed, and is not made again", seen(func(o *Observation) { o.Record.JobUID = "job-1" }),
			StageFailed, ReasonJobDeleted, RecordOutcome{}, "was deleted", false},
		{"a Job that was deleted after its cluster has failed all the same",
			seen(func(o *Observation) { o.Record.JobUID, o.Cluster = "job-1", Cluster{} }), StageFailed, ReasonJobDeleted, RecordOutcome{}, "", false},

		{"a snapshot under way is shown", seen(recordedJob, with(attempt(StepRuns))), StageSnapshot, ReasonRunning, nil, "", false},
		{"a fetch under way is shown", seen(recordedJob, with(attempt(StepDone, StepRuns, StepWaits, StepWaits))), StageFetch, ReasonRunning, nil, "", false},
		{"a restore under way is shown", seen(recordedJob, with(attempt(StepDone, StepDone, StepRuns, StepWaits))), StageRestore, ReasonRunning, nil, "", false},
		{"a comparison under way is shown", seen(recordedJob, with(attempt(StepDone, StepDone, StepDone, StepRuns))), StageCompare, ReasonRunning, nil, "", false},
		{"between two steps the next one is shown", seen(recordedJob, with(attempt(StepDone, StepWaits, StepWaits, StepWaits))),
			StageFetch, ReasonStarting, nil, "", false},
		{"a Pod that does not start says why", seen(recordedJob, with(attempt().troubled(facts.ReasonNotMounted, `secret "s3" not found`))),
			StageStarting, facts.ReasonNotMounted, nil, "Secret s3 is missing. Create it in this namespace. The backup goes on by itself", true},
		{"a Secret that is missing is named with the keys that it needs",
			seen(recordedJob, with(attempt().troubled(facts.ReasonNotMounted, `MountVolume.SetUp failed for volume "credentials" : secret "s3" not found`)),
				func(o *Observation) {
					o.Backup.Secrets = []Secret{{"roots", "the key ca.crt"}, {"s3", "the keys access-key-id and secret-access-key"}}
				}),
			StageStarting, facts.ReasonNotMounted, nil, "Secret s3 is missing. Create it in this namespace with the keys access-key-id and " +
				"secret-access-key. The backup goes on by itself once that is put right, and fails at 2026-05-01T12:59:00Z if it is not.", true},
		{"a Pod that is a second old is given time", seen(recordedJob, with(attempt().troubled(ReasonUnschedulable, "no node").young())),
			StageStarting, ReasonStarting, nil, "", false},
		{"an attempt that failed is said while another is made", seen(recordedJob, with(attempt(StepBroken).broken(refusedByStore))),
			StageStarting, ReasonRetrying, nil, "Attempt 1 of 4 failed: The store refuses the credentials.", true},
		{"of the last attempt it is said that no other follows", seen(recordedJob, func(o *Observation) { o.Job.Tries = 1 }, with(attempt(StepBroken).broken(refusedByStore))),
			StageStarting, "CredentialsRefused", nil, "Attempt 1 of 1 failed, which was the last: The store refuses the credentials.", true},
		{"a Pod that was lost is not said to be running, whatever its node said last", seen(recordedJob, with(attempt(StepRuns).lost("Deleted: by somebody"))),
			StageStarting, ReasonRetrying, nil, "Deleted: by somebody", true},
		{"the newest attempt counts", seen(recordedJob, with(attempt(StepBroken).broken(refusedByStore), attempt(StepRuns))),
			StageSnapshot, ReasonRunning, nil, "to the store. Attempt 1 failed: The store refuses the credentials.", false},

		{"a Job that succeeded is a backup that is proven", seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded())),
			StageComplete, ReasonVerified, RecordOutcome{}, "", false},
		{"a Job of one step is a backup that is stored", seen(unproven, complete, with(attempt(StepDone).succeeded())),
			StageComplete, ReasonStored, RecordOutcome{}, "", false},
		{"the attempt that succeeded is believed, whatever failed before it",
			seen(complete, with(attempt(StepBroken).broken("x"), attempt(StepDone, StepDone, StepDone, StepDone).succeeded())),
			StageComplete, ReasonVerified, RecordOutcome{}, "", false},
		{"a Job that succeeded and whose Pod is gone proves nothing", seen(complete), StageFailed, ReasonResultLost, RecordOutcome{}, "", false},
		{"a Pod that succeeded without saying what it stored proves nothing",
			seen(unproven, complete, with(Attempt{Good: true, Ended: true, Steps: []Step{{Name: stepSnapshot, State: StepDone, Message: "ok"}}})),
			StageFailed, ReasonResultLost, RecordOutcome{}, "cannot be read", false},
		{"a Job that gave up fails with the agent's word", seen(gaveUp("BackoffLimitExceeded"), with(attempt(StepBroken).broken(refusedByStore))),
			StageFailed, "CredentialsRefused", RecordOutcome{}, "The store refuses the credentials. It is not tried again. Create another EtcdBackup; changing this one does nothing.", false},
		{"the schedule that made it is named, and how many attempts there were",
			seen(gaveUp("BackoffLimitExceeded"), bySchedule, with(attempt(StepBroken).broken("x"), attempt(StepBroken).broken(refusedByStore))),
			StageFailed, "CredentialsRefused", RecordOutcome{}, "All 2 attempts failed, the last one so: The store refuses the credentials. It is not tried again: " +
				"create another EtcdBackup, or wait for the next run of EtcdBackupSchedule nightly.", false},
		{"a restore that etcd refuses fails with etcd's last line",
			seen(gaveUp("BackoffLimitExceeded"), with(attempt(StepDone, StepDone, StepBroken, StepWaits).broken("usage\nError: hash mismatch\n"))),
			StageFailed, ReasonRestoreFailed, RecordOutcome{}, "The step restore failed: Error: hash mismatch", false},
		{"an image without etcdutl ends the backup with its first attempt",
			seen(recordedJob, with(attempt(StepDone, StepDone, StepBroken, StepWaits).broken(noEtcdutl))),
			StageFailed, ReasonEtcdutlMissing, RecordOutcome{}, "Name an image that has it in spec.image of the EtcdCluster, such as etcd's own. Then create", false},
		{"an image without etcdutl ends the backup where the runtime does not even create the container",
			seen(recordedJob, with(attempt(StepDone, StepDone, StepWaits, StepWaits).troubled(ReasonContainerNotStarting,
				"CreateContainerError: container create failed: executable file `etcdutl` not found in $PATH: No such file or directory"))),
			StageFailed, ReasonEtcdutlMissing, RecordOutcome{}, "the image of etcd has no etcdutl", false},
		{"an image without etcdutl is named where the Job gave up first",
			seen(gaveUp("BackoffLimitExceeded"), with(attempt(StepDone, StepDone, StepBroken, StepWaits).broken(noEtcdutl))),
			StageFailed, ReasonEtcdutlMissing, RecordOutcome{}, "such as etcd's own. It is not tried again", false},
		{"a Job that would try an image without etcdutl again is ended", seen(recordedJob, func(o *Observation) { o.Record.Outcome = &withoutProgram }),
			StageFailed, ReasonEtcdutlMissing, EndTask{UID: "job-1"}, "no etcdutl", false},
		{"a Job that runs on past another outcome is left alone", seen(recordedJob, func(o *Observation) { o.Record.Outcome = &tooLate }),
			StageFailed, ReasonDeadlineExceeded, nil, "", false},
		{"a step that was killed says what Kubernetes says", seen(gaveUp("BackoffLimitExceeded"), with(attempt(StepBroken).broken("OOMKilled, exit code 137"))),
			StageFailed, ReasonStepFailed, RecordOutcome{}, "OOMKilled", false},
		{"an agent that says nonsense is not believed", seen(gaveUp("BackoffLimitExceeded"), with(attempt(StepBroken).broken(`{"reason":"not a word!"}`))),
			StageFailed, ReasonStepFailed, RecordOutcome{}, "", false},
		{"a Pod that was evicted is called so", seen(gaveUp("BackoffLimitExceeded"), with(attempt().lost("Evicted: the node was low on resource"))),
			StageFailed, ReasonPodLost, RecordOutcome{}, "low on resource", false},
		{"a Job past its deadline says what was in the way", seen(gaveUp("DeadlineExceeded"), func(o *Observation) { o.Backup.Said = "Secret s3 is missing." + o.goesOn() }),
			StageFailed, ReasonDeadlineExceeded, RecordOutcome{}, "Secret s3 is missing. The backup was not complete", false},
		{"a Job that failed without a Pod to ask fails with Kubernetes' words", seen(gaveUp("BackoffLimitExceeded")),
			StageFailed, ReasonJobFailed, RecordOutcome{}, "BackoffLimitExceeded: as Kubernetes says", false},

		{"what is recorded is the outcome, and the Job may go", seen(complete, func(o *Observation) { o.Record.Outcome = &outcome }),
			StageComplete, ReasonVerified, ReleaseJob{UID: "job-1"}, "", false},
		{"a Job that Kubernetes is about to end is given the time", seen(open, with(whole.beside(PodRuns)), func(o *Observation) { o.Record.Outcome = &outcome }),
			StageComplete, ReasonVerified, nil, "", false},
		{"a Job whose Pod another container keeps running is ended",
			seen(open, with(whole.beside(PodRuns)), late, func(o *Observation) { o.Record.Outcome = &outcome }), StageComplete, ReasonVerified, EndTask{UID: "job-1"}, "", false},
		{"a Job that would make another attempt, since another container failed, is ended at once",
			seen(open, with(whole.beside(PodFailed)), func(o *Observation) { o.Record.Outcome = &outcome }), StageComplete, ReasonVerified, EndTask{UID: "job-1"}, "", false},
		{"a Pod whose step failed is ended when another container keeps it, so that another attempt is made",
			seen(recordedJob, with(attempt(StepDone, StepBroken).broken(refusedByStore).beside(PodRuns)), late),
			StageStarting, ReasonRetrying, EndTask{Pod: "pod"}, "The store refuses the credentials.", true},
		{"a record that is older than the EtcdBackup is the outcome, and is said to be another's",
			seen(func(o *Observation) { o.Record.Outcome, o.Backup.Created = &outcome, now.Add(time.Hour) }), StageComplete, ReasonVerified, nil,
			"Nothing was run: this EtcdBackup was created with the record of an earlier one, which ended at 2026-05-01T12:00:00Z.", false},
		{"what is recorded is the outcome when the Job is gone", seen(func(o *Observation) { o.Record.Outcome = &outcome }),
			StageComplete, ReasonVerified, nil, "", false},
		{"a record that was taken away is put back from the status, and the backup does not run again",
			seen(func(o *Observation) { o.Backup.Ended = &outcome }), StageComplete, ReasonVerified, RecordOutcome{}, "", false},
		{"what is recorded is the outcome when the cluster is gone and the deadline over",
			seen(func(o *Observation) { o.Record.Outcome, o.Cluster, o.Now = &outcome, Cluster{}, now.Add(999*time.Hour) }), StageComplete, ReasonVerified, nil, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Next(row.o)
			if d.Stage != row.stage || d.Reason != row.reason || d.Trouble != row.trouble {
				t.Errorf("stage %s, reason %s, trouble %v; want %s, %s, %v (%s)", d.Stage, d.Reason, d.Trouble, row.stage, row.reason, row.trouble, d.Message)
			}
			if !strings.Contains(d.Message, row.says) {
				t.Errorf("it says %q, want %q", d.Message, row.says)
			}
			if recorded, ok := d.Change.(RecordOutcome); ok && row.change == (RecordOutcome{}) {
				if recorded.Outcome.Reason != row.reason || recorded.Outcome.Complete != (row.stage == StageComplete) || !recorded.Outcome.isWhole() {
					t.Errorf("it records %+v", recorded.Outcome)
				}
			} else if d.Change != row.change {
				t.Errorf("the change is %#v, want %#v", d.Change, row.change)
			}
		})
	}
}

func TestABackupIsNeverCalledGoodWithoutTheWordsOfAPodThatSucceeded(t *testing.T) {
	states := []StepState{StepWaits, StepRuns, StepDone, StepBroken}
	tried := 0
	for _, end := range []JobEnd{JobRuns, JobComplete, JobFailed} {
		for i := range 256 {
			a := attempt(states[i%4], states[i/4%4], states[i/16%4], states[i/64%4])
			for _, ended := range []bool{false, true} {
				a.Ended = ended
				d := Next(seen(recordedJob, with(a), func(o *Observation) { o.Job.End = end }))
				if recorded, ok := d.Change.(RecordOutcome); ok && recorded.Outcome.Complete {
					t.Errorf("Job %q, attempt %+v: %+v", end, a, recorded.Outcome)
				}
				tried++
			}
		}
	}
	if tried != 3*512 {
		t.Errorf("%d were tried", tried)
	}
}

// A run that was killed after any effect is just another observation: whatever is recorded at last was recorded once.
func TestABackupEndsOnceAlsoWhereItsStatusIsWipedAfterwards(t *testing.T) {
	o := seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded()))
	first := Next(o).Change.(RecordOutcome).Outcome
	o.Record.Outcome = &first
	for _, wiped := range []Observation{
		seen(func(w *Observation) { w.Record = o.Record }),
		seen(func(w *Observation) { w.Record = o.Record; w.Job = o.Job; w.Job.Kept = false }),
		seen(func(w *Observation) { w.Record = o.Record; w.Cluster = Cluster{}; w.Now = now.Add(24 * time.Hour) }),
	} {
		if d := Next(wiped); d.Change != nil || d.Outcome == nil || !d.Outcome.Complete {
			t.Errorf("%+v", d)
		}
	}
}

func TestAJobThatIsLateSaysWhatFailedLast(t *testing.T) {
	late := Job{End: JobFailed, Reason: "DeadlineExceeded", Message: "as Kubernetes says"}
	const alone = "The Job was not complete within its deadline."
	for name, row := range map[string]struct {
		pods []Attempt
		want string
	}{
		"no Pod":                       {nil, alone},
		"one that the deadline ended":  {[]Attempt{attempt(StepRuns).lost("Deleted: the Pod is being deleted")}, alone},
		"one that failed, and another": {[]Attempt{attempt(StepBroken).broken(refusedByStore), attempt(StepRuns).lost("Deleted")}, alone + " Before: The store refuses the credentials."},
	} {
		if reason, message := late.WhyFailed(row.pods); reason != ReasonDeadlineExceeded || message != row.want {
			t.Errorf("%s: %s: %s", name, reason, message)
		}
	}
}
