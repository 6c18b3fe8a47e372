package backupplan

import "time"

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
