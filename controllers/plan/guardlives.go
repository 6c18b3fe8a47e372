package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// The guard's part about what a restore in place restored, and what it switched over from.

// guardMark writes only on what an ended incarnation left.
func guardMark(o view, by string, ref VolumeRef) string {
	r, isFormer := find(o.FormerMembers(), ref.Name)
	if !isFormer || r.Volume == nil || r.Volume.UID != ref.UID || by != o.Birth.Incarnation || r.Volume.Incarnation == by || r.Volume.Superseded != "" {
		return fmt.Sprintf("the volume %s is not known to be of a former incarnation.", ref.Name)
	}
	return ""
}

// guardFormerPod stops the members of a former incarnation, once its volumes say so.
func (o view) guardFormerPod(r Replica, ref PodRef) string {
	switch {
	case r.Pod == nil || r.Pod.UID != ref.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", ref.Name)
	case !o.Birth.Exists() || r.Pod.Incarnation == o.Birth.Incarnation || len(o.unmarked()) > 0:
		return fmt.Sprintf("nothing says that the cluster switched over from %s.", ref.Name)
	}
	return ""
}

// guardNextVolume takes back only what nobody ever lived on, and nobody wants or can use.
func (o view) guardNextVolume(r Replica, ref VolumeRef) string {
	switch {
	case r.Volume == nil || r.Volume.UID != ref.UID:
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	case r.Pod != nil || r.Restoring != nil:
		return fmt.Sprintf("a Pod still uses the volume %s.", ref.Name)
	case r.IsRecorded() || r.Volume.Incarnation != o.Birth.Next.Incarnation || r.Volume.Incarnation == o.Birth.Incarnation:
		return fmt.Sprintf("the volume %s may be one that a member lived on.", ref.Name)
	case r.Volume.isSpoilt() || o.isUnread(r):
		return ""
	}
	return o.guardUnwanted()
}

// guardFormerVolume gives up what an incarnation left that ended, on the word of the EtcdRestore that ended it.
func (o view) guardFormerVolume(r Replica, ref VolumeRef) string {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	}
	if why := o.whyKeepFormer(r); why != "" {
		return fmt.Sprintf("the volume %s is kept: %s.", ref.Name, why)
	}
	return ""
}

// guardNextRestore keeps a restore Pod whose word is still needed.
func (o view) guardNextRestore(ref PodRef) string {
	r, _ := find(o.Next.Members, ref.Name)
	isSpent := r.Volume == nil || r.Volume.Terminating || r.Volume.isSpoilt() || o.isUnread(r) || o.guardUnwanted() == ""
	if isSpent && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return ""
	}
	return guardSpentRestore(o.ofNext(), ref)
}

// isAskedInPlace reports whether an approved EtcdRestore needs what a preflight would find.
func (o view) isAskedInPlace(asked Inquiry) bool {
	if o.isPreparing() || o.Birth.Void {
		return false
	}
	return slices.ContainsFunc(o.Requests, func(r Request) bool {
		_, isApproved := o.approvedNow(r.ID)
		return isApproved && r.Source == record.SourceBackup && o.asking(r).inquiry() == asked
	})
}
