package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// resizeDeadline is for how long a kubelet may fail before the member is restarted instead, and how long a node may
// have no room before that is overdue.
const resizeDeadline = time.Minute

// resize gives members that run other amounts of CPU and memory, in the order of a roll and as carefully: less memory
// may end a process. Where Kubernetes refuses it, or the kubelet cannot do it, roll restarts the member.
func resize(o judge.View) *proposal {
	r := nextOf(o, toResize(o))
	for _, other := range o.Voters() {
		if p := resizing(o, other); p != nil && other.Name != r.Name {
			return p
		}
	}
	if r.Member == nil {
		return nil
	}
	if r.Choices() != o.Desired.Choices && r.Volume != nil {
		return act(changes.SetChoices{Volumes: []facts.VolumeRef{r.VolumeRef()}, Choices: o.Desired.Choices,
			Rehearse: true}, facts.ReasonResize,
			"%s is to have the CPU and memory of the spec; that is written on its volume.", r.Name)
	}
	return act(changes.ResizePod{Pod: r.PodRef(), Choices: o.Desired.Choices}, facts.ReasonResize,
		"%s gets the CPU and memory of the spec, without a restart.", r.Name)
}

// resizing says what a member's kubelet still has to do. What it cannot do, roll does.
func resizing(o judge.View, r facts.Replica) *proposal {
	if r.Pod == nil || cannotResize(o, r) {
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

// toResize are the voters that lack nothing of the spec but CPU and memory, and can get these while they run. There are
// none while a member has to be restarted for them: only its restart shows whether a member can live with them.
func toResize(o judge.View) []facts.Replica {
	outdated := outdated(o)
	if slices.ContainsFunc(outdated, func(r facts.Replica) bool { return isStuck(o, r) }) {
		return nil
	}
	return facts.Filter(outdated, func(r facts.Replica) bool { return isResizable(o, r) })
}

// isResizable reports a member that gets the settings of the spec with no restart. A sick one is restarted: that may be
// its cure.
func isResizable(o judge.View, r facts.Replica) bool {
	wanted := o.Desired.Choices
	return r.IsHealthy(o.Membership) && wanted.IsLike(r.Pod.Choices) && wanted.IsLike(r.Choices()) &&
		!cannotResize(o, r) && !isRejected(o.Observation, ruleResize)
}

// cannotResize reports a member whose Pod was given the amounts of the spec, and whose kubelet cannot give them to the
// process.
func cannotResize(o judge.View, r facts.Replica) bool {
	asked := r.Pod.Resize
	return r.Pod.Choices == o.Desired.Choices && (asked.State == facts.ResizeInfeasible ||
		asked.State == facts.ResizeFailed && o.Now.Sub(asked.Since) > resizeDeadline)
}

// isStuck reports a member that says it was made from the settings of the spec, and does not have their amounts.
func isStuck(o judge.View, r facts.Replica) bool {
	return r.Pod != nil && r.Pod.Running && !r.Pod.Terminating && r.IsSealed() && !r.IsDoomed() && cannotResize(o, r)
}

// whyRestarted says why a member is restarted for amounts, as a sentence to follow another one, or "".
func whyRestarted(o judge.View, r facts.Replica) string {
	if !cannotResize(o, r) {
		return ""
	}
	return fmt.Sprintf(" Its node cannot change CPU and memory while it runs: %s.",
		strings.TrimSuffix(r.Pod.Resize.Message, "."))
}
