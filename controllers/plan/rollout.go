package plan

import (
	"cmp"
	"slices"
)

// Rules that bring members that run to what the spec asks for, one at a time.

// podMetadata lets labels and annotations follow the spec in place: no process is stopped for them.
func podMetadata(o view) *proposal {
	var pods []PodRef
	for _, r := range o.Members {
		if r.Pod == nil || r.Member == nil || r.Pod.Terminating || r.Pod.HasEnded() {
			continue
		}
		if r.Pod.Choices.IsZero() && r.IsSealed() {
			return o.toldAgain(r)
		}
		if r.Pod.Undressed {
			pods = append(pods, r.podRef())
		}
	}
	if len(pods) == 0 || o.Desired.Fault != "" {
		return nil
	}
	return act(DressPods{Pods: pods}, ReasonPodMetadata, "The labels and annotations of the spec are put on the Pod of %s, in place.", podNames(pods))
}

// roll restarts one member with the choices of the spec: a sick one first, then followers, the leader last, once it has
// handed over. It goes on only while every other voter is well, so a change that does not work stops at the first member.
func roll(o view) *proposal {
	if p := o.unsupported(); p != nil {
		return p
	}
	r := o.rollTarget()
	switch {
	case r.Member == nil:
		return o.catchingUp()
	case o.Desired.Ephemeral:
		return nil // ephemeral members are succeeded, not restarted: see wantsGrowth
	}
	if r.Member.ID == o.Membership.Leader && len(o.Voters()) > 1 {
		return o.handOver(r, o.HealthyVoters(), ReasonRoll, "will be restarted with new settings")
	}
	if r.Choices() != o.Desired.Choices {
		return act(SetChoices{Volumes: []VolumeRef{r.volumeRef()}, Choices: o.Desired.Choices, Rehearse: true}, ReasonRoll,
			"%s is to run %s; that is written on its volume.", r.Name, o.Desired.Choices.difference(r.Choices()))
	}
	return act(EvictPod{Pod: r.podRef(), Successor: o.restartOf(r)}, ReasonRoll, "%s is restarted with the settings on its volume.", r.Name)
}

// catchingUp waits for a voter that serves and is behind, which is all that is wrong with it, before others are restarted.
func (o view) catchingUp() *proposal {
	outdated := filter(o.Voters(), o.isOutdated)
	for _, r := range o.Voters() {
		if len(outdated) > 0 && r.IsHealthy(o.Membership) && r.Pod != nil && r.Pod.Ready && !o.isCaughtUp(r) {
			p := wait(ReasonRoll, "%s will be restarted with new settings, once %s has all that was committed. If it does not catch up, its disk or its network is too slow for what is written.",
				outdated[0].Name, r.Name)
			return p.due(o, lastStart(r.Pod), o.joinDeadline()).yielding()
		}
	}
	return nil
}

// difference says in a word what changed between two choices.
func (c Choices) difference(from Choices) string {
	if c.Version != from.Version {
		return "etcd " + c.Version.String()
	}
	return "with new settings"
}

// rollTarget is the voter that is to be brought to the choices of the spec next, or an empty replica: none is outdated, the
// change is not supported, or somebody else is not well.
func (o view) rollTarget() Replica {
	if o.unsupported() != nil {
		return Replica{}
	}
	outdated := filter(o.Voters(), o.isOutdated)
	if len(outdated) == 0 {
		return Replica{}
	}
	r := slices.MinFunc(outdated, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(o.rollRank(a), o.rollRank(b)), cmp.Compare(b.Ordinal, a.Ordinal))
	})
	for _, other := range o.Voters() {
		if other.Name != r.Name && !o.isWell(other) && !o.isSucceeding() && !o.isCuredBeside(r, other) {
			return Replica{}
		}
	}
	return r
}

// isCuredBeside lets a sick member be restarted beside one that serves on a volume that is going: its successor could not join, for
// the sick one.
func (o Incarnation) isCuredBeside(sick, other Replica) bool {
	return !sick.IsHealthy(o.Membership) && other.isDoomed() && o.isServing(other)
}

// rollRank is the order in which outdated members are restarted.
func (o Incarnation) rollRank(r Replica) int {
	switch {
	case !r.IsHealthy(o.Membership):
		return 0
	case r.Member.ID == o.Membership.Leader:
		return 3
	case r.isBehindVolume():
		return 1 // begun already
	}
	return 2
}

// isOutdated reports whether a recorded member runs, or will run, with other choices than the spec asks for. A stop of a
// doomed one would be its end, and one that does not say what it was made from is not restarted for that.
func (o Observation) isOutdated(r Replica) bool {
	if r.Pod == nil || !r.Pod.Running || r.Pod.Terminating || !r.IsSealed() || r.isDoomed() || r.Pod.Choices.IsZero() {
		return false
	}
	return r.Choices() != o.Desired.Choices || r.isBehindVolume()
}

// isBehindVolume reports a Pod that was made from other choices than its volume says by now.
func (r Replica) isBehindVolume() bool { return r.Pod.Choices != r.Choices() }

// isWell reports whether a voter can be relied on while another one is away: it serves, on data that stays.
func (o Incarnation) isWell(r Replica) bool { return !r.isDoomed() && o.isServing(r) }

// isServing reports a voter that serves, has all that was committed, and can only start from its data.
func (o Incarnation) isServing(r Replica) bool {
	return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && o.isCaughtUp(r)
}

// succeeded is the ephemeral voter that a successor with the choices of the spec is to follow, or an empty replica. Its data
// goes with its Pod, so it stays until the successor votes.
func (o view) succeeded() Replica {
	if !o.Desired.Ephemeral {
		return Replica{}
	}
	return o.rollTarget()
}

// isSucceeding reports whether a successor is on its way or there: what was begun is gone on with.
func (o view) isSucceeding() bool {
	return o.Desired.Ephemeral && (len(o.Learners()) > 0 || len(o.Voters()) > o.Desired.Size)
}
