package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
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

// resizeDeadline is for how long a kubelet may fail before the member is restarted instead, and how long a node may
// have no room before that is overdue.
const resizeDeadline = time.Minute

// resize gives members that run other amounts of CPU and memory, in the order of a roll and as carefully: less memory
// may end a process. Where Kubernetes refuses it, or the kubelet cannot do it, roll restarts the member.
func resize(o pass) *proposal {
	r := o.due.Resize
	for _, other := range o.Voters() {
		if p := resizing(o, other); p != nil && other.Name != r.Name {
			return p
		}
	}
	if r.Member == nil {
		return nil
	}
	if r.Settings() != o.Desired.Settings && r.Volume != nil {
		return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: o.Desired.Settings,
			Rehearse: true}, facts.ReasonResize,
			"%s is to have the CPU and memory of the spec; that is written on its volume.", r.Name)
	}
	return act(changes.ResizePod{Pod: r.PodRef(), Settings: o.Desired.Settings}, facts.ReasonResize,
		"%s gets the CPU and memory of the spec, without a restart.", r.Name)
}

// resizing says what a member's kubelet still has to do. What it cannot do, roll does.
func resizing(o pass, r facts.Replica) *proposal {
	if r.Pod == nil || cannotResize(o.Observation, r) {
		return nil
	}
	asked := r.Pod.Resize
	says := strings.TrimSuffix(asked.Message, ".")
	switch asked.State {
	case facts.ResizeInProgress:
		return wait(facts.ReasonResize, "The kubelet changes CPU and memory of %s, which runs on.", r.Name).
			due(o, asked.Since, resizeDeadline).yielding()
	case facts.ResizeDeferred:
		return wait(facts.ReasonResize, "Node %s has no room now for the CPU and memory of %s: %s. The kubelet tries "+
			"again by itself. Free room on the node, or put spec.pod.resources back.", r.Pod.Node, r.Name, says).
			due(o, asked.Since, resizeDeadline).yielding()
	case facts.ResizeFailed:
		return wait(facts.ReasonResize, "The kubelet could not change CPU and memory of %s: %s. It tries again. The "+
			"operator restarts %s with them if that fails for %s. Put spec.pod.resources back to avoid that.",
			r.Name, says, r.Name, resizeDeadline).yielding()
	case facts.ResizeNone, facts.ResizeInfeasible:
	}
	return nil
}

// cannotResize reports a member whose Pod was given the amounts of the spec, and whose kubelet cannot give them to the
// process.
func cannotResize(o facts.Observation, r facts.Replica) bool {
	asked := r.Pod.Resize
	return r.Pod.Settings == o.Desired.Settings && (asked.State == facts.ResizeInfeasible ||
		asked.State == facts.ResizeFailed && o.Now.Sub(asked.Since) > resizeDeadline)
}

// whyRestarted says why a member is restarted for amounts, as a sentence to follow another one, or "".
func whyRestarted(o pass, r facts.Replica) string {
	if !cannotResize(o.Observation, r) {
		return ""
	}
	return fmt.Sprintf(" Its node cannot change CPU and memory while it runs: %s.",
		strings.TrimSuffix(r.Pod.Resize.Message, "."))
}
