package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Questions about members that run and never answer. While the list is known the roll restarts such a member. Without a list
// nobody knows who votes, so what Kubernetes says alone must show that nothing is taken from anybody.

// isMute reports a process that has had its time, and of which neither the operator nor the kubelet ever heard a word. One that
// served before in this container is none: what it lacks are others.
func (o Observation) isMute(r Replica) bool {
	return o.isSilent(r) && !r.Pod.Ready && r.Pod.neverReady()
}

// neverReady reports whether the kubelet never called the process ready since it started.
func (p *Pod) neverReady() bool {
	return p.Running && !p.RunningSince.IsZero() && !p.ReadySince.After(p.RunningSince)
}

// isSilent reports a process that should answer by now and does not.
func (o Observation) isSilent(r Replica) bool {
	pod := r.Pod
	if r.Answer != nil || pod == nil || !pod.Running || pod.Terminating || pod.HasEnded() || pod.RunningSince.IsZero() {
		return false
	}
	return o.Now.Sub(pod.RunningSince) > startDeadline
}

// isAlone reports whether nothing is left of any other member: this one is the whole cluster, and to restart it for the settings
// of the spec is what a roll would do. Ready or not makes no difference then: with settings by which no client can connect, the
// kubelet still calls it ready.
func (o Observation) isAlone(r Replica) bool {
	return len(o.Membership.LastKnown) == 0 && !slices.ContainsFunc(o.Replicas, func(other Replica) bool {
		return other.Name != r.Name && (other.Pod != nil || other.IsRecorded())
	})
}

// isAnyReady reports a member that serves by its kubelet's word: then there is a quorum, and the operator is the one cut off.
func (o Observation) isAnyReady() bool {
	return slices.ContainsFunc(o.Replicas, func(r Replica) bool { return r.Pod != nil && r.Pod.Ready })
}

// mayStopBlind reports whether a member that runs may be stopped although no list is known, to start with the settings of the
// spec on the data that it has. It does nothing for anybody, one goes at a time, and none goes twice for the same settings.
func (o Observation) mayStopBlind(r Replica) bool {
	if o.Membership.Known || !r.isKept() || !o.mayRestart(r) || !o.isOtherwiseMade(r) || o.isAnotherTrying(r) {
		return false
	}
	if o.isAlone(r) {
		return o.isSilent(r)
	}
	return o.isMute(r) && !o.isAnyReady() && o.isExpendable(r.runsWith())
}

// isKept reports a member whose data outlives its Pod, and that can only start from it.
func (r Replica) isKept() bool { return !r.Ephemeral && !r.isDoomed() && r.IsSealed() }

// isUseless reports a process that may be stopped before anything is known of the list.
func (o Observation) isUseless(r Replica) bool { return o.mayStopBlind(r) || o.isMuteFirst(r) }

// isOtherwiseMade reports whether the Pod was made from other settings than the spec asks for, of the same minor version.
func (o Observation) isOtherwiseMade(r Replica) bool {
	c := r.Pod.Choices
	return o.Desired.Fault == "" && !c.IsZero() && c != o.Desired.Choices && c.Version.SameMinor(o.Desired.Choices.Version)
}

// runsWith are the settings that a member's process has, as far as anything says.
func (r Replica) runsWith() Choices {
	if r.Pod != nil && !r.Pod.Choices.IsZero() {
		return r.Pod.Choices
	}
	return r.Choices()
}

// isExpendable reports whether settings may be taken from a member that is mute with them. Those that most members have served
// once: such a member may lack nothing but the others, and they come back as they were. Only where a quorum runs with them, and
// is mute as a whole, are they to blame all the same.
func (o Observation) isExpendable(c Choices) bool {
	voters := o.lastKnownVoters()
	having, mute := 0, 0
	for _, r := range voters {
		if r.runsWith() != c || r.lostData() != "" {
			continue
		}
		having++
		if o.isMute(r) {
			mute++
		}
	}
	quorum := etcdutil.Quorum(len(voters))
	return having < quorum || mute >= quorum
}

// isAnotherTrying reports whether another member was just given the settings of the spec, and has its time to show what they are
// worth.
func (o Observation) isAnotherTrying(r Replica) bool {
	return slices.ContainsFunc(o.Replicas, func(other Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Choices() == o.Desired.Choices && o.isStarting(other)
	})
}

// isStarting reports a Pod that is on its way, or a process that has not yet had its time.
func (o Observation) isStarting(r Replica) bool {
	switch {
	case r.Pod == nil:
		return o.mayRestart(r)
	case r.Pod.Terminating:
		return !o.isStuck(r)
	case r.Pod.Running:
		return !r.Pod.Ready && o.Now.Sub(r.Pod.RunningSince) <= startDeadline
	}
	return o.Now.Sub(r.Pod.Created) <= startDeadline
}

// isMuteFirst reports a first member that does not answer, before anything was written down of any: no client was ever led to it.
// It starts again on its volume as it was born. Where its data is in its Pod, it goes only if nobody ever was ready.
func (o Observation) isMuteFirst(r Replica) bool {
	if o.isAlive() || o.Membership.Known || r.Pod == nil || !r.Pod.Choices.IsZero() && !o.isOtherwiseMade(r) {
		return false
	}
	if r.Volume != nil {
		return !r.Volume.Terminating && o.isSilent(r)
	}
	return r.Ephemeral && o.isMute(r) && !o.isAnyReady()
}

// isUnproven reports a member that never was ready with the settings of the spec, while nobody else serves with them either: they
// are to blame, and whoever took its place would be restarted with them in turn. Putting them right restarts this one.
func (o Observation) isUnproven(r Replica) bool {
	return r.isKept() && r.Pod.neverReady() && r.Pod.Choices == o.Desired.Choices && !o.isServedWith(r.Pod.Choices)
}
