package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Which process may be stopped before etcd was asked. While the list is known the rule roll restarts a member. Without
// a list it is not known who votes, so what Kubernetes says alone must show that the cluster loses nothing.

// mayStopUnasked reports a Pod that may be stopped whether the list is known or not: nothing runs in it, or its process
// serves no one.
func (o view) mayStopUnasked(r Replica) bool {
	return !r.Pod.Running || o.mayStopBlind(r) || o.mayStopFirst(r)
}

// hasNeverServed reports a process that has had its time, and of which neither the operator nor the kubelet ever heard
// a word. One that served before in this container is none: what it lacks are others.
func (o Observation) hasNeverServed(r Replica) bool {
	return o.isUnresponsive(r) && !r.Pod.Ready && r.Pod.neverReady()
}

// neverReady reports whether the kubelet never called the process ready since it started.
func (p *Pod) neverReady() bool {
	return p.Running && !p.RunningSince.IsZero() && !p.ReadySince.After(p.RunningSince)
}

// isUnresponsive reports a process that should answer by now and does not.
func (o Observation) isUnresponsive(r Replica) bool {
	pod := r.Pod
	if r.Answer != nil || pod == nil || !pod.Running || pod.Terminating || pod.HasEnded() || pod.RunningSince.IsZero() {
		return false
	}
	return o.Now.Sub(pod.RunningSince) > startDeadline
}

// isAlone reports whether nothing is left of any other member: this one is the whole cluster, and to restart it for the
// settings of the spec is what a roll would do. Ready or not makes no difference then: with settings by which no client
// can connect, the kubelet still calls it ready.
func (o Incarnation) isAlone(r Replica) bool {
	return len(o.Membership.LastKnown) == 0 && !slices.ContainsFunc(o.Members, func(other Replica) bool {
		return other.Name != r.Name && (other.Pod != nil || other.IsRecorded())
	})
}

// isAnyReady reports a member that serves by its kubelet's word: then there is a quorum, and the operator is the one
// cut off.
func (o Incarnation) isAnyReady() bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool { return r.Pod != nil && r.Pod.Ready })
}

// mayStopBlind reports whether a member that runs may be stopped although no list is known, to start with the settings
// of the spec on the data that it has. It does nothing for anybody, one goes at a time, and none goes twice for the
// same settings.
func (o view) mayStopBlind(r Replica) bool {
	if o.Membership.Known || !r.isKept() || !o.mayRestart(r) || !o.isOtherwiseMade(r) || o.isAnotherTrying(r) {
		return false
	}
	if o.isAlone(r) {
		return o.isUnresponsive(r)
	}
	return o.hasNeverServed(r) && !o.isAnyReady() && o.areToBlame(r.runsWith())
}

// isKept reports a member whose data outlives its Pod, and that can only start from it.
func (r Replica) isKept() bool { return !r.Ephemeral && !r.isDoomed() && r.IsSealed() }

// isOtherwiseMade reports whether the Pod was made from other settings than the spec asks for, of the same minor
// version.
func (o Observation) isOtherwiseMade(r Replica) bool {
	c := r.Pod.Choices
	return o.Desired.Fault == "" && !c.IsZero() && c != o.Desired.Choices &&
		c.Version.SameMinor(o.Desired.Choices.Version)
}

// runsWith are the settings that a member's process has, as far as anything says.
func (r Replica) runsWith() Choices {
	if r.Pod != nil && !r.Pod.Choices.IsZero() {
		return r.Pod.Choices
	}
	return r.Choices()
}

// areToBlame reports whether settings may be taken from a member that never served with them. Those that most members
// have served once: such a member may lack nothing but the others, and they come back as they were. Only where a quorum
// runs with them, and no member of it ever served, are they to blame all the same.
func (o view) areToBlame(c Choices) bool {
	voters := o.lastKnownVoters(o.isLost)
	having, failing := 0, 0
	for _, r := range voters {
		if r.runsWith() != c || o.Judge(r).IsLost() {
			continue
		}
		having++
		if o.hasNeverServed(r) {
			failing++
		}
	}
	quorum := etcdutil.Quorum(len(voters))
	return having < quorum || failing >= quorum
}

// isAnotherTrying reports whether another member was just given the settings of the spec, and has its time to show what
// they are worth.
func (o view) isAnotherTrying(r Replica) bool {
	return slices.ContainsFunc(o.Members, func(other Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Choices() == o.Desired.Choices && o.isStarting(other)
	})
}

// isStarting reports a Pod that is on its way, or a process that has not yet had its time.
func (o view) isStarting(r Replica) bool {
	switch {
	case r.Pod == nil:
		return o.mayRestart(r)
	case r.Pod.Terminating:
		return !o.hasNotLeft(r)
	case r.Pod.Running:
		return !r.Pod.Ready && o.Now.Sub(r.Pod.RunningSince) <= startDeadline
	}
	return o.Now.Sub(r.Pod.Created) <= startDeadline
}

// mayStopFirst reports a first member that does not answer, before anything was written down of any: no client was
// ever led to it. It starts again on its volume as it was born. Where its data is in its Pod, it goes only if nobody
// ever was ready.
func (o view) mayStopFirst(r Replica) bool {
	if o.isAlive() || o.Membership.Known || r.Pod == nil || !r.Pod.Choices.IsZero() && !o.isOtherwiseMade(r) {
		return false
	}
	if r.Volume != nil {
		return !r.Volume.Terminating && o.isUnresponsive(r)
	}
	return r.Ephemeral && o.hasNeverServed(r) && !o.isAnyReady()
}
