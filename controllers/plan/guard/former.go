package guard

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// The guard's part about what a restore in place restored, and what it switched over from.

// guardMark writes only on what an ended incarnation left.
func guardMark(o facts.View, by string, ref facts.VolumeRef) string {
	r, isFormer := facts.Find(o.FormerMembers(), ref.Name)
	if !isFormer || r.Volume == nil || r.Volume.UID != ref.UID || by != o.Birth.Incarnation ||
		r.Volume.Incarnation == by || r.Volume.Superseded != "" {
		return fmt.Sprintf("the volume %s is not known to be of a former incarnation.", ref.Name)
	}
	return ""
}

// guardFormerPod stops the members of a former incarnation, once its volumes say so.
func guardFormerPod(o facts.View, r facts.Replica, ref facts.PodRef) string {
	switch {
	case r.Pod == nil || r.Pod.UID != ref.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", ref.Name)
	case r.Pod.Incarnation == o.Birth.Incarnation:
		return fmt.Sprintf("the Pod %s is of the current incarnation.", ref.Name)
	}
	return guardSwitched(o, ref.Name)
}

// guardSwitched believes that an incarnation ended only of the birth record, and once its volumes say so.
func guardSwitched(o facts.View, name string) string {
	if !o.Birth.Exists() || len(o.Unmarked()) > 0 {
		return fmt.Sprintf("nothing says that the cluster switched over from %s.", name)
	}
	return ""
}

// guardNextVolume takes back only what nobody ever lived on, and nobody wants or can use.
func guardNextVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) string {
	switch {
	case r.Volume == nil || r.Volume.UID != ref.UID:
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	case r.Pod != nil || r.Restoring != nil:
		return fmt.Sprintf("a Pod still uses the volume %s.", ref.Name)
	case r.IsRecorded() || r.Volume.Incarnation != o.Birth.Next.Incarnation ||
		r.Volume.Incarnation == o.Birth.Incarnation:
		return fmt.Sprintf("the volume %s may be one that a member lived on.", ref.Name)
	case r.Volume.IsSpoilt() || o.IsUnread(r) || o.IsMadeForOther(r):
		return ""
	}
	return guardUnwanted(o)
}

// guardFormerVolume gives up what an incarnation left that ended, on the word of the EtcdRestore that ended it.
func guardFormerVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) string {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	}
	if why := o.WhyKeepFormer(r); why != "" {
		return fmt.Sprintf("the volume %s is kept: %s.", ref.Name, why)
	}
	return ""
}

// guardNextRestore keeps a restore Pod whose word is still needed.
func guardNextRestore(o facts.View, ref facts.PodRef) string {
	r, _ := facts.Find(o.Next.Members, ref.Name)
	isSpent := o.LacksVolume(r) || o.IsUnread(r) || guardUnwanted(o) == ""
	if isSpent && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return ""
	}
	return guardSpentRestore(o.OfNext(), ref)
}

// isAskedInPlace reports whether an approved EtcdRestore needs what a preflight would find.
func isAskedInPlace(o facts.View, asked facts.Inquiry) bool {
	if o.IsPreparing() || o.Birth.Void {
		return false
	}
	return slices.ContainsFunc(o.Requests, func(r facts.Request) bool {
		_, isApproved := o.ApprovedNow(r.ID)
		return isApproved && r.Source == record.SourceBackup && o.Asking(r).Inquiry() == asked
	})
}

// isLongPast reports a Pod that should have been gone long ago.
func isLongPast(o facts.View, p *facts.Pod) bool {
	return p.Terminating && !p.GoneBy.IsZero() && o.Now.Sub(p.GoneBy) > facts.LeavingDeadline
}

// guardFence lets no member start while members of a former incarnation might serve a write: one that is not marked, a
// Pod that is not long past its time, or so many of those that they are a quorum.
func guardFence(o facts.View) string {
	if marked := o.StillMarked(); len(marked) > 0 {
		return fmt.Sprintf("the volume of %s still says that another incarnation took its place.", marked[0].Name)
	}
	for _, former := range o.Former {
		left := map[string]int{}
		for _, r := range former.Members {
			switch {
			case r.Volume != nil && r.Volume.Superseded == "":
				return fmt.Sprintf("the volume of %s, of a former incarnation, is not marked.", r.Name)
			case r.Pod == nil:
			case !isLongPast(o, r.Pod):
				return fmt.Sprintf("the Pod of %s, of a former incarnation, is still there.", r.Name)
			default:
				left[r.Pod.Incarnation]++
			}
		}
		for incarnation, n := range left {
			if o.IsQuorumOf(incarnation, n) {
				return fmt.Sprintf("%d Pods of a former incarnation do not go, and might serve a write.", n)
			}
		}
	}
	return ""
}
