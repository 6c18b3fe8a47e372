package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Rules that bring members that run to what the spec asks for, one at a time.

// podMetadata lets labels and annotations follow the spec in place: no process is stopped for them.
func podMetadata(o judge.View) *proposal {
	var undressed []facts.PodRef
	for _, r := range o.Members {
		if r.Pod == nil || r.Member == nil || r.Pod.Terminating || r.Pod.HasEnded() {
			continue
		}
		if p := toldAgain(o, r); p != nil && r.Answer != nil {
			return p
		}
		if r.Pod.Undressed {
			undressed = append(undressed, r.PodRef())
		}
	}
	if len(undressed) == 0 || o.Desired.Fault != "" {
		return nil
	}
	return act(changes.DressPods{Pods: undressed}, facts.ReasonPodMetadata,
		"The labels and annotations of the spec are put on the Pod of %s, in place.", podNames(undressed))
}

// roll restarts one member with the settings of the spec: a sick one first, then followers, the leader last, once it
// has handed over. It goes on only while every other voter is well, so a change that does not work stops at the first
// member.
func roll(o judge.View) *proposal {
	if p := unsupported(o); p != nil {
		return p
	}
	if p := otherVersion(o); p != nil {
		return p
	}
	r := rollTarget(o)
	switch {
	case r.Member == nil:
		return catchingUp(o)
	case o.Desired.Ephemeral:
		return nil // ephemeral members are succeeded, not restarted: see wantsGrowth
	case isMislabelled(o, r):
		return nil // member-health says so
	}
	if r.Member.ID == o.Membership.Leader && len(o.Voters()) > 1 {
		return handOver(o, r, o.HealthyVoters(), facts.ReasonRoll, "will be restarted to run "+
			difference(o.Desired.Settings, r.RunsWith()))
	}
	if r.Settings() != o.Desired.Settings {
		return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: o.Desired.Settings,
			Rehearse: true}, facts.ReasonRoll,
			"%s is to run %s; that is written on its volume.%s", r.Name, difference(o.Desired.Settings, r.Settings()),
			without(o.Desired))
	}
	return act(changes.EvictPod{Pod: r.PodRef(), Successor: restartOf(r), PastBudget: isHeldByBudget(o, r)},
		facts.ReasonRoll, "%s is restarted to run %s.%s%s", r.Name, difference(r.Settings(), r.Pod.Settings),
		whyRestarted(o, r), without(o.Desired))
}

// otherVersion speaks of a member that runs the settings of the spec, at this stop or at the end of the way, and
// answers with another version. An image says its version only when it runs. No other member is restarted with it.
func otherVersion(o judge.View) *proposal {
	if sick := rollTarget(o); sick.Member != nil && !sick.IsHealthy(o.Membership) {
		return nil // its restart may be its cure
	}
	for _, r := range o.Voters() {
		if !r.IsRunning() || r.Pod.Settings.IsZero() {
			continue
		}
		isAsked := r.Pod.Settings == o.Desired.Settings || r.Pod.Settings == o.Desired.AtTarget
		if isAsked && answersOther(r, r.Pod.Settings.Version) {
			return refuse(facts.ReasonOtherVersion, "%s was made to run etcd %s and answers as etcd %s: its image is "+
				"not what spec.image says. No other member is restarted with it. Put spec.image or spec.version right.",
				r.Name, r.Pod.Settings.Version, r.Answer.Version).byHuman()
		}
	}
	return nil
}

// catchingUp waits for a voter that serves and is behind, which is all that is wrong with it, before others are
// restarted.
func catchingUp(o judge.View) *proposal {
	outdated := toRestart(o)
	for _, r := range o.Voters() {
		if len(outdated) > 0 && r.IsHealthy(o.Membership) && r.Pod != nil && r.Pod.Ready && !o.IsCaughtUp(r) {
			p := wait(facts.ReasonRoll, "%s will be restarted, once %s has all that was committed. "+
				"If it does not catch up, its disk or its network is too slow for what is written.",
				outdated[0].Name, r.Name)
			return p.due(o, facts.LastStart(r.Pod), joinDeadline(o.Incarnation)).yielding()
		}
	}
	return nil
}

// without says what members run without at this stop, as a sentence to follow another one, or "".
func without(d facts.Desired) string {
	if d.LeftOut == "" {
		return ""
	}
	return fmt.Sprintf(" It runs without %s of spec.etcd.extraArgs, which etcd %s does not know.", d.LeftOut,
		d.Settings.Version.MinorString())
}

// difference says in a word what changed between two settings.
func difference(c facts.Settings, from facts.Settings) string {
	switch {
	case c.Version != from.Version:
		return "etcd " + c.Version.String()
	case c.RestartedAt != from.RestartedAt:
		return "again, because of etcdsteward.dev/restartedAt"
	}
	return "with new settings"
}

// toRestart are the voters that are brought to the settings of the spec by a restart.
func toRestart(o judge.View) []facts.Replica {
	return facts.Filter(outdated(o), func(r facts.Replica) bool { return !isResizable(o, r) })
}

// outdated are the voters that are brought to the settings of the spec; none while that is not supported or would stop
// the cluster.
func outdated(o judge.View) []facts.Replica {
	if unsupported(o) != nil || len(o.Crowded(o.Desired.Settings)) > 0 {
		return nil
	}
	return facts.Filter(o.Voters(), func(r facts.Replica) bool {
		return (isOutdated(o.Observation, r) || isStuck(o, r)) && !isHeldByAlarm(o, r)
	})
}

// rollTarget is the voter that is restarted with the settings of the spec next, or an empty replica.
func rollTarget(o judge.View) facts.Replica { return nextOf(o, toRestart(o)) }

// nextOf is the voter of these that is brought to the settings of the spec next, or an empty replica: there is none, or
// another member is not well.
func nextOf(o judge.View, outdated []facts.Replica) facts.Replica {
	if len(outdated) == 0 {
		return facts.Replica{}
	}
	r := slices.MinFunc(outdated, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(rollRank(o.Incarnation, a), rollRank(o.Incarnation, b)),
			cmp.Compare(b.Ordinal, a.Ordinal))
	})
	for _, other := range o.Voters() {
		if other.Name != r.Name && !isWell(o.Incarnation, other) && !isSucceeding(o) &&
			!mayChangeBeside(o, r, other) {
			return facts.Replica{}
		}
		if other.Name != r.Name && isTriedInVain(o, other) {
			return facts.Replica{}
		}
	}
	return r
}

// isTriedInVain reports a member with the settings of the spec whose sidecar does not run, or stopped a moment ago:
// what the spec asks for does not work there, so no other member gets it.
func isTriedInVain(o judge.View, r facts.Replica) bool {
	return r.Pod.Unsteady(o.Now) != nil && r.Pod.Settings == o.Desired.Settings
}

// isHeldByBudget reports a member that no eviction stops, although it may be stopped as far as etcd goes: the budget
// counts Pods that Kubernetes calls ready, and a container beside etcd keeps more of them from that than it can spare.
// It lets no drain pass meanwhile either.
func isHeldByBudget(o judge.View, r facts.Replica) bool {
	ready := facts.Filter(o.Voters(), func(r facts.Replica) bool {
		return r.Pod != nil && r.Pod.Ready && !r.Pod.HeldUnready
	})
	return r.Pod.HeldUnready && len(ready) < o.Budget.MinAvailable
}

// mayChangeBeside lets a member be changed beside one that serves on a volume that is going, where to wait for the
// successor of that one is in vain: it could not join for a sick member, or no node takes it. One that would take the
// room of a member that is restarted lets others be changed only where they run on.
func mayChangeBeside(o judge.View, r, other facts.Replica) bool {
	successor := unplaced(o)
	isInVain := !r.IsHealthy(o.Membership) ||
		successor.Member != nil && (!isCrowdedOut(successor) || isResizable(o, r))
	return isInVain && other.IsDoomed() && o.IsServing(other)
}

// rollRank is the order in which outdated members are restarted.
func rollRank(o facts.Incarnation, r facts.Replica) int {
	switch {
	case !r.IsHealthy(o.Membership):
		return 0
	case r.Pod.HeldUnready:
		return 1 // as long as Kubernetes does not call it ready, the budget lets no other one be stopped
	case r.Member.ID == o.Membership.Leader:
		return 4
	case isBehindVolume(r):
		return 2 // begun already
	}
	return 3
}

// isOutdated reports whether a recorded member runs, or will run, with other settings than the spec asks for. A stop of
// a doomed one would be its end. One that does not say what it was made from is not restarted for that, but for the
// version that it answers with.
func isOutdated(o facts.Observation, r facts.Replica) bool {
	if r.Pod == nil || !r.Pod.Running || r.Pod.Terminating || !r.IsSealed() || r.IsDoomed() {
		return false
	}
	if r.Pod.Settings.IsZero() {
		return answersOther(r, o.Desired.Settings.Version)
	}
	return r.Settings() != o.Desired.Settings || isBehindVolume(r)
}

// isBehindVolume reports a Pod that was made from other settings than its volume says by now.
func isBehindVolume(r facts.Replica) bool { return r.Pod.Settings != r.Settings() }

// isWell reports whether a voter can be relied on while another one is away: it serves, on data that stays.
func isWell(o facts.Incarnation, r facts.Replica) bool { return !r.IsDoomed() && o.IsServing(r) }

// beingSucceeded is the ephemeral voter that a successor with the settings of the spec is to follow, or an empty
// replica. Its data goes with its Pod, so it stays until the successor votes.
func beingSucceeded(o judge.View) facts.Replica {
	if !o.Desired.Ephemeral || len(o.Voters()) <= o.Desired.Size && otherVersion(o) != nil {
		return facts.Replica{}
	}
	return rollTarget(o)
}

// isSucceeding reports whether a successor is on its way or there: what was begun is gone on with.
func isSucceeding(o judge.View) bool {
	return o.Desired.Ephemeral && (len(o.Learners()) > 0 || len(o.Voters()) > o.Desired.Size)
}
