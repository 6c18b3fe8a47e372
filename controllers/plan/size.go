package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// shrink removes one voter: it hands over leadership, loses its clients, then its vote.
func shrink(o view) *proposal {
	r, isTooMany := o.victim()
	if !isTooMany {
		return nil
	}
	if r.Member.ID == o.Membership.Leader {
		return o.handOver(r, o.HealthyVoters(), ReasonMoveLeader, "will be removed")
	}
	if r.Pod != nil && r.Pod.Role != "" && !r.Pod.Terminating {
		return act(LabelRole{Pod: r.podRef()}, ReasonShrink, "%s will be removed; clients are led elsewhere first.", r.Name)
	}
	return act(RemoveMember{Name: r.Name, ID: r.Member.ID}, ReasonShrink, "%s is removed: the spec asks for %d members, there are %d.",
		r.Name, o.Desired.Size, len(o.Voters()))
}

// handOver moves leadership away from a member that is about to stop, to one of these.
func (o view) handOver(r Replica, heirs []Replica, reason, why string) *proposal {
	heir := o.heir(r.Name, heirs)
	if heir.Member == nil {
		return wait(reason, "%s leads and %s; no other voter is healthy enough to take over.", r.Name, why).due(o, lastPodChange(o), startDeadline)
	}
	return act(MoveLeader{From: r.Name, To: heir.Name, FromID: r.Member.ID, ToID: heir.Member.ID}, ReasonMoveLeader,
		"%s leads and %s; %s takes over first.", r.Name, why, heir.Name)
}

// victim is the voter that goes next when there are more than the size asks for: an unhealthy or doomed one first,
// then one that already lost its label, then one that was succeeded, then the highest ordinal. Nobody goes before so many
// are there that will last.
func (o view) victim() (Replica, bool) {
	voters := o.Voters()
	if len(voters) <= o.Desired.Size || len(o.lastingVoters()) < o.Desired.Size {
		return Replica{}, false
	}
	succeeded := o.succeeded().Name
	return slices.MinFunc(voters, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(o.leavingRank(a, succeeded), o.leavingRank(b, succeeded)), cmp.Compare(b.Ordinal, a.Ordinal))
	}), true
}

// isUnlabelled reports a member that clients are not led to, although they could be.
func (r Replica) isUnlabelled() bool { return r.IsSealed() && r.Pod.Role == "" }

// leavingRank is the order in which voters go. While one is being succeeded, another that is away for a moment is no reason, nor is
// a label that was taken for it.
func (o Incarnation) leavingRank(r Replica, succeeded string) int {
	switch {
	case r.isDoomed() || !r.IsHealthy(o.Membership) && (succeeded == "" || r.Pod == nil || !r.Pod.Ready):
		return 0
	case r.isUnlabelled() && (succeeded == "" || r.Name == succeeded):
		return 1
	case r.Name == succeeded:
		return 2
	}
	return 3
}

// heir is the one with the most applied, other than the one that goes; rather one that need not be restarted soon.
func (o view) heir(leaving string, heirs []Replica) Replica {
	succeeded := o.succeeded().Name
	candidates := filter(heirs, func(r Replica) bool { return r.Name != leaving && r.Name != succeeded && !r.isDoomed() })
	if len(candidates) == 0 {
		return Replica{}
	}
	return slices.MinFunc(candidates, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(o.staleness(a), o.staleness(b)), cmp.Compare(b.Answer.Applied, a.Answer.Applied), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

func (o Observation) staleness(r Replica) int {
	if r.Choices() != o.Desired.Choices {
		return 1
	}
	return 0
}

// wantsGrowth reports whether a member is to be added.
func (o view) wantsGrowth() bool {
	return len(o.Learners()) == 0 && len(o.lastingVoters()) < o.Desired.Size
}

// lastingVoters are the voters that are to stay. A doomed one, and one that is to be succeeded, serves and counts for the
// quorum, but its successor joins before it goes; one that lost its data is as good as gone.
func (o view) lastingVoters() []Replica {
	succeeded := o.succeeded().Name
	return filter(o.Voters(), func(r Replica) bool { return o.isLasting(r) && r.Name != succeeded })
}

// isLasting reports data that is there, and stays.
func (o view) isLasting(r Replica) bool {
	state := o.Judge(r).State
	return state != Doomed && state != Lost
}

// promise is the name that was promised to the member to be added, or "". The birth record names it, so that a volume of any other
// name that no member is recorded on is a leftover. It stays promised until it is kept or the size asks for none: what is refused
// uses up no names.
func (o view) promise() string {
	r := o.Find(o.Birth.Promised)
	if o.Birth.Promised == "" || !o.wantsGrowth() || r.Member != nil || r.Pod != nil || r.IsRecorded() {
		return ""
	}
	if v := r.Volume; v != nil && (v.Terminating || v.Phase == VolumeLost || v.Incarnation != o.Birth.Incarnation) {
		return ""
	}
	return o.Birth.Promised
}

// isPrepared reports whether the member of a promised name has all that it needs to be added.
func (o view) isPrepared(name string) bool {
	r := o.Find(name)
	return (o.Desired.Ephemeral || r.Volume != nil) && (!o.Desired.TLS || r.Secret.State == ObjectCurrent)
}

// grow makes the volume that promises the name, then adds the learner. Its Pod is the next pass's business. A member is
// added for a size that was raised, for one that was removed, and beside a voter that is doomed or to be succeeded.
func grow(o view) *proposal {
	if !o.wantsGrowth() {
		return nil
	}
	if sick := o.sickVoter(); sick.Member != nil && len(o.HealthyVoters()) < etcdutil.Quorum(len(o.Voters())+1) {
		return wait(ReasonNotReady, "A member will be added once %s is healthy.", sick.Name).due(o, podChange(sick.Pod), startDeadline).yielding()
	}
	name := o.promise()
	if name != "" && o.isPrepared(name) {
		return act(AddLearner{Name: name}, ReasonGrow, "%s is added as a learner: %s.", name, o.whyGrow())
	}
	if o.lostAuthority() != "" {
		return nil // nobody new can be trusted: scaffold says so
	}
	volume := NewVolume{Name: cmp.Or(name, etcdutil.MemberName(o.Cluster.Name, o.nextOrdinal()))}
	if !o.Desired.Ephemeral {
		volume.Bytes, volume.Choices = o.memberBytes(), o.memberChoices()
	}
	return act(PrepareMember{Volume: volume, Secret: o.Desired.TLS}, ReasonGrow, "A member %s will be added; what it needs is made.", volume.Name)
}

// whyGrow says what a new member is for.
func (o view) whyGrow() string {
	voters, lasting := o.Voters(), o.lastingVoters()
	if len(voters) < o.Desired.Size {
		return fmt.Sprintf("the spec asks for %d members, there are %d", o.Desired.Size, len(voters))
	}
	leaving := filter(voters, func(r Replica) bool { return !slices.Contains(names(lasting), r.Name) })
	return "it will take the place of " + strings.Join(names(leaving), " or ")
}

// sickVoter is a voter that is not healthy, or an empty replica. etcd refuses additions while fewer are than a quorum with the
// new one.
func (o Incarnation) sickVoter() Replica {
	for _, r := range o.Voters() {
		if !r.IsHealthy(o.Membership) {
			return r
		}
	}
	return Replica{}
}

// nextOrdinal is one above the highest ordinal that was ever promised, or of which any trace is left.
func (o view) nextOrdinal() int {
	highest := o.Birth.NextOrdinal - 1
	for _, r := range o.everyReplica() {
		highest = max(highest, r.Ordinal)
	}
	for _, m := range o.Membership.LastKnown {
		if name, ok := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace); ok {
			highest = max(highest, o.ordinalOf(name))
		}
	}
	for _, v := range o.Kept {
		highest = max(highest, v.Ordinal)
	}
	for _, name := range slices.Concat(o.Birth.Names, o.Birth.Next.Names) {
		if ordinal, ok := etcdutil.Ordinal(o.Cluster.Name, name); ok {
			highest = max(highest, ordinal)
		}
	}
	return highest + 1
}

// memberChoices are the choices that a new member is made from: those of the spec once a member serves with them, and those
// of the members that there are until then, so that a change which does not work keeps nobody from being replaced. A
// successor of an ephemeral member is the first to try the new ones.
func (o view) memberChoices() Choices {
	if len(o.Voters()) >= o.Desired.Size && o.succeeded().Member != nil {
		return o.Desired.Choices
	}
	known := filter(o.Voters(), func(r Replica) bool { return r.IsRecorded() && !r.runsWith().IsZero() })
	serving := filter(known, func(r Replica) bool { return r.IsHealthy(o.Membership) })
	for _, r := range serving {
		if c := r.runsWith(); c == o.Desired.Choices && o.isWell(r) {
			return c
		}
	}
	if all := append(serving, known...); len(all) > 0 { // where nobody serves, as well one's as another's
		return all[0].runsWith()
	}
	return o.Desired.Choices
}

// memberBytes is the size of members' volumes: the largest that there is.
func (o view) memberBytes() int64 {
	var largest int64
	for _, r := range o.Voters() {
		if r.Volume != nil {
			largest = max(largest, r.Volume.Bytes)
		}
	}
	return cmp.Or(largest, o.Desired.StorageBytes)
}
