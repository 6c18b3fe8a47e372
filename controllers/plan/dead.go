package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// replaceDead removes a voter of which nothing says that its data is lost, but that two witnesses have called dead for as
// long as the user allows: the operator, which cannot reach it, and the kubelet or its absence. Growth gives it a successor.
// After an outage the time counts from when the others became a quorum again: what brought them back may bring this one.
func replaceDead(o Observation) *proposal {
	for _, r := range o.Voters() {
		since := o.deadSince(r)
		if since.IsZero() || o.Desired.ReplaceAfter == 0 || o.Now.Sub(since) < o.deadline() || o.Now.Sub(o.quorumSince()) < o.deadline() {
			continue
		}
		if p := o.learnerFirst(r, ReasonReplaceDead); p != nil {
			return p
		}
		return act(RemoveMember{Name: r.Name, ID: r.Member.ID}, ReasonReplaceDead, "%s was not reached for %s, and its Pod is not ready. It is removed, and a new member takes its place.",
			r.Name, o.Now.Sub(since).Round(time.Second))
	}
	return nil
}

// deadSince is since when two witnesses call a member dead, for a cause that a member on another volume would not have; zero
// while they do not. What a new member would meet as well (a bad flag, too little memory, a full disk, an image that does not
// exist) is reported, and nothing is given up for it.
func (o Observation) deadSince(r Replica) time.Time {
	pod := r.Pod
	switch {
	case r.Answer != nil || pod == nil || pod.Ready || pod.HasEnded():
		return time.Time{}
	case pod.Terminating:
		return pod.GoneBy // the kubelet does not answer: it should have been gone by then
	case o.isTiedToNode(r):
		return podChange(pod)
	case r.cannotStart() || o.isCrashing(r) || o.isUnproven(r):
		return time.Time{}
	}
	return lastStart(pod) // each start gets its time, however long nobody was there to look
}

// quorumSince is when the healthy voters became enough for a quorum, by the readiness of their Pods; zero while they are not.
func (o Observation) quorumSince() time.Time {
	var ready []time.Time
	for _, r := range o.HealthyVoters() {
		ready = append(ready, podChange(r.Pod))
	}
	quorum := etcdutil.Quorum(len(o.Voters()))
	if len(ready) < quorum {
		return time.Time{}
	}
	slices.SortFunc(ready, time.Time.Compare)
	return ready[quorum-1]
}

// isTiedToNode reports a Pod that only nodes which do not take it could use the volume of, while others serve with the settings
// it was made from: a member on another volume would start. What the Pod asks too much, a new one would ask as well.
func (o Observation) isTiedToNode(r Replica) bool {
	says := func(words string) bool { return strings.Contains(r.Pod.Message, words) }
	return r.Pod.Waiting == "Unschedulable" && slices.ContainsFunc(tiedToNode, says) && o.isServedWith(r.Pod.Choices)
}

// tiedToNode are the scheduler's words for it, of today and of Kubernetes before 1.36
// (kubernetes/kubernetes:pkg/scheduler/framework/plugins/volumebinding/binder.go ErrReasonNodeConflict).
var tiedToNode = []string{"didn't match PersistentVolume's node affinity", "volume node affinity conflict"}

// isCrashing reports a container that ended since its Pod stopped being ready, whether it runs again at this moment or not. One
// that has been running for longer than a start takes does not crash any more, it hangs.
func (o Observation) isCrashing(r Replica) bool {
	exit := r.Pod.Exit
	return exit != nil && (!r.Pod.Running || !exit.At.Before(r.Pod.ReadySince) && o.Now.Sub(r.Pod.RunningSince) <= startDeadline)
}

// deadline is how long a member may be dead, and what a process may need to read its database before it can answer.
func (o Observation) deadline() time.Duration {
	const slowest = 32 << 20 // bytes per second
	return o.Desired.ReplaceAfter + time.Duration(o.largestDatabase()/slowest)*time.Second
}
