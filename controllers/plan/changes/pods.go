package changes

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Start says how a Pod is to be started.
type Start struct {
	Name     string
	Flags    facts.Flags
	Initial  []etcdutil.NamedURL // for FlagsBootstrap and FlagsJoin: the list to start with
	Settings facts.Settings
	Role     string   // the role label it is bootstrapped with; only for sealed Pods
	Leaving  []string // for FlagsJoin: members that leave once it votes; by default it may go where they are
}

// StartPods creates members' Pods on the data they have, or the first Pod of a learner.
type StartPods struct{ Pods []Start }

func (StartPods) traits() Traits { return Traits{} }

func (c StartPods) words() Words {
	members := names(c.Pods, func(s Start) string { return s.Name })
	return says("Start", "starts", "Started", "the Pod", EventPodStarted).of(members)
}

func (c StartPods) veto(o facts.View) Veto {
	return cmp.Or(guardFence(o), first(c.Pods, func(s Start) Veto { return guardStart(o, s) }))
}

// guardStart keeps a member ID from ever starting on an empty or foreign disk.
func guardStart(o facts.View, s Start) Veto {
	r := o.Find(s.Name)
	if why := guardWhole(r); why.Holds() {
		return why
	}
	switch s.Flags {
	case facts.FlagsSealed:
		return cmp.Or(guardRead(o.Incarnation, r), guardKeptDown(o, r), guardSealed(o, r, s), guardTransport(o, r, s))
	case facts.FlagsBootstrap:
		if !mayBeBootstrapped(o, r) || !o.Bootstrap.Origin.IsZero() || r.IsRestored() {
			return identityAtRisk("%s is not a first member that has yet to start empty.", s.Name)
		}
	case facts.FlagsJoin:
		if r.IsRecorded() || !o.Membership.Known || !r.IsLearner() {
			return identityAtRisk("%s is not a learner that has yet to start.", s.Name)
		}
		return cmp.Or(guardUncovered(o, r, s.Settings.Version), guardTransport(o, r, s))
	case facts.FlagsNone, facts.FlagsComparing:
		return identityAtRisk("%s has no flags to start with.", s.Name)
	}
	return Veto{}
}

// guardWhole starts no member on one half of its volume. Beside data whose write-ahead log is gone etcd begins an empty
// one, and forgets what the member promised its peers.
func guardWhole(r facts.Replica) Veto {
	if r.Volume != nil && r.Volume.Torn != "" {
		return dataAtRisk("of the volume of %s one half is lost: %s.", r.Name, r.Volume.Torn)
	}
	return Veto{}
}

// guardSealed lets a member start only from data that is recorded as its own, or was restored for it.
func guardSealed(o facts.View, r facts.Replica, s Start) Veto {
	isFirst := startsFirst(o, r)
	why := o.WhyNotStart(r, s.Settings)
	if isFirst {
		why = whyNotRestored(o.Incarnation, r, s.Settings.Version)
	}
	switch {
	case s.Flags != facts.FlagsSealed || !isFirst && !o.MayRestart(r):
		return identityAtRisk("%s has no recorded data of this cluster to start from.", s.Name)
	case why != "":
		return dataAtRisk("etcd %s must not start on the data of %s: %s.", s.Settings.Version, s.Name, why)
	}
	return Veto{}
}

// startsFirst reports whether the member has never been seen on what was restored for it.
func startsFirst(o facts.View, r facts.Replica) bool {
	isOfThisIncarnation := r.IsRestored() && r.Volume.Incarnation == o.Bootstrap.Incarnation && !o.Bootstrap.Void
	return isOfThisIncarnation && !r.IsRecorded() && (mayBeBootstrapped(o, r) || !o.IsAlive())
}

// mayBeBootstrapped reports whether a cluster that lives still expects this first member: it is listed, or was
// interrupted.
func mayBeBootstrapped(o facts.View, r facts.Replica) bool {
	if r.IsRecorded() || !o.IsFilled(r) {
		return false
	}
	isListed := o.Membership.Known && r.Member != nil && slices.Contains(o.Bootstrap.Names, r.Name) &&
		!o.HasLostVolume(r)
	return isListed || o.MayRebirth(r)
}

// guardRead starts no member on a volume that a restore Pod reads.
func guardRead(o facts.Incarnation, r facts.Replica) Veto {
	if o.IsFlushed(r) {
		return dataAtRisk("the volume of %s is being read.", r.Name)
	}
	return Veto{}
}

// DressPods puts the labels and annotations that the spec asks for on Pods, in place.
type DressPods struct{ Pods []facts.PodRef }

func (DressPods) traits() Traits {
	return Traits{Unconfirmed: "no process is stopped for labels and annotations"}
}

func (c DressPods) words() Words {
	return says("Label", "labels", "Labelled", "the Pod", EventRecorded).of(podNames(c.Pods))
}

func (DressPods) veto(facts.View) Veto { return Veto{} }

// RestoreInputs writes on a Pod again what it was made from, where somebody took that off.
type RestoreInputs struct {
	Pod      facts.PodRef
	Settings facts.Settings
}

func (RestoreInputs) traits() Traits {
	return Traits{Unconfirmed: "it is written only where nothing is"}
}

func (c RestoreInputs) words() Words {
	return says("Write", "writes", "Wrote", "the settings of Pod "+c.Pod.Name+" on it", EventRecorded).about(c.Pod.Name)
}

func (RestoreInputs) veto(facts.View) Veto { return Veto{} }

// ResizePod gives a Pod that runs the CPU and memory of these settings, and writes on it that it was made from
// them. All else of them it was made from already.
type ResizePod struct {
	Pod      facts.PodRef
	Settings facts.Settings
}

func (ResizePod) traits() Traits { return Traits{} }

func (c ResizePod) words() Words {
	return says("Resize", "resizes", "Resized", "the Pod of "+c.Pod.Name, EventPodResized).about(c.Pod.Name)
}

// veto lets a process go on with other amounts. It may end for want of memory, so the others are a quorum.
func (c ResizePod) veto(o facts.View) Veto {
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return identityAtRisk("the Pod %s is another one by now.", c.Pod.Name)
	case !c.Settings.IsLike(r.Pod.Settings):
		return quorumAtRisk("the Pod %s was made from other settings, which a process that runs cannot take.", r.Name)
	case r.IsOverMemory(c.Settings):
		return quorumAtRisk("the database of %s has no room in that much memory.", r.Name)
	case len(o.Voters()) > 1 && r.IsVoter():
		return guardOthers(o, r)
	}
	return Veto{}
}

// EvictPod stops a member on purpose, within the disruption budget, once Kubernetes would admit its successor.
type EvictPod struct {
	Pod       facts.PodRef
	Successor Start
	// the budget would refuse it, for Pods that Kubernetes does not call ready although etcd in them is: the Pod is
	// deleted, and the guard alone says whether the members can spare it
	PastBudget bool
	Fences     bool // no Pod follows: a person wants the member stopped
}

func (EvictPod) traits() Traits { return Traits{} }

func (c EvictPod) words() Words {
	return says("Evict", "evicts", "Evicted", "the Pod of "+c.Pod.Name, EventPodEvicted).about(c.Pod.Name)
}

// veto lets a member be stopped on purpose only on data that outlives its Pod, and only while the others are a
// quorum.
func (c EvictPod) veto(o facts.View) Veto {
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return identityAtRisk("the Pod %s is another one by now.", c.Pod.Name)
	case r.Ephemeral || r.IsDoomed():
		return dataAtRisk("the data of %s would be lost with its Pod.", r.Name)
	case !r.IsSealed() || !o.MayRestart(r):
		return identityAtRisk("%s has no recorded data of this cluster to start from.", r.Name)
	case whyStay(o, r).Holds():
		return whyStay(o, r)
	case guardBusy(o, r).Holds():
		return guardBusy(o, r)
	case c.Fences && guardFencing(o, r).Holds():
		return guardFencing(o, r)
	case !c.Fences && guardTransport(o, r, c.Successor).Holds():
		return guardTransport(o, r, c.Successor)
	case !c.Fences && !r.Pod.Transport.HasCertificates() && c.Successor.Settings.Transport.HasCertificates() &&
		r.Secret.State == facts.ObjectAbsent:
		return quorumAtRisk("%s is to start with certificates, and there are none for it yet.", r.Name)
	case !o.Membership.Known && !(o.IsAlone(r) && !guardStop(o, r).Holds()):
		return quorumAtRisk("the member list is not known.")
	}
	return guardVotes(o, r)
}

// guardFencing stops a member for a person only while all other voters serve on data that stays, and are a quorum.
func guardFencing(o facts.View, r facts.Replica) Veto {
	voters := o.Voters()
	others := facts.Filter(voters, func(other facts.Replica) bool {
		return other.Name != r.Name && !other.IsDoomed() && o.IsServing(other)
	})
	switch {
	case !o.IsFenced(r):
		return quorumAtRisk("no person asks for %s to be stopped.", r.Name)
	case len(others) < len(voters)-1 || len(others) < etcdutil.Quorum(len(voters)):
		return quorumAtRisk("beside %s only %d of %d voters serve.", r.Name, len(others), len(voters))
	}
	return Veto{}
}

// guardKeptDown starts nothing on a volume that a person has, and that the others can do without.
func guardKeptDown(o facts.View, r facts.Replica) Veto {
	if o.IsKeptDown(r) {
		return dataAtRisk("a person fenced %s and may have its volume, and the others are a quorum.", r.Name)
	}
	return Veto{}
}

// whyStay says why a member should not be stopped, or "": copies differ, or it could not start again.
func whyStay(o facts.View, r facts.Replica) Veto {
	if veto := guardCopies(o, r.Name); veto.Holds() {
		return veto
	}
	if !r.Settings().IsZero() && o.WhyNotStart(r, r.Settings()) != "" {
		return dataAtRisk("%s could not start again: %s.", r.Name, o.WhyNotStart(r, r.Settings()))
	}
	return Veto{}
}

// guardVotes asks whether the cluster can do without a member for a while. The only one of a cluster of one is away for
// as long as it takes, whatever is done.
func guardVotes(o facts.View, r facts.Replica) Veto {
	voters := o.Voters()
	if len(voters) == 1 || !r.IsVoter() {
		return Veto{}
	}
	if r.Member.ID == o.Membership.Leader {
		return quorumAtRisk("%s leads; it must hand over first.", r.Name)
	}
	return guardOthers(o, r)
}

// guardOthers asks whether the voters are a quorum without a member.
func guardOthers(o facts.View, r facts.Replica) Veto {
	voters := o.Voters()
	others := facts.Filter(o.HealthyVoters(), func(other facts.Replica) bool { return other.Name != r.Name })
	if len(others) < etcdutil.Quorum(len(voters)) {
		return quorumAtRisk("without %s only %d healthy of %d voters would serve, which is no quorum.", r.Name,
			len(others), len(voters))
	}
	return Veto{}
}

// DeletePods deletes Pods that ended, never started, or belong to no member.
type DeletePods struct{ Pods []facts.PodRef }

func (DeletePods) traits() Traits { return Traits{} }

func (c DeletePods) words() Words {
	return says("Delete", "deletes", "Deleted", "the Pod", EventPodDeleted).of(podNames(c.Pods))
}

func (c DeletePods) veto(o facts.View) Veto {
	return first(c.Pods, func(ref facts.PodRef) Veto { return guardDeletePod(o, ref) })
}

// guardDeletePod lets a Pod go whose process does nothing for the cluster, and keeps every Pod that holds the only
// data.
func guardDeletePod(o facts.View, ref facts.PodRef) Veto {
	if r, isFormer := facts.Find(o.FormerMembers(), ref.Name); isFormer {
		return guardFormerPod(o, r, ref)
	}
	r := o.Find(ref.Name)
	if r.Pod == nil || r.Pod.UID != ref.UID {
		return identityAtRisk("the Pod %s is another one by now.", ref.Name)
	}
	switch {
	case isNobodys(o.Incarnation, r):
		return Veto{}
	case r.Pod.Running && !mayStopSurvivor(o, r) && guardStop(o, r).Holds():
		return guardStop(o, r)
	case r.Ephemeral && r.IsRecorded():
		return dataAtRisk("the Pod %s holds the data of a member.", ref.Name)
	case r.IsDoomed():
		return dataAtRisk("the volume of %s is being deleted and lives only as long as its Pod.", ref.Name)
	}
	return Veto{}
}

// guardFormerPod stops the members of a former incarnation, once its volumes say so.
func guardFormerPod(o facts.View, r facts.Replica, ref facts.PodRef) Veto {
	switch {
	case r.Pod == nil || r.Pod.UID != ref.UID:
		return identityAtRisk("the Pod %s is another one by now.", ref.Name)
	case r.Pod.Incarnation == o.Bootstrap.Incarnation:
		return incarnationAtRisk("the Pod %s is of the current incarnation.", ref.Name)
	}
	return guardSwitched(o, ref.Name)
}

// isNobodys reports a Pod of a bootstrap that was given up, or of a member that is none any more.
func isNobodys(o facts.Incarnation, r facts.Replica) bool {
	return isVoided(o, r.Pod.Incarnation) || isOtherIncarnation(o, r.Pod.Incarnation) || o.Membership.Known &&
		r.Member == nil
}

// guardStop says why a process that runs may not be stopped before etcd was asked, or "". It may only where it never
// served by its kubelet's word and no other does, or where nothing is left of any other member; and its data must
// outlive it.
func guardStop(o facts.View, r facts.Replica) Veto {
	if o.Membership.Known || !r.HadItsTime(o.Now) || r.IsRecorded() && !o.MayRestart(r) {
		return quorumAtRisk("etcd of %s runs.", r.Name)
	}
	isSpare := !o.IsAlive() && o.IsFirstToSpare(r)
	if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady() && !o.IsAnyReady()) {
		return Veto{}
	}
	return quorumAtRisk("etcd of %s runs, and may serve.", r.Name)
}

// mayStopSurvivor reports a member that is to be read on its volume, as somebody approved, and that can serve nobody.
func mayStopSurvivor(o facts.View, r facts.Replica) bool {
	_, isApproved := o.ApprovedNow(o.Bootstrap.Next.Restore)
	return isApproved && o.IsFlushed(r) && o.IsQuorumGone() && r.HasLastingData() && r.Answer == nil
}
