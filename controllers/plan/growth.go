package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
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

// votersOrLast are the voters, or while no list is known, those that there were.
func votersOrLast(o judge.Judged) []facts.Replica {
	if o.Membership.Known {
		return o.Voters()
	}
	return o.LastKnownVoters(o.IsLost)
}

// isFull reports a member that stopped because its disk is full, by its last words. Only more room is its cure, so its
// volume grows also while others are away, and while no list is known. The member is judged, and not one of its claims.
func isFull(o judge.Judged, r facts.Replica) bool {
	return o.Judge(o.Find(r.Name)).Cause == facts.CauseSpace
}

// growing is the voter whose volume has not got yet what it asked for, or an empty replica. One that cannot, and has
// what the spec asks for, holds nothing up.
func growing(o judge.Judged) facts.Replica {
	for _, r := range facts.Claims(votersOrLast(o)) {
		if v := r.Volume; v.IsGrowing() && !(v.IsInfeasible() && v.Capacity >= o.Desired.BytesOf(v)) {
			return r
		}
	}
	return facts.Replica{}
}

// toExpand is the voter whose claim asks for another size next, or an empty replica. What is taken back comes first.
// Where one volume did not grow, no other one is tried but that of a full disk. A member that is not well comes first:
// room may be its cure.
func toExpand(o judge.Judged) facts.Replica {
	stay := facts.Filter(votersOrLast(o), func(r facts.Replica) bool {
		return whyMoved(o, r) == "" && (o.Membership.Known || isFull(o, r))
	})
	due := facts.Filter(facts.Claims(stay), func(r facts.Replica) bool {
		return r.Volume.GrowsTo(o.Desired) != r.Volume.Bytes
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
	if !mayExpandNow(o, next) {
		return facts.Replica{}
	}
	return next
}

// mayExpandNow reports a volume that may grow now: no other one does, and all other voters serve.
func mayExpandNow(o judge.Judged, r facts.Replica) bool {
	busy := growing(o)
	isFirst := busy.Name == "" || busy.Name == r.Name
	if isFull(o, r) {
		return isFirst || busy.Volume.IsInfeasible()
	}
	return isFirst && servesWithout(o, r)
}

// growRank is the order in which volumes grow: what was begun, full disks, who is not well, the leader last.
func growRank(o judge.Judged, r facts.Replica) int {
	switch {
	case r.Volume.IsGrowing():
		return 0
	case isFull(o, r):
		return 1
	case !isWell(o.Incarnation, o.Find(r.Name)):
		return 2 // room may be its cure
	}
	return 3 + leads(o.Incarnation, r)
}

// expandVolume follows the size of the spec where volumes can grow.
func expandVolume(o pass) *proposal {
	if r := o.due.Expand; r.Volume != nil {
		to, why := r.Volume.GrowsTo(o.Desired), sizeOf(r.Volume)+" asks for it."
		switch {
		case to < r.Volume.Bytes:
			why = sizeOf(r.Volume) + " asks for less by now, and the volume has not grown."
		case isForQuota(o) && !r.Volume.IsLog():
			why = "a quota that grows by spec.maintenance.autoGrow needs the room."
		}
		change := changes.ExpandVolume{Volume: r.VolumeRef(), Bytes: to}
		if r.Volume.IsLog() {
			change.LogOf = r.Name
		}
		return act(change, "%s", why)
	}
	if r := growing(o.Judged); r.Volume != nil && isShortOfRoom(o) {
		return whileGrowing(o, r)
	}
	return nil // what people have grow beyond the spec holds nothing up
}

// isShortOfRoom reports a volume that has less than members are to have.
func isShortOfRoom(o pass) bool {
	return slices.ContainsFunc(facts.Claims(votersOrLast(o.Judged)), func(r facts.Replica) bool {
		return r.Volume.Room() < o.Desired.BytesOf(r.Volume)
	})
}

// isForQuota reports volumes that are to grow beyond the spec, for a quota that grows.
func isForQuota(o pass) bool { return o.Desired.StorageFrom > 0 }

// isRoomComing reports volumes that grow for a larger quota, with nothing known that keeps them from it.
func isRoomComing(o pass) bool {
	busy := growing(o.Judged)
	isStuck := busy.Volume != nil && busy.Volume.IsInfeasible() || isRejected(o.Observation, nameExpand)
	return isForQuota(o) && followsSpec(o) && isShortOfRoom(o) && !isStuck
}

// whileGrowing says how far a volume is, since when, and what helps where it does not go on.
func whileGrowing(o pass, r facts.Replica) *proposal {
	v, has, asked := r.Volume, facts.FormatBytes(r.Volume.Capacity), facts.FormatBytes(r.Volume.Bytes)
	switch {
	case v.IsInfeasible():
		return refuse(facts.ReasonExpand, "The volume of %s%s has %s and cannot grow to %s: %s. No other volume is "+
			"tried but that of a member whose disk is full. %s", whoseVolume(r), ofClass(v), has, asked,
			cmp.Or(v.Growth.Message, "Kubernetes calls it infeasible"), insteadOfGrowth(o, v)).byHuman().yielding()
	case v.Growth.State == facts.GrowthAtNode:
		p := wait(facts.ReasonExpand, "The storage made the volume of %s larger, from %s to %s, and its node has yet "+
			"to follow%s. If that lasts for %s, the driver may grow it only while no Pod uses it. %s%s", whoseVolume(r),
			has, asked, since(v), facts.GrowthDeadline, withoutPod(o, r), said(v))
		return p.due(o, v.Growth.Since, facts.GrowthDeadline).yielding()
	}
	return wait(facts.ReasonExpand, "The volume of %s%s grows from %s to %s%s, and the next one follows then.%s Some "+
		"storage takes hours. If it does not go on, kubectl describe pvc %s -n %s says more, or %s.", whoseVolume(r),
		ofClass(v), has, asked, since(v), said(v), r.VolumeRef().Name, o.Cluster.Namespace,
		takenBackBy(o, v)).yielding()
}

// withoutPod is how a person has no Pod use a volume. A Pod that is deleted is made anew too soon: its node keeps the
// volume for the next one (kubernetes/kubernetes:pkg/kubelet/volumemanager/reconciler).
func withoutPod(o pass, r facts.Replica) string {
	who, stop, start := "the member", "fence "+r.Name, "unfence "+r.Name
	if len(o.Voters()) < leastToFence {
		who = "the cluster, which serves no client meanwhile,"
		stop, start = "hibernate "+o.Cluster.Name, "wake "+o.Cluster.Name
	}
	return fmt.Sprintf("Then stop %[1]s for a minute: kubectl etcd-steward %[2]s -n %[4]s, and start it again: "+
		"kubectl etcd-steward %[3]s -n %[4]s.", who, stop, start, o.Cluster.Namespace)
}

// insteadOfGrowth is what a person can do where a volume cannot grow.
func insteadOfGrowth(o pass, v *facts.Volume) string {
	if isForQuota(o) && !v.IsLog() {
		return "Make room in the storage, delete keys, or lower spec.maintenance.autoGrow.limit."
	}
	return fmt.Sprintf("Put %s back to %s or to what the storage can give. Or set "+
		"spec.storage.expand: Replace, and members move to new volumes, one at a time.", sizeOf(v),
		facts.FormatBytes(v.Capacity))
}

func takenBackBy(o pass, v *facts.Volume) string {
	if isForQuota(o) && !v.IsLog() {
		return "spec.maintenance.autoGrow.limit can be lowered"
	}
	return sizeOf(v) + " can be put back"
}

// sizeOf is the field that asks for the size of such a volume.
func sizeOf(v *facts.Volume) string {
	if v.IsLog() {
		return "spec.storage.wal.size"
	}
	return "spec.storage.size"
}

// whoseVolume names a volume by what is on it.
func whoseVolume(r facts.Replica) string {
	if r.Volume.IsLog() {
		return "the write-ahead log of " + r.Name
	}
	return r.Name
}

func ofClass(v *facts.Volume) string {
	if v.Class == "" {
		return ""
	}
	return fmt.Sprintf(", of StorageClass %q,", v.Class)
}

// since says when Kubernetes began with it, as a part of a sentence, or "".
func since(v *facts.Volume) string {
	if v.Growth.Since.IsZero() {
		return ""
	}
	return ", since " + v.Growth.Since.UTC().Format(time.RFC3339)
}

// said is what Kubernetes says of it, as a sentence to follow another one, or "". Where it does not say that it began,
// its class may have no driver that expands volumes.
func said(v *facts.Volume) string {
	switch {
	case v.Growth.Message != "":
		return " Kubernetes says: " + v.Growth.Message + "."
	case v.Growth.Since.IsZero() && v.Growth.State == facts.GrowthUnderWay:
		return " Nothing has begun with it yet."
	}
	return ""
}

// whenFull says what gives a member room whose disk is full: the one of its node, or its volume's. Which of several
// volumes that is, etcd does not say.
func whenFull(o pass, r facts.Replica) string {
	onNode := pages.Docs + "docs/alerts.md#a-node-whose-disk-is-full."
	switch {
	case r.Volume == nil && r.Medium != "":
		return "Its data is in memory, and that is full: raise spec.pod.resources.limits.memory."
	case r.Volume == nil:
		return "Its data is in its Pod, so the disk of its node is full: make room there, see " + onNode
	case r.Volume.Directory != "":
		return fmt.Sprintf("Its volume is the directory %s of node %s, so the disk of that node is full. Make room "+
			"there: see "+onNode+" A larger spec.storage.size gives none.", r.Volume.Directory, r.Pod.Node)
	}
	claims := facts.Claims([]facts.Replica{r})
	for _, claim := range claims {
		if claim.Volume.IsGrowing() {
			return whileGrowing(o, claim).Message
		}
	}
	for _, claim := range claims {
		if claim.Volume.GrowsTo(o.Desired) > claim.Volume.Bytes && followsSpec(o) {
			return "Its volume grows to " + facts.FormatBytes(o.Desired.BytesOf(claim.Volume)) + " in its turn."
		}
	}
	or := ""
	if len(claims) > 1 {
		or = " or spec.storage.wal.size"
	}
	return "Its volume is full. Raise spec.storage.size" + or + ", and the operator expands its volume: see " +
		pages.Docs + "docs/alerts.md#a-volume-that-is-full." + whoseDisk(r)
}

// whoseDisk is how a person finds out whether a volume is a disk of its own, as a sentence with a space in front, or
// "".
func whoseDisk(r facts.Replica) string {
	if r.Volume.IsOwnDisk || r.Volume.Backing == "" {
		return ""
	}
	return fmt.Sprintf(" If kubectl describe pv %s says HostPath or LocalVolume, the disk of node %s is full instead: "+
		"make room there.", r.Volume.Backing, r.Pod.Node)
}
