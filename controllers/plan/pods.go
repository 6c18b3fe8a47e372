package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The Pod that each member should have: from which settings it is made, whether the one that it has is made anew, and how it starts.
// What may be stopped for that is in stopping.go.

// settings keeps on every volume the settings that its member's Pod should be made from. Putting a spec right always recovers: a member
// that does not run, or never answers, takes the settings of the spec.
func settings(o view) *proposal {
	var takers []Replica
	for _, r := range o.Members {
		if p := o.writtenBack(r); p != nil {
			return p
		}
		if r.Volume != nil && !r.Volume.Terminating && r.Volume.Choices != o.Desired.Choices && o.takesSpec(r) {
			takers = append(takers, r)
		}
	}
	if len(takers) == 0 {
		return nil
	}
	if o.isAlive() {
		takers = takers[:1] // what is not known to work is tried on one member
	}
	c := SetChoices{Choices: o.Desired.Choices, Rehearse: takers[0].isRunning()}
	for _, r := range takers {
		c.Volumes = append(c.Volumes, r.volumeRef())
	}
	return act(c, ReasonNewChoices, "%s cannot serve with the settings on its volume; it takes those of the spec.", joinNames(takers, func(r Replica) string { return r.Name }))
}

// writtenBack copies the settings between a member's Pod and its volume, where one of them does not say them any more, or a first
// member started before it could be made anew.
func (o view) writtenBack(r Replica) *proposal {
	hasVolume := r.Volume != nil && !r.Volume.Terminating
	switch {
	case !r.isUp() || r.Pod.HasEnded():
		return nil
	case r.Pod.Choices.IsZero():
		if o.Membership.Known || !o.isUnresponsive(r) {
			return nil // see podMetadata
		}
		return o.toldAgain(r)
	case hasVolume && (r.Volume.Choices.IsZero() || o.startedBefore(r)):
		return act(SetChoices{Volumes: []VolumeRef{r.volumeRef()}, Choices: r.Pod.Choices}, ReasonNewChoices,
			"The volume of %s does not say what its Pod is made from; it is written back.", r.Name)
	}
	return nil
}

// startedBefore reports a first member that runs with other settings than its volume was given meanwhile.
func (o view) startedBefore(r Replica) bool {
	return !o.isAlive() && r.Pod.Running && r.Volume.Choices != r.Pod.Choices && !o.mayStopFirst(r)
}

// toldAgain tells a sealed Pod what it was made from: a roll would never find it otherwise.
func (o view) toldAgain(r Replica) *proposal {
	choices := r.Choices()
	if choices.IsZero() && o.Membership.Known {
		choices = o.likelyChoices()
	}
	if choices.IsZero() || !r.IsSealed() {
		return nil
	}
	return act(RestoreInputs{Pod: r.podRef(), Choices: choices}, ReasonPodMetadata, "The Pod of %s no longer says what it was made from; it is written back.", r.Name)
}

// likelyChoices are what a Pod was made from where neither it nor its volume says so: what other members run with.
func (o view) likelyChoices() Choices {
	for _, other := range o.Voters() {
		if c := other.Choices(); !c.IsZero() {
			return c
		}
	}
	return o.Desired.Choices
}

// takesSpec reports a member whose Pod should be made from the settings of the spec now, without waiting for a roll.
func (o view) takesSpec(r Replica) bool {
	switch {
	case !o.isAlive():
		return r.isUp() && (o.mayStopFirst(r) || !r.Pod.Running && mayTake(o, o.Desired.Choices))
	case r.Pod == nil:
		return o.isRefused(r) && o.mayAdopt(r)
	case r.cannotRun():
		return o.mayAdopt(r)
	}
	return o.mayStopBlind(r)
}

// isRefused reports whether Kubernetes refused to make the member's Pod in this pass.
func (o view) isRefused(r Replica) bool {
	return o.isRejected("pods") && o.mayRestart(r) || o.isRejected("first-pod") && r.Member != nil && !r.IsRecorded()
}

// isRejected reports whether Kubernetes refused the rule's change in this pass, and will do so again. What it accepted, to no effect, is
// no reason to take other settings.
func (o Observation) isRejected(rule string) bool {
	return slices.ContainsFunc(o.Refused, func(n Note) bool { return n.Rule == rule && n.Reason != ReasonNoEffect })
}

// mayAdopt reports whether a member that does not run may take the settings of the spec: only within its minor version, and
// not where others serve with the ones it has while no member does with those of the spec. What is not known to work is tried on
// one member at a time, and what works is not given up for it.
func (o view) mayAdopt(r Replica) bool {
	current := r.Choices()
	if o.Desired.Fault != "" || current == o.Desired.Choices || !current.Version.SameMinor(o.Desired.Choices.Version) {
		return false
	}
	isTried := slices.ContainsFunc(o.Members, func(other Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Choices() == o.Desired.Choices
	})
	return !isTried || o.isServedWith(o.Desired.Choices) || !o.isServedWith(current)
}

// isServedWith reports whether a Pod that was made from these choices is ready.
func (o Incarnation) isServedWith(c Choices) bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool { return r.Pod != nil && r.Pod.Choices == c && r.Pod.Running && r.Pod.Ready })
}

// pods makes a Pod anew that is not what its member should have, where that may be done without asking etcd, and starts those
// that are missing. What can be asked for first is restarted by the rule roll.
func pods(o view) *proposal {
	c, says, reason := DeletePods{}, []string(nil), ReasonNewChoices
	for _, r := range o.Members {
		why := o.whyUnfit(r)
		if why == "" || !o.mayStopUnasked(r) {
			continue
		}
		if r.Pod.Running && r.Pod.Ready && o.isAlive() {
			return act(EvictPod{Pod: r.podRef(), Successor: o.restartOf(r)}, ReasonNewChoices, "%s runs and does not answer. It is started anew with the settings of the spec.", r.Name)
		}
		c.Pods, says = append(c.Pods, r.podRef()), append(says, r.Name+" ("+why+")")
		if r.Pod.HasEnded() {
			reason = ReasonPodEnded
		}
		if r.Pod.Running && o.isAlive() {
			break // one at a time
		}
	}
	if len(c.Pods) > 0 {
		return act(c, reason, "Pods are made anew: %s.", strings.Join(says, ", "))
	}
	return o.missingPods()
}

// whyUnfit says why a member's Pod should be made anew, or "".
func (o view) whyUnfit(r Replica) string {
	isKept := r.Volume != nil && !r.Volume.Terminating || r.Volume == nil && !o.isAlive()
	switch {
	case !r.isUp():
	case r.isStripped():
		return "lost the flags of its first start"
	case !isKept: // its data goes with its Pod
	case r.Pod.HasEnded():
		return "ended"
	case o.isOutOfDate(r) && r.Pod.Running:
		return "does not answer, and is started anew with other settings"
	case o.isOutOfDate(r):
		return "made from other settings than it should have"
	}
	return ""
}

// isOutOfDate reports a Pod that was made from other settings than its volume says; without a volume, than the spec asks for.
func (o view) isOutOfDate(r Replica) bool {
	if r.Volume == nil {
		return r.Pod.Choices != o.Desired.Choices && o.takesSpec(r)
	}
	return r.Pod.Choices != r.Choices() && (!r.Pod.Running || r.Choices() == o.Desired.Choices)
}

// restartOf is the Pod that follows one of a recorded member.
func (o Incarnation) restartOf(r Replica) Start {
	return Start{Name: r.Name, Flags: FlagsSealed, Choices: r.Choices(), Role: r.Pod.Role}
}

// missingPods starts the Pods of recorded members on their own volumes, sealed. A member known to be removed is no member. First
// members that were interrupted before enough of them were recorded start as they were born.
func (o view) missingPods() *proposal {
	var starts []Start
	for _, r := range o.Members {
		if start, may := o.startOf(r); may && (r.IsRecorded() || !o.Membership.Known) {
			starts = append(starts, start)
		}
	}
	if len(starts) == 0 {
		return nil
	}
	return act(StartPods{Pods: starts}, ReasonPodMissing, "The Pod of %s is gone and is started again on its volume.", startNames(starts))
}

// firstPod starts the first Pod of a member that is listed and not recorded, with the flags that its first start needs.
func firstPod(o view) *proposal {
	for _, r := range o.Members {
		if start, may := o.startOf(r); may && !r.IsRecorded() {
			return act(StartPods{Pods: []Start{start}}, ReasonJoin, "The Pod of %s is started, to join the cluster.", r.Name)
		}
	}
	return nil
}

// startOf is how the Pod of a member starts that has none; false where it must not.
func (o view) startOf(r Replica) (Start, bool) {
	if r.Pod != nil || o.isFlushed(r) || o.isWithoutCertificates(r) {
		return Start{}, false
	}
	isListed := r.Member != nil && !r.IsRecorded() && !o.Judge(r).IsLost()
	switch {
	case o.mayRestart(r):
		start := Start{Name: r.Name, Flags: FlagsSealed, Choices: o.startChoices(r), Role: roleOf(o, r)}
		return start, start.Choices.Version.SameMinor(r.Record().Version) // else nothing says what wrote its data
	case isListed && r.IsLearner():
		return Start{Name: r.Name, Flags: FlagsJoin, Initial: o.liveList(), Choices: o.startChoices(r)}, true
	case isListed || o.mayRebirth(r):
		return birthStart(o, r), true
	}
	return Start{}, false
}

func (o view) startChoices(r Replica) Choices {
	if c := r.Choices(); !c.IsZero() {
		return c
	}
	return o.memberChoices()
}

// liveList is the list as it is now, which the flags of a joining member must match in count and URLs.
func (o Incarnation) liveList() []etcdutil.NamedURL {
	var out []etcdutil.NamedURL
	for _, r := range o.Members {
		if r.Member != nil {
			out = append(out, etcdutil.NamedURL{Name: r.Name, URL: firstURL(*r.Member)})
		}
	}
	return out
}

// isUsable reports a volume that a Pod can start on.
func (v *Volume) isUsable() bool { return !v.Terminating && v.Phase != VolumeLost && v.Stranded == "" }

// mayRestart reports whether the replica's volume holds a member of this incarnation that is not known to be removed.
func (o Incarnation) mayRestart(r Replica) bool {
	if !r.IsRecorded() || !r.isOnOwnVolume() || !r.Volume.isUsable() {
		return false
	}
	if r.Volume.Incarnation != o.Birth.Incarnation || o.Birth.ClusterID != 0 && r.Volume.Record.ClusterID != o.Birth.ClusterID {
		return false
	}
	return !o.Membership.Known || r.Member != nil && r.Member.ID == r.Volume.Record.MemberID
}

// mayRebirth reports whether the replica is a first member that was interrupted, with the volume it was born on, before a
// quorum of first members was recorded. Until then none was sealed, and no client was ever led to one.
func (o view) mayRebirth(r Replica) bool {
	if o.Membership.Known || o.Birth.ClusterID != 0 || r.IsRecorded() || !slices.Contains(o.Birth.Names, r.Name) || !o.isFilled(r) {
		return false
	}
	return r.Ephemeral || r.Volume != nil && !o.hasLostVolume(r)
}

// cannotRun reports a container that does not run because Kubernetes cannot start it, or because it stops again and again.
func (r Replica) cannotRun() bool {
	return r.hasNoProcess() && (r.cannotStart() || r.Pod.Waiting == "CrashLoopBackOff")
}

// hasNoProcess reports a Pod whose container does not run and that nothing is happening to.
func (r Replica) hasNoProcess() bool { return r.isUp() && !r.Pod.Running && !r.Pod.HasEnded() }

// isRunning reports a container that runs.
func (r Replica) isRunning() bool { return r.Pod != nil && r.Pod.Running }

// isStripped reports a Pod that can never start because its annotations are gone, that no seal can be put back on, and whose
// volume outlives it.
func (r Replica) isStripped() bool {
	return r.hasNoProcess() && r.Pod.Flags == FlagsNone && !r.IsRecorded() && !r.isDoomed()
}

// cannotStart reports that Kubernetes, not etcd, keeps the container from starting.
func (r Replica) cannotStart() bool { return startProblems[r.Pod.Waiting] != "" }
