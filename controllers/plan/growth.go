package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Volumes that grow where they are: one claim at a time, while its member runs. Nothing is stopped for it, so it waits
// for no window, and holds back nothing of the spec but a quota that needs the room.

// awaitsRoom reports settings with a larger quota than a volume that is to grow in place has room for yet.
func awaitsRoom(o judge.Judged) bool {
	return slices.ContainsFunc(o.Voters(), func(r facts.Replica) bool {
		return r.LacksRoomForQuota(o.Desired) && whyMoved(o, r) == ""
	})
}

// growing is the voter whose volume has not got yet what it asked for, or an empty replica. One that cannot, and has
// what the spec asks for, holds nothing up.
func growing(o judge.Judged) facts.Replica {
	for _, r := range o.Voters() {
		if v := r.Volume; v != nil && v.IsGrowing() && !(v.IsInfeasible() && v.Capacity >= o.Desired.StorageBytes) {
			return r
		}
	}
	return facts.Replica{}
}

// toExpand is the voter whose claim asks for another size next, or an empty replica. What is taken back comes first.
// Where one volume did not grow, no other one is tried. A member that is not well comes first: room may be its cure.
func toExpand(o judge.Judged) facts.Replica {
	due := facts.Filter(o.Voters(), func(r facts.Replica) bool {
		return r.Volume != nil && r.Volume.GrowsTo(o.Desired) != r.Volume.Bytes && whyMoved(o, r) == ""
	})
	for _, r := range due {
		if r.Volume.GrowsTo(o.Desired) < r.Volume.Bytes {
			return r
		}
	}
	if len(due) == 0 {
		return facts.Replica{}
	}
	next := slices.MinFunc(due, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(growRank(o, a), growRank(o, b)), cmp.Compare(b.Ordinal, a.Ordinal))
	})
	if busy := growing(o); busy.Member != nil && busy.Name != next.Name || !servesWithout(o, next) {
		return facts.Replica{}
	}
	return next
}

// growRank is the order in which volumes grow: what was begun, who is not well, the leader last.
func growRank(o judge.Judged, r facts.Replica) int {
	switch {
	case r.Volume.IsGrowing():
		return 0
	case !isWell(o.Incarnation, r):
		return 1
	}
	return 2 + leads(o.Incarnation, r)
}

// servesWithout reports that all other voters serve.
func servesWithout(o judge.Judged, r facts.Replica) bool {
	return !slices.ContainsFunc(o.Voters(), func(other facts.Replica) bool {
		return other.Name != r.Name && !isWell(o.Incarnation, other)
	})
}

// expandVolume follows the size of the spec where volumes can grow.
func expandVolume(o pass) *proposal {
	if r := o.due.Expand; r.Member != nil {
		to, why := r.Volume.GrowsTo(o.Desired), "spec.storage.size asks for it."
		if to < r.Volume.Bytes {
			why = "spec.storage.size asks for less by now, and the volume has not grown."
		}
		return act(changes.ExpandVolume{Volume: r.VolumeRef(), Bytes: to}, "%s", why)
	}
	isShort := func(r facts.Replica) bool { return r.Volume != nil && r.Volume.Room() < o.Desired.StorageBytes }
	if r := growing(o.Judged); r.Member != nil && slices.ContainsFunc(o.Voters(), isShort) {
		return whileGrowing(o, r)
	}
	return nil // what people have grow beyond the spec holds nothing up
}

// whileGrowing says how far a volume is, and what helps where it does not go on.
func whileGrowing(o pass, r facts.Replica) *proposal {
	v, has, asked := r.Volume, facts.FormatBytes(r.Volume.Capacity), facts.FormatBytes(r.Volume.Bytes)
	switch {
	case v.IsInfeasible():
		return refuse(facts.ReasonExpand, "The volume of %s%s has %s and cannot grow to %s: %s. It serves on, and no "+
			"other volume is tried. Put spec.storage.size back to %s or to what the storage can give. Or set "+
			"spec.storage.expand: Replace, and members move to new volumes, one at a time.", r.Name, ofClass(v), has,
			asked, cmp.Or(v.Growth.Message, "Kubernetes calls it infeasible"), has).byHuman().yielding()
	case v.Growth.State == facts.GrowthAtNode:
		p := wait(facts.ReasonExpand, "The storage made the volume of %s larger, from %s to %s, and its node has yet "+
			"to follow. If that lasts for %s, the driver may grow it only at the start of its Pod. Then restart it "+
			"while all others serve: kubectl delete pod %s -n %s.", r.Name, has, asked, facts.GrowthDeadline, r.Name,
			o.Cluster.Namespace)
		return p.due(o, v.Growth.Since, facts.GrowthDeadline).yielding()
	}
	return wait(facts.ReasonExpand, "The volume of %s%s grows from %s to %s, and the member serves on.%s The next "+
		"volume follows then.", r.Name, ofClass(v), has, asked, said(v)).yielding()
}

func ofClass(v *facts.Volume) string {
	if v.Class == "" {
		return ""
	}
	return fmt.Sprintf(", of StorageClass %q,", v.Class)
}

// said is what Kubernetes says of it, as a sentence to follow another one, or "".
func said(v *facts.Volume) string {
	if v.Growth.Message == "" {
		return ""
	}
	return " Kubernetes says: " + v.Growth.Message + "."
}
