package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Which process may be stopped before etcd was asked. While the list is known the rule roll restarts a member. Without
// a list it is not known who votes, so what Kubernetes says alone must show that the cluster loses nothing.

// mayStopUnasked reports a Pod that may be stopped whether the list is known or not: nothing runs in it, or its process
// serves no one.
func mayStopUnasked(o pass, r facts.Replica) bool {
	return !r.Pod.Running || mayStopBlind(o, r) || mayStopFirst(o, r)
}

// hasNeverServed reports a process that has had its time, and of which neither the operator nor the kubelet ever heard
// a word. One that served before in this container is none: what it lacks are others.
func hasNeverServed(o facts.Observation, r facts.Replica) bool {
	return isUnresponsive(o, r) && !r.Pod.Ready && r.Pod.NeverReady()
}

// isUnresponsive reports a process that should answer by now and does not.
func isUnresponsive(o facts.Observation, r facts.Replica) bool {
	pod := r.Pod
	if r.Answer != nil || pod == nil || !pod.Running || pod.Terminating || pod.HasEnded() || pod.RunningSince.IsZero() {
		return false
	}
	return o.Now.Sub(pod.RunningSince) > facts.StartDeadline
}

// mayStopBlind reports whether a member that runs may be stopped although no list is known, to start with the settings
// of the spec on the data that it has. It does nothing for anybody, one goes at a time, and none goes twice for the
// same settings.
func mayStopBlind(o pass, r facts.Replica) bool {
	if o.Membership.Known || !r.HasLastingData() || !o.MayRestart(r) ||
		!isOtherwiseMade(o, r) || isAnotherTrying(o, r) {
		return false
	}
	if o.IsAlone(r) {
		return isUnresponsive(o.Observation, r)
	}
	return hasNeverServed(o.Observation, r) && !o.IsAnyReady() && areToBlame(o, r.RunsWith())
}

// isOtherwiseMade reports whether the Pod was made from other settings than the spec asks for, and may be made from
// those.
func isOtherwiseMade(o pass, r facts.Replica) bool {
	c := r.Pod.Settings
	return !c.IsZero() && c != o.Desired.Settings && mayTakeSpec(o, r)
}

// areToBlame reports whether settings may be taken from a member that never served with them. Those that most members
// have served once: such a member may lack nothing but the others, and they come back as they were. Only where a quorum
// runs with them, and no member of it ever served, are they to blame all the same.
func areToBlame(o pass, c facts.Settings) bool {
	voters := o.LastKnownVoters(o.IsLost)
	having, failing := 0, 0
	for _, r := range voters {
		if r.RunsWith() != c || o.Judge(r).IsLost() {
			continue
		}
		having++
		if hasNeverServed(o.Observation, r) {
			failing++
		}
	}
	quorum := etcdutil.Quorum(len(voters))
	return having < quorum || failing >= quorum
}

// isAnotherTrying reports whether another member was just given the settings of the spec, and has its time to show what
// they are worth.
func isAnotherTrying(o pass, r facts.Replica) bool {
	return slices.ContainsFunc(o.Members, func(other facts.Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Settings() == o.Desired.Settings &&
			isStarting(o, other)
	})
}

// isStarting reports a Pod that is on its way, or a process that has not yet had its time.
func isStarting(o pass, r facts.Replica) bool {
	switch {
	case r.Pod == nil:
		return o.MayRestart(r)
	case r.Pod.Terminating:
		return !isStuckLeaving(o.Observation, r)
	case r.Pod.Running:
		return !r.Pod.Ready && o.Now.Sub(r.Pod.RunningSince) <= facts.StartDeadline
	}
	return o.Now.Sub(r.Pod.Created) <= facts.StartDeadline
}

// mayStopFirst reports a first member that does not answer, before anything was written down of any: no client was
// ever led to it. It starts again on its volume as it was bootstrapped. Where its data is in its Pod, it goes only if
// nobody ever was ready.
func mayStopFirst(o pass, r facts.Replica) bool {
	if o.IsAlive() || o.Membership.Known || r.Pod == nil || !r.Pod.Settings.IsZero() &&
		!isOtherwiseMade(o, r) {
		return false
	}
	if r.Volume != nil {
		return !r.Volume.Terminating && isUnresponsive(o.Observation, r)
	}
	return r.Ephemeral && hasNeverServed(o.Observation, r) && !o.IsAnyReady()
}
