package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The Pod that each member should have: from which settings it is made, whether the one that it has is made anew, and
// how it starts. What may be stopped for that is in blind.go.

// keepSettings keeps on every volume the settings that its member's Pod should be made from. Putting a spec right
// always recovers: a member that does not run, or never answers, takes the settings of the spec.
func keepSettings(o pass) *proposal {
	var takers []facts.Replica
	for _, r := range o.Members {
		if p := cmp.Or(writtenBack(o, r), madeLikeOthers(o, r), leftInPlace(o, r)); p != nil {
			return p
		}
		if r.Volume != nil && !r.Volume.Terminating && r.Volume.Settings != o.Desired.Settings && takesSpec(o, r) {
			takers = append(takers, r)
		}
	}
	if len(takers) == 0 {
		return nil
	}
	if o.IsAlive() {
		takers = takers[:1] // what is not known to work is tried on one member
	}
	c := changes.WriteSettings{Settings: o.Desired.Settings, Rehearse: takers[0].IsRunning()}
	for _, r := range takers {
		c.Volumes = append(c.Volumes, r.VolumeRef())
	}
	return act(c, "etcd cannot serve with those that stand there. These are of the spec.")
}

// madeLikeOthers gives a learner that cannot run the settings of a new member, while those of the spec are of another
// minor: it has no data yet, and joins first.
func madeLikeOthers(o pass, r facts.Replica) *proposal {
	isStuck := o.IsAlive() && r.IsLearner() && !r.IsRecorded() && r.Volume != nil && !r.Volume.Terminating &&
		r.Pod != nil && r.CannotRun()
	if !isStuck || r.Settings().Version.SameMinor(o.Desired.Settings.Version) {
		return nil
	}
	settings := o.due.Settings
	if settings == r.Settings() {
		return nil
	}
	return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: settings},
		"the member cannot start with those that stand there. These are of the other members.")
}

// writtenBack copies the settings between a member's Pod and its volume, where one of them does not say them any more,
// or a first member started before it could be made anew.
func writtenBack(o pass, r facts.Replica) *proposal {
	hasVolume := r.Volume != nil && !r.Volume.Terminating
	switch {
	case !r.IsUp() || r.Pod.HasEnded():
		return nil
	case r.Pod.Settings.IsZero():
		if o.Membership.Known || !isUnresponsive(o.Observation, r) {
			return nil // see podMetadata
		}
		return toldAgain(o, r)
	case hasVolume && (r.Volume.Settings.IsZero() || startedBefore(o, r)):
		return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: r.Pod.Settings},
			"it does not say what its Pod was made from.")
	}
	return nil
}

// startedBefore reports a first member that runs with other settings than its volume was given meanwhile.
func startedBefore(o pass, r facts.Replica) bool {
	return !o.IsAlive() && r.Pod.Running && r.Volume.Settings != r.Pod.Settings && !mayStopFirst(o, r)
}

// toldAgain tells a sealed Pod what it was made from: a roll would never find it otherwise. Where nothing fits, the
// roll finds it by the version that it answers with. While a CA is replaced, or the mode of TLS changes, it is
// restarted: nothing says what it read.
func toldAgain(o pass, r facts.Replica) *proposal {
	settings := likelySettings(o, r)
	if !r.Pod.Settings.IsZero() || !r.IsSealed() || settings.IsZero() || o.IsRollingCA() || o.IsTurningTLS() {
		return nil
	}
	return act(changes.RestoreInputs{Pod: r.PodRef(), Settings: settings},
		"it no longer says what it was made from.")
}

// likelySettings are what a Pod was made from that does not say so: what its volume asks for; else what other members
// run with, or what the spec asks for. It was made from nothing of another version than it answers with.
func likelySettings(o pass, r facts.Replica) facts.Settings {
	candidates := []facts.Settings{r.Settings()}
	if o.Membership.Known {
		for _, other := range o.Voters() {
			candidates = append(candidates, other.Settings())
		}
		candidates = append(candidates, o.Desired.Settings)
	}
	for _, c := range candidates {
		if !c.IsZero() && !answersOther(r, c.Version) {
			return c
		}
	}
	return facts.Settings{}
}

// answersOther reports a member that answers, with another version than this.
func answersOther(r facts.Replica, v etcdutil.Version) bool {
	return r.Answer != nil && !r.Answer.Version.IsZero() && r.Answer.Version != v
}

// takesSpec reports a member whose Pod should be made from the settings of the spec now, without waiting for a roll.
func takesSpec(o pass, r facts.Replica) bool {
	switch {
	case !o.IsAlive():
		return r.IsUp() && (mayStopFirst(o, r) || !r.Pod.Running && mayTake(o, o.Desired.Settings))
	case r.Pod == nil:
		return (isRefused(o, r) || mayNotStart(o, r)) && mayAdopt(o, r)
	case r.CannotRun():
		return mayAdopt(o, r)
	}
	return !isMisplaced(o, r) && mayStopBlind(o, r)
}

// mayNotStart reports a member whose volume asks for a version that cannot start on its data any more, as when the
// cluster version moved meanwhile.
func mayNotStart(o pass, r facts.Replica) bool {
	return r.IsRecorded() && !r.Settings().IsZero() && o.WhyNotOnData(r, r.Settings().Version) != ""
}

// isRefused reports whether Kubernetes refused to make the member's Pod in this pass.
func isRefused(o pass, r facts.Replica) bool {
	return isRejected(o.Observation, "pods") && o.MayRestart(r) || isRejected(o.Observation, "first-pod") &&
		r.Member != nil && !r.IsRecorded()
}

// isRejected reports whether Kubernetes refused the rule's change in this pass, and will do so again. What it accepted,
// to no effect, is no reason to take other settings.
func isRejected(o facts.Observation, rule string) bool {
	return slices.ContainsFunc(o.Refused, func(n facts.Note) bool {
		return n.Rule == rule &&
			n.Reason != facts.ReasonNoEffect
	})
}

// mayAdopt reports whether a member that does not run may take the settings of the spec: only with a version that may
// start on its data, and not where others serve with the ones it has while no member does with those of the spec. What
// is not known to work is tried on one member at a time, and what works is not given up for it.
func mayAdopt(o pass, r facts.Replica) bool {
	current := r.Settings()
	if current == o.Desired.Settings || isMisplaced(o, r) || !mayTakeSpec(o, r) {
		return false
	}
	isGiven := slices.ContainsFunc(o.Members, func(other facts.Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Settings() == o.Desired.Settings
	})
	return !isGiven || o.IsServedWith(o.Desired.Settings) || !o.IsServedWith(current)
}

// mayTakeSpec reports whether the settings of the spec suit a member's data, that of the others, and how they dial it.
func mayTakeSpec(o pass, r facts.Replica) bool {
	isCrowded := len(o.Crowded(o.Desired.Settings)) > 0
	return o.Desired.Fault == "" && !isCrowded && mayTakeVersion(o, r, o.Desired.Settings.Version) &&
		o.WhyNotUnlisted(r, o.Desired.Settings.Transport) == ""
}

// mayTakeVersion reports whether a member may be made from this version although it does not run: etcd starts on its
// data, and a minor that was not begun is tried only while all others serve. So putting spec.version back heals one
// that never came up.
func mayTakeVersion(o pass, r facts.Replica, version etcdutil.Version) bool {
	switch {
	case !r.IsRecorded():
		return r.Settings().Version.SameMinor(version)
	case o.Desired.NoWay != "" || o.WhyNotOnData(r, version) != "":
		return false
	case o.HasBegun(r, version):
		return true
	}
	return o.Membership.Known && !slices.ContainsFunc(o.Voters(), func(other facts.Replica) bool {
		return other.Name != r.Name && !other.IsHealthy(o.Membership)
	})
}

// pods makes a Pod anew that is not what its member should have, where that may be done without asking etcd, and starts
// those that are missing. What can be asked for first is restarted by the rule roll.
func pods(o pass) *proposal {
	c, says := changes.DeletePods{}, []string(nil)
	for _, r := range o.Members {
		why := whyUnfit(o, r)
		if why == "" || !mayStopUnasked(o, r) {
			continue
		}
		if r.Pod.Running && r.Pod.Ready && o.IsAlive() {
			isForDrains := o.Budget.MinAvailable == 1 // that of an only voter
			return act(changes.EvictPod{Pod: r.PodRef(), Successor: restartOf(r), PastBudget: isForDrains},
				"it runs and does not answer. It is started anew with the settings of the spec.")
		}
		c.Pods, says = append(c.Pods, r.PodRef()), append(says, r.Name+" "+why)
		if r.Pod.Running && o.IsAlive() {
			break // one at a time
		}
	}
	if len(c.Pods) > 0 {
		return act(c, "%s. A new Pod follows.", strings.Join(says, "; "))
	}
	return missingPods(o)
}

// whyUnfit says why a member's Pod should be made anew, or "".
func whyUnfit(o pass, r facts.Replica) string {
	isKept := r.Volume != nil && !r.Volume.Terminating || r.Volume == nil && !o.IsAlive()
	switch {
	case !r.IsUp():
	case isStripped(r):
		return "lost the flags of its first start"
	case !isKept: // its data goes with its Pod
	case r.Pod.HasEnded():
		return "ended"
	default:
		return whyOutOfDate(o, r)
	}
	return ""
}

// whyOutOfDate says why a Pod would be another one now, or "".
func whyOutOfDate(o pass, r facts.Replica) string {
	switch isOld := isOutOfDate(o, r); {
	case isOld && r.Pod.Running:
		return "does not answer, and was made from other settings than it should have"
	case isOld:
		return "was made from other settings than it should have"
	case r.Pod.OtherImage:
		return "waits for an image that it would no longer be made from"
	}
	return ""
}

// isOutOfDate reports a Pod that was made from other settings than its volume says; without a volume, than the spec
// asks for.
func isOutOfDate(o pass, r facts.Replica) bool {
	if r.Volume == nil {
		return r.Pod.Settings != o.Desired.Settings && takesSpec(o, r)
	}
	return r.Pod.Settings != r.Settings() && (!r.Pod.Running || r.Settings() == o.Desired.Settings)
}

// missingPods starts the Pods of recorded members on their own volumes, sealed. A member known to be removed is no
// member. First members that were interrupted before enough of them were recorded start as they were bootstrapped.
func missingPods(o pass) *proposal {
	var starts []changes.Start
	for _, r := range o.Members {
		if start, may := startOf(o, r); may && (r.IsRecorded() || !o.Membership.Known) {
			starts = append(starts, start)
		}
	}
	if len(starts) == 0 {
		return nil
	}
	return act(changes.StartPods{Pods: starts}, "the data is there, and no Pod uses it.%s", despiteFence(o, starts))
}

// firstPod starts the first Pod of a member that is listed and not recorded, with the flags that its first start needs.
func firstPod(o pass) *proposal {
	for _, r := range o.Members {
		if start, may := startOf(o, r); may && !r.IsRecorded() {
			return act(changes.StartPods{Pods: []changes.Start{start}},
				"it joins the cluster.")
		}
	}
	return nil
}

// startOf is how the Pod of a member starts that has none; false where it must not.
func startOf(o pass, r facts.Replica) (changes.Start, bool) {
	if r.Pod != nil || o.IsFlushed(r) || isWithoutCertificates(o.Observation, r) || o.IsKeptDown(r) {
		return changes.Start{}, false
	}
	isListed := r.Member != nil && !r.IsRecorded() && !o.Judge(r).IsLost()
	switch {
	case o.MayRestart(r):
		start := changes.Start{Name: r.Name, Flags: facts.FlagsSealed, Settings: startSettings(o, r),
			Role: roleAtStart(o, r)}
		return start, o.WhyNotStart(r, start.Settings) == ""
	case isListed && r.IsLearner():
		return changes.Start{Name: r.Name, Flags: facts.FlagsJoin, Initial: liveList(o.Incarnation),
			Settings: startSettings(o, r), Leaving: o.due.leavingBeside(o)}, true
	case isListed || o.MayRebirth(r):
		return bootstrapStart(o, r), true
	}
	return changes.Start{}, false
}

// startSettings are what a member's next Pod is made from: what its volume asks for, or else what new members get.
func startSettings(o pass, r facts.Replica) facts.Settings {
	if c := r.Settings(); !c.IsZero() {
		return c
	}
	return o.due.Settings
}

// liveList is the list as it is now, which the flags of a joining member must match in count and URLs.
func liveList(o facts.Incarnation) []etcdutil.NamedURL {
	var out []etcdutil.NamedURL
	for _, r := range o.Members {
		if r.Member != nil {
			out = append(out, etcdutil.NamedURL{Name: r.Name, URL: facts.FirstURL(*r.Member)})
		}
	}
	return out
}

// isStripped reports a Pod that can never start because its annotations are gone, that no seal can be put back on, and
// whose volume outlives it.
func isStripped(r facts.Replica) bool {
	return r.HasNoProcess() && r.Pod.Flags == facts.FlagsNone && !r.IsRecorded() && !r.IsDoomed()
}
