package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// shrink removes one voter: it hands over leadership, loses its clients, then its vote.
func shrink(o judge.View) *proposal {
	r, isTooMany := nextToLeave(o)
	if !isTooMany {
		return nil
	}
	if r.Member.ID == o.Membership.Leader {
		return handOver(o, r, o.HealthyVoters(), facts.ReasonMoveLeader, "will be removed")
	}
	if r.Pod != nil && r.Pod.Role != "" && !r.Pod.Terminating {
		return act(changes.LabelRole{Pod: r.PodRef()}, facts.ReasonShrink,
			"%s will be removed; clients are led elsewhere first.", r.Name)
	}
	return act(changes.RemoveMember{Name: r.Name, ID: r.Member.ID}, facts.ReasonShrink,
		"%s is removed: %s.", r.Name, whyShrink(o, r))
}

// whyShrink says why a voter goes, as a part of a sentence.
func whyShrink(o judge.View, r facts.Replica) string {
	if r.Name == inTheWay(o).Name {
		return fmt.Sprintf("its volume is being deleted, and only its Pod keeps its successor %s from every node",
			unplaced(o).Name)
	}
	return fmt.Sprintf("the spec asks for %d members, there are %d", o.Desired.Size, len(o.Voters()))
}

// handOver moves leadership away from a member that is about to stop, to one of these.
func handOver(o judge.View, r facts.Replica, others []facts.Replica, reason, why string) *proposal {
	taker := nextLeader(o, r.Name, others)
	if taker.Member == nil {
		return wait(reason, "%s leads and %s; no other voter is healthy enough to take over.", r.Name, why).
			due(o, o.LastPodChange(), facts.StartDeadline)
	}
	return act(changes.MoveLeader{From: r.Name, To: taker.Name, FromID: r.Member.ID, ToID: taker.Member.ID},
		facts.ReasonMoveLeader,
		"%s leads and %s; %s takes over first.", r.Name, why, taker.Name)
}

// nextToLeave is the voter that goes next when there are more than the size asks for: an unhealthy or doomed one first,
// then one that already lost its label, then one that was succeeded, then the highest ordinal. No voter goes before so
// many are there that will last, but for one that is in the way of its successor.
func nextToLeave(o judge.View) (facts.Replica, bool) {
	voters := o.Voters()
	if len(voters) <= o.Desired.Size || len(lastingVoters(o)) < o.Desired.Size {
		r := inTheWay(o)
		return r, r.Member != nil
	}
	succeeded := beingSucceeded(o).Name
	r := slices.MinFunc(voters, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(leavingRank(o.Incarnation, a, succeeded), leavingRank(o.Incarnation, b, succeeded)),
			cmp.Compare(b.Ordinal, a.Ordinal))
	})
	mustLeave := r.Name == succeeded || r.IsDoomed() || isAway(o.Incarnation, r, succeeded != "")
	return r, mustLeave || !haveMixedMinors(o)
}

// haveMixedMinors reports members of more than one minor. No member that serves is removed then for the size alone,
// but for one of two: neither of those can be restarted with the other minor, since the rest would have no quorum.
func haveMixedMinors(o judge.View) bool {
	if len(o.Voters()) == 2 {
		return false
	}
	known := facts.Filter(o.Voters(), func(r facts.Replica) bool { return !r.RunsWith().IsZero() })
	return len(ofLowestMinor(known)) < len(known)
}

// isUnlabelled reports a member that clients are not led to, although they could be.
func isUnlabelled(r facts.Replica) bool { return r.IsSealed() && r.Pod.Role == "" }

// leavingRank is the order in which voters go. One that clients cannot reach goes before those that they can. While one
// is being succeeded, another that is away for a moment is no reason, nor is a label that was taken for it.
func leavingRank(o facts.Incarnation, r facts.Replica, succeeded string) int {
	switch {
	case r.IsDoomed() || isAway(o, r, succeeded != ""):
		return 0
	case isUnlabelled(r) && (succeeded == "" || r.Name == succeeded):
		return 1
	case r.Name == succeeded:
		return 2
	}
	return 3
}

// isAway reports a voter that does not answer or is not ready; where it may come back in a moment, one of which both is
// so.
func isAway(o facts.Incarnation, r facts.Replica, mayReturn bool) bool {
	isHealthy, isReady := r.IsHealthy(o.Membership), r.Pod != nil && r.Pod.Ready
	if mayReturn {
		return !isHealthy && !isReady
	}
	return !isHealthy || !isReady
}

// nextLeader is the one with the most applied, other than the one that goes; rather one that need not be restarted
// soon.
func nextLeader(o judge.View, leaving string, others []facts.Replica) facts.Replica {
	succeeded := beingSucceeded(o).Name
	candidates := facts.Filter(others, func(r facts.Replica) bool {
		return r.Name != leaving && r.Name != succeeded && !r.IsDoomed()
	})
	if len(candidates) == 0 {
		return facts.Replica{}
	}
	return slices.MinFunc(candidates, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(staleness(o.Observation, a), staleness(o.Observation, b)),
			cmp.Compare(b.Answer.Applied, a.Answer.Applied), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

func staleness(o facts.Observation, r facts.Replica) int {
	if r.Settings() != o.Desired.Settings {
		return 1
	}
	return 0
}

// wantsGrowth reports whether a member is to be added.
func wantsGrowth(o judge.View) bool {
	return len(o.Learners()) == 0 && len(lastingVoters(o)) < o.Desired.Size
}

// lastingVoters are the voters that are to stay. A doomed one, and one that is to be succeeded, serves and counts for
// the quorum, but its successor joins before it goes; one that lost its data is as good as gone.
func lastingVoters(o judge.View) []facts.Replica {
	succeeded := beingSucceeded(o).Name
	return facts.Filter(o.Voters(), func(r facts.Replica) bool { return isLasting(o, r) && r.Name != succeeded })
}

// isLasting reports data that is there, and stays.
func isLasting(o judge.View, r facts.Replica) bool {
	state := o.Judge(r).State
	return state != judge.Doomed && state != judge.Lost
}

// promise is the name that was promised to the member to be added, or "". The bootstrap record names it, so that a
// volume of any other name that no member is recorded on is a leftover. It stays promised until it is kept, the size
// asks for none, or something that is not ours has the name: what is refused uses up no names.
func promise(o judge.View) string {
	r := o.Find(o.Bootstrap.Promised)
	if o.Bootstrap.Promised == "" || !wantsGrowth(o) || r.Member != nil || r.Pod != nil || r.IsRecorded() ||
		slices.Contains(takenNames(o.Observation), r.Name) {
		return ""
	}
	if r.Volume != nil && (o.LacksVolume(r) || r.Volume.Incarnation != o.Bootstrap.Incarnation) {
		return ""
	}
	return o.Bootstrap.Promised
}

// isPrepared reports whether the member of a promised name has all that it needs to be added.
func isPrepared(o judge.View, name string) bool {
	r := o.Find(name)
	return (o.Desired.Ephemeral || r.Volume != nil) && (!o.Desired.TLS || r.Secret.State == facts.ObjectCurrent)
}

// grow makes the volume that promises the name, then adds the learner. Its Pod is the next pass's business. A member is
// added for a size that was raised, for one that was removed, and beside a voter that is doomed or to be succeeded.
func grow(o judge.View) *proposal {
	if !wantsGrowth(o) {
		return nil
	}
	quorum := etcdutil.Quorum(len(o.Voters()) + 1)
	if sick := sickVoter(o.Incarnation); sick.Member != nil && len(o.HealthyVoters()) < quorum {
		return wait(facts.ReasonNotReady, "A member will be added once %s is healthy.", sick.Name).
			due(o, facts.PodChange(sick.Pod), facts.StartDeadline).yielding()
	}
	name := promise(o)
	if name != "" && isPrepared(o, name) {
		return act(changes.AddLearner{Name: name}, facts.ReasonGrow, "%s is added as a learner: %s.", name, whyGrow(o))
	}
	if len(o.LostCAs()) > 0 {
		return nil // no new member can be trusted: scaffold says so
	}
	volume := newMember(o)
	return act(changes.PrepareMember{Volume: volume, Secret: o.Desired.TLS}, facts.ReasonGrow,
		"A member %s will be added: %s. What it needs is made first.", volume.Name, whyGrow(o))
}

// newMember is the name of the member to be added, and its volume if it has one.
func newMember(o judge.View) changes.NewVolume {
	v := changes.NewVolume{Name: cmp.Or(promise(o), etcdutil.MemberName(o.Cluster.Name, nextOrdinal(o)))}
	if !o.Desired.Ephemeral {
		v.Bytes, v.Settings = o.NewBytes(), memberSettings(o)
	}
	return v
}

// whyGrow says what a new member is for.
func whyGrow(o judge.View) string {
	voters, lasting := o.Voters(), lastingVoters(o)
	if len(voters) < o.Desired.Size {
		return fmt.Sprintf("the spec asks for %d members, there are %d", o.Desired.Size, len(voters))
	}
	leaving := facts.Filter(voters,
		func(r facts.Replica) bool { return !slices.Contains(facts.Names(lasting), r.Name) })
	return "it will take the place of " + strings.Join(facts.Names(leaving), " or ")
}

// sickVoter is a voter that is not healthy, or an empty replica. etcd refuses additions while fewer are than a quorum
// with the new one.
func sickVoter(o facts.Incarnation) facts.Replica {
	for _, r := range o.Voters() {
		if !r.IsHealthy(o.Membership) {
			return r
		}
	}
	return facts.Replica{}
}

// nextOrdinal is one above the highest ordinal that was ever promised, or of which any trace is left.
func nextOrdinal(o judge.View) int {
	highest := o.Bootstrap.NextOrdinal - 1
	for _, r := range o.EveryReplica() {
		highest = max(highest, r.Ordinal)
	}
	for _, m := range o.Membership.LastKnown {
		if name, ok := etcdutil.MemberFromPeerURL(facts.FirstURL(m), o.Cluster.Name, o.Cluster.Namespace); ok {
			highest = max(highest, o.OrdinalOf(name))
		}
	}
	for _, v := range o.Kept {
		highest = max(highest, v.Ordinal)
	}
	for _, name := range slices.Concat(o.Bootstrap.Names, o.Bootstrap.Next.Names, takenNames(o.Observation)) {
		if ordinal, ok := etcdutil.Ordinal(o.Cluster.Name, name); ok {
			highest = max(highest, ordinal)
		}
	}
	return highest + 1
}

// takenNames are the names of volumes that are not of this cluster. A Pod in a member's way is told by name-taken.
func takenNames(o facts.Observation) []string {
	var out []string
	for _, left := range o.Retained {
		out = append(out, left.Name)
	}
	for _, object := range o.Objects {
		isInTheWay := object.State == facts.ObjectForeign || object.State == facts.ObjectTerminating
		if object.Kind == kindVolume && isInTheWay {
			out = append(out, object.Name)
		}
	}
	return out
}

// memberSettings are the settings that a new member is made from: those of the spec once a member serves with them, and
// those of the members that there are until then, so that a change which does not work keeps nobody from being
// replaced. Those that the data outgrew do not count. While minors differ, a new member gets the lowest: the cluster is
// of that version. A successor of an ephemeral member is the first to try the new ones.
func memberSettings(o judge.View) facts.Settings {
	if len(o.Voters()) >= o.Desired.Size && beingSucceeded(o).Member != nil {
		return o.Desired.Settings
	}
	known := facts.Filter(o.Voters(), func(r facts.Replica) bool { return r.IsRecorded() && !r.RunsWith().IsZero() })
	known = ofLowestMinor(known)
	serving := facts.Filter(known, func(r facts.Replica) bool {
		return r.IsHealthy(o.Membership) && len(o.Crowded(r.RunsWith())) == 0
	})
	for _, r := range serving {
		if c := r.RunsWith(); c == o.Desired.Settings && isWell(o.Incarnation, r) {
			return c
		}
	}
	if all := append(serving, known...); len(all) > 0 { // where nobody serves, as well one's as another's
		return all[0].RunsWith()
	}
	return o.Desired.Settings
}

// ofLowestMinor are the members that run the lowest minor of these.
func ofLowestMinor(members []facts.Replica) []facts.Replica {
	if len(members) == 0 {
		return nil
	}
	lowest := slices.MinFunc(members, func(a, b facts.Replica) int {
		return a.RunsWith().Version.Compare(b.RunsWith().Version)
	})
	return facts.Filter(members, func(r facts.Replica) bool {
		return r.RunsWith().Version.SameMinor(lowest.RunsWith().Version)
	})
}
