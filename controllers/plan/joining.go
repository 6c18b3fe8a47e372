package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Who leaves and who joins: a part of Due.

// leaving is who leaves, and why.
func (d *Due) leaving(o judge.Judged) Leaving {
	r := d.nextToLeave(o)
	if r.Member == nil {
		return Leaving{}
	}
	return Leaving{Replica: r, Because: d.whyLeave(o, r),
		IsFirst: r.Name == d.leavesFirst(o).Name && len(o.Voters()) <= o.Desired.Size}
}

// nextToLeave is the voter that goes next when there are more than the size asks for: an unhealthy or doomed one first,
// then one that already lost its label, then one that was succeeded, then the highest ordinal. No voter goes before so
// many are there that will last, but for one that is in the way of its successor.
func (d *Due) nextToLeave(o judge.Judged) facts.Replica {
	voters := o.Voters()
	if len(voters) <= o.Desired.Size || len(d.Lasting) < o.Desired.Size {
		return cmp.Or(d.InTheWay, d.leavesFirst(o))
	}
	if isAnyKeptDown(o) {
		return facts.Replica{}
	}
	succeeded := d.Succeeded.Name
	r := slices.MinFunc(voters, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(leavingRank(o.Incarnation, a, succeeded), leavingRank(o.Incarnation, b, succeeded)),
			cmp.Compare(b.Ordinal, a.Ordinal))
	})
	if r.Name == succeeded || r.IsDoomed() || isAway(o.Incarnation, r, succeeded != "") || !haveMixedMinors(o) {
		return r
	}
	return facts.Replica{}
}

// whyLeave says why a voter goes, as a part of a sentence.
func (d *Due) whyLeave(o judge.Judged, r facts.Replica) string {
	if r.Name == d.InTheWay.Name {
		return fmt.Sprintf("its volume is being deleted, and only its Pod keeps its successor %s from every node",
			d.Unplaced.Name)
	}
	why := whyNotInPlace(o, r)
	switch {
	case r.IsDoomed() && !o.Desired.Sleep:
		return "its volume is being deleted, and enough members are there without it"
	case r.Name != d.Succeeded.Name:
	case len(o.Voters()) <= o.Desired.Size:
		return "a new member follows it, and spec.storage.replace is InPlace: " + why
	case o.Desired.Sleep:
	case !r.Ephemeral || r.WhyMoved(o.Desired) != "":
		return "a new member has its place: " + why
	}
	if o.Desired.Sleep {
		return fmt.Sprintf("the cluster is to sleep with %d members, and has %d", o.Desired.Size, len(o.Voters()))
	}
	return fmt.Sprintf("spec.size is %d, the cluster has %d", o.Desired.Size, len(o.Voters()))
}

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

// isUnlabelled reports a member that clients are not led to, although they could be.
func isUnlabelled(r facts.Replica) bool {
	return r.IsSealed() && (r.Pod.Role == "" || r.Pod.Role == facts.RoleLeaving || r.Pod.Role == facts.RoleCounted)
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

// haveMixedMinors reports members of more than one minor. No member that serves is removed then for the size alone,
// but for one of two: neither of those can be restarted with the other minor, since the rest would have no quorum.
func haveMixedMinors(o judge.Judged) bool {
	if len(o.Voters()) == 2 {
		return false
	}
	known := facts.Filter(o.Voters(), func(r facts.Replica) bool { return !r.RunsWith().IsZero() })
	return len(ofLowestMinor(known)) < len(known)
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

// lastingVoters are the voters that are to stay. A doomed one, and one that is to be succeeded, serves and counts for
// the quorum, but its successor joins before it goes; one that lost its data is as good as gone.
func (d *Due) lastingVoters(o judge.Judged) []facts.Replica {
	return facts.Filter(o.Voters(), func(r facts.Replica) bool { return isLasting(o, r) && r.Name != d.Succeeded.Name })
}

// isLasting reports data that is there, and stays.
func isLasting(o judge.Judged, r facts.Replica) bool {
	state := o.Judge(r).State
	return state != judge.Doomed && state != judge.Lost
}

// joining is what is known of the member to add, or nil.
func (d *Due) joining(o judge.Judged) *Joining {
	if !d.wantsGrowth(o) {
		return nil
	}
	sick := sickVoter(o.Incarnation)
	return &Joining{IsPrepared: d.Promised != "" && isPrepared(o, d.Promised), Because: d.whyJoin(o), Sick: sick,
		SickUntil: untilReplaced(o, sick)}
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

// wantsGrowth reports whether a member is added.
func (d *Due) wantsGrowth(o judge.Judged) bool {
	return len(o.Learners()) == 0 && len(d.Lasting) < o.Desired.Size
}

// isPrepared reports whether the member of a promised name has all that it needs to be added.
func isPrepared(o judge.Judged, name string) bool {
	r := o.Find(name)
	return (o.Desired.Ephemeral || r.Volume != nil) && (!joinsWithCertificates(o) ||
		r.Secret.State == facts.ObjectCurrent)
}

// joinsWithCertificates reports that a new member needs some before it is added. Where no member has any, and they
// cannot be had now, it does not.
func joinsWithCertificates(o judge.Judged) bool { return o.Desired.TLS && !o.LacksFirstCertificates() }

// whyJoin says what a new member is for.
func (d *Due) whyJoin(o judge.Judged) string {
	voters := o.Voters()
	if len(voters) < o.Desired.Size {
		return fmt.Sprintf("spec.size is %d, the cluster has %d", o.Desired.Size, len(voters))
	}
	leaving := facts.Filter(voters,
		func(r facts.Replica) bool { return !slices.Contains(facts.Names(d.Lasting), r.Name) })
	says := "it will take the place of " + strings.Join(facts.Names(leaving), " or ")
	switch r := d.Succeeded; {
	case r.Member == nil && slices.ContainsFunc(leaving, facts.Replica.IsDoomed):
		return says + " (its volume is being deleted)"
	case r.Member == nil || r.Ephemeral && r.WhyMoved(o.Desired) == "":
		return says
	}
	return fmt.Sprintf("%s (%s)", says, whyNotInPlace(o, d.Succeeded))
}

// promise is the name that was promised to the member to be added, or "". The bootstrap record names it, so that a
// volume of any other name that no member is recorded on is a leftover. It stays promised until it is kept, the size
// asks for none, or something that is not ours has the name: what is refused uses up no names.
func (d *Due) promise(o judge.Judged) string {
	r := o.Find(o.Bootstrap.Promised)
	if o.Bootstrap.Promised == "" || !d.wantsGrowth(o) || r.Member != nil || r.Pod != nil || r.IsRecorded() ||
		slices.Contains(takenNames(o.Observation), r.Name) {
		return ""
	}
	if r.Volume != nil && (o.LacksVolume(r) || isToMoveAtOnce(o, r) ||
		r.Volume.Incarnation != o.Bootstrap.Incarnation) {
		return ""
	}
	return o.Bootstrap.Promised
}

// newMember is the name of the member to be added, and its volume if it has one.
func (d *Due) newMember(o judge.Judged) changes.NewVolume {
	v := changes.NewVolume{Name: cmp.Or(d.Promised, etcdutil.MemberName(o.Cluster.Name, d.NextOrdinal))}
	if !o.Desired.Ephemeral {
		v.Bytes, v.Settings = o.NewBytes(), d.Settings
	}
	return v
}

// memberSettings are the settings that a new member is made from: those of the spec once a member serves with them, and
// those of the members that there are until then, so that a change which does not work keeps nobody from being
// replaced. Those that the data outgrew do not count. While minors differ, a new member gets the lowest: the cluster is
// of that version. A successor that the spec asks for is the first to try the new ones: see succession.go.
func (d *Due) memberSettings(o judge.Judged) facts.Settings {
	if d.Succeeded.Member != nil && !isAskedToGo(o, d.Succeeded) && (len(o.Voters()) >= o.Desired.Size ||
		o.Desired.LeavesFirst) {
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
	if all := append(serving, known...); len(all) > 0 { // where no member serves, as well one's as another's
		return all[0].RunsWith()
	}
	return o.Desired.Settings
}

// nextOrdinal is one above the highest ordinal that was ever promised, or of which any trace is left.
func nextOrdinal(o judge.Judged) int {
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

// unplaced is a learner that no node has taken for so long that none may ever, or an empty replica. It stays: another
// name would meet the same. What can do without it waits for it no longer.
func unplaced(o judge.Judged) facts.Replica {
	for _, r := range o.Learners() {
		if o.HasNoPlace(r.Pod) {
			return r
		}
	}
	return facts.Replica{}
}

// inTheWay is the doomed voter whose own Pod keeps its successor from every node, or an empty replica. It goes first.
func (d *Due) inTheWay(o judge.Judged) facts.Replica {
	if d.Unplaced.Member == nil || !isKeptApart(o.Incarnation, d.Unplaced) {
		return facts.Replica{}
	}
	return d.Dispensable
}

// dispensable is the doomed voter that the others can do without, or an empty replica: all of them serve on data that
// stays, and they are more than one.
func dispensable(o judge.Judged) facts.Replica {
	for _, r := range o.Voters() {
		if r.IsDoomed() && canSpare(o, r) {
			return r
		}
	}
	return facts.Replica{}
}

// isKeptApart reports a learner that every node with a member would take, but for a rule that keeps Pods apart. The
// scheduler asks of that rule last, so all else of such a node suits it
// (kubernetes/kubernetes:pkg/scheduler/apis/config/v1/default_plugins.go); of another scheduler that is not known.
// Where it counts more or fewer nodes, nothing shows that the one which gets free is among them. A node with two
// members does not get free.
func isKeptApart(o facts.Incarnation, learner facts.Replica) bool {
	nodes := map[string]bool{}
	for _, r := range o.Members {
		if r.Pod == nil || r.Pod.Node == "" {
			continue
		}
		if nodes[r.Pod.Node] {
			return false
		}
		nodes[r.Pod.Node] = true
	}
	return !learner.Pod.OtherScheduler &&
		strings.Contains(learner.Pod.Message, fmt.Sprintf(" %d %s", len(nodes), keptApart))
}

// keptApart are the scheduler's words for it, after the number of nodes
// (kubernetes/kubernetes:pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
// ErrReasonAntiAffinityRulesNotMatch).
const keptApart = "node(s) didn't match pod anti-affinity rules"

// joinDeadline is how long a learner may take: it has to copy the database first.
func joinDeadline(o facts.Incarnation) time.Duration {
	const slowest = 2 << 20 // bytes per second
	return facts.JoinDeadline + time.Duration(largestDatabase(o)/slowest)*time.Second
}

// largestDatabase is in bytes.
func largestDatabase(o facts.Incarnation) int64 {
	var largest int64
	for _, r := range o.Members {
		if r.Answer != nil {
			largest = max(largest, r.Answer.DBSize)
		}
	}
	return largest
}

// mayVote reports a learner that has all that a voter needs. While CORRUPT stands no kubelet calls a member ready
// (etcd-io/etcd:server/etcdserver/api/etcdhttp/health.go), and etcd promotes all the same.
func mayVote(o facts.Incarnation, r facts.Replica) bool {
	return r.IsSealed() && (r.Pod.Ready || isRaisedCorrupt(o)) && o.IsCaughtUp(r)
}
