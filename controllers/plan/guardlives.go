package plan

import (
	"fmt"
	"slices"
)

// The guard's part about what a restore in place laid, and what it moved on from.

// guardMark writes only on what an ended life left.
func guardMark(o Observation, by string, ref VolumeRef) string {
	r, isFormer := find(o.Former, ref.Name)
	if !isFormer || r.Volume == nil || r.Volume.UID != ref.UID || by != o.Birth.Incarnation || r.Volume.Incarnation == by || r.Volume.Superseded != "" {
		return fmt.Sprintf("the volume %s is not known to be of a life that ended.", ref.Name)
	}
	return ""
}

// guardFormerPod stops the members of a life that ended, once its volumes say so.
func (o Observation) guardFormerPod(r Replica, ref PodRef) string {
	switch {
	case r.Pod == nil || r.Pod.UID != ref.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", ref.Name)
	case !o.Birth.Exists || r.Pod.Incarnation == o.Birth.Incarnation || len(o.unmarked()) > 0:
		return fmt.Sprintf("nothing says that the cluster moved on from %s.", ref.Name)
	}
	return ""
}

// guardComingVolume takes back only what nobody ever lived on, and nobody wants or can use.
func (o Observation) guardComingVolume(r Replica, ref VolumeRef) string {
	switch {
	case r.Volume == nil || r.Volume.UID != ref.UID:
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	case r.Pod != nil || r.Restoring != nil:
		return fmt.Sprintf("a Pod still uses the volume %s.", ref.Name)
	case r.IsRecorded() || r.Volume.Incarnation != o.Birth.Coming.Incarnation || r.Volume.Incarnation == o.Birth.Incarnation:
		return fmt.Sprintf("the volume %s may be one that a member lived on.", ref.Name)
	case r.Volume.isSpoilt() || o.isUnread(r):
		return ""
	}
	return o.guardUnwanted()
}

// guardFormerVolume gives up what a life left that ended, on the word of the EtcdRestore that ended it.
func (o Observation) guardFormerVolume(r Replica, ref VolumeRef) string {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	}
	if why := o.whyKeepFormer(r); why != "" {
		return fmt.Sprintf("the volume %s is kept: %s.", ref.Name, why)
	}
	return ""
}

// guardComingRestore keeps a restore Pod whose word is still needed.
func (o Observation) guardComingRestore(ref PodRef) string {
	r, _ := find(o.Coming, ref.Name)
	isUseless := r.Volume == nil || r.Volume.Terminating || r.Volume.isSpoilt() || o.isUnread(r) || o.guardUnwanted() == ""
	if isUseless && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return ""
	}
	return guardSpentRestore(o.ahead(), ref)
}

// isAskedInPlace reports whether an approved EtcdRestore needs what a preflight would find.
func (o Observation) isAskedInPlace(asked Inquiry) bool {
	if o.isLaying() || o.Birth.Void {
		return false
	}
	return slices.ContainsFunc(o.Requests, func(r Request) bool {
		_, isApproved := o.approvedNow(r.ID)
		return isApproved && r.Source == SourceBackup && o.asking(r).inquiry() == asked
	})
}
