package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The guard's part about restores in place.

func guardInPlace(o Observation, c Change) string {
	switch c := c.(type) {
	case BeginNext:
		return guardBeginNext(o, c)
	case LayNext:
		return guardLayNext(o, c)
	case DropNext:
		return guardDropNext(o, c)
	case MoveLife:
		return guardMoveLife(o, c)
	case MarkFormer:
		return first(c.Volumes, func(ref VolumeRef) string { return guardMark(o, c.By, ref) })
	default:
		return fmt.Sprintf("%T is no part of a restore in place.", c)
	}
}

// approvedNow is the EtcdRestore of that identity, if it quotes the evidence of this very observation and nothing came of it yet.
func (o Observation) approvedNow(id string) (Request, bool) {
	digest := o.Evidence().Digest
	for _, r := range o.Requests {
		if r.ID == id && id != "" && r.Approval == digest && o.lifeOfRequest(id) == "" {
			return r, true
		}
	}
	return Request{}, false
}

// guardBeginNext lets a life be laid only on an approval, under names and an incarnation that were never used.
func guardBeginNext(o Observation, c BeginNext) string {
	request, isApproved := o.approvedNow(c.Restore)
	switch {
	case !o.Birth.Exists || o.Birth.Void || o.Birth.ClusterID == 0 && !o.hasMoved() || c.From != o.Birth.Incarnation:
		return "the life that another one is to follow is not written down, or is another one by now."
	case o.isLaying():
		return "another life is being laid already."
	case !isApproved || request.Wish.Fault != "" || request.Source != c.Source || request.Survivor != c.Survivor || request.Bump != c.Bump:
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	case c.Counter <= max(o.Birth.Counter, o.Birth.Laid) || c.Incarnation != Incarnation(o.Cluster.UID, c.Counter) || o.hasTraceOf(c.Incarnation):
		return fmt.Sprintf("the life %s was begun before.", c.Incarnation)
	}
	if why := o.guardNames(c.Names, c.Next); why != "" {
		return why
	}
	return o.guardSource(request, c.Life)
}

// guardNames lets no name be given that anybody ever had.
func (o Observation) guardNames(chosen []string, next int) string {
	if len(chosen) == 0 {
		return "it has no members."
	}
	for _, name := range chosen {
		ordinal, ok := etcdutil.Ordinal(o.Cluster.Name, name)
		_, isSeen := find(o.everyReplica(), name)
		isLeft := slices.ContainsFunc(o.Retained, func(r Retained) bool { return r.Name == name })
		if !ok || isSeen || isLeft || slices.Contains(o.Birth.Names, name) || ordinal < o.Birth.Next || ordinal >= next {
			return fmt.Sprintf("the name %s may have been used.", name)
		}
	}
	return ""
}

// guardSource holds what a life begins with to what was looked at, and lets data be given up without a backup only where the
// quorum is certainly lost.
func (o Observation) guardSource(request Request, l Life) string {
	switch l.Source {
	case SourceBackup:
		return guardOrigin(o.asking(request), l.Origin)
	case SourceEmpty:
		if !l.Origin.IsZero() || o.Membership.Known || !o.isQuorumLost() {
			return "the quorum is not certainly lost."
		}
	case SourceSurvivor:
		if o.Membership.Known || !o.isQuorumLost() || o.Desired.Ephemeral || len(l.Names) != 1 || l.Origin.IsZero() {
			return "the quorum is not certainly lost, or this is not how one survivor is rebuilt from."
		}
		if why := o.whyNotSurvivor(o.Find(l.Survivor)); why != "" {
			return why + "."
		}
	default:
		return fmt.Sprintf("%q is nothing that a life could begin with.", l.Source)
	}
	return ""
}

// guardLayNext makes volumes and restore Pods only for the life that is laid, and only where there are none.
func guardLayNext(o Observation, c LayNext) string {
	l, ahead := o.Birth.Coming, o.ahead()
	if l.IsZero() || c.Incarnation != l.Incarnation || c.Incarnation == o.Birth.Incarnation {
		return "another life is being laid, or none."
	}
	all := slices.Clone(c.Secrets)
	for _, v := range c.Volumes {
		all = append(all, v.Name)
		if r := ahead.Find(v.Name); r.Volume != nil || r.Restoring != nil {
			return fmt.Sprintf("%s has a volume already, or a Pod that was made for another one.", v.Name)
		}
	}
	for _, name := range all {
		if !slices.Contains(l.Names, name) {
			return fmt.Sprintf("%s is no member of the life that is laid.", name)
		}
	}
	return first(c.Restores, func(laying Laying) string {
		if r := ahead.Find(laying.Name); laying.Survivor != l.Survivor || r.Volume != nil && (r.Volume.Terminating || r.Volume.Incarnation != l.Incarnation) {
			return fmt.Sprintf("nothing can be laid on the volume of %s.", laying.Name)
		}
		return guardLaying(ahead, laying)
	})
}

func guardDropNext(o Observation, c DropNext) string {
	isLeft := slices.ContainsFunc(o.Coming, func(r Replica) bool { return r.Volume != nil || r.Pod != nil || r.Restoring != nil })
	switch {
	case c.Incarnation != o.Birth.Coming.Incarnation || c.Incarnation == o.Birth.Incarnation:
		return "another life is being laid, or none."
	case isLeft:
		return "something of the life that was laid is still there."
	}
	return o.guardUnwanted()
}

// guardUnwanted lets what was laid be taken back only while no EtcdRestore wants it.
func (o Observation) guardUnwanted() string {
	for _, r := range o.Requests {
		if r.ID == o.Birth.Coming.Restore && r.Approval != "" {
			return fmt.Sprintf("the EtcdRestore %s asks for it.", r.Name)
		}
	}
	return ""
}

// guardMoveLife ends a life only for one that is whole, on an approval of the evidence that there is.
func guardMoveLife(o Observation, c MoveLife) string {
	l, ahead := o.Birth.Coming, o.ahead()
	request, isApproved := o.approvedNow(l.Restore)
	switch {
	case l.IsZero() || c.From != o.Birth.Incarnation || c.To != l.Incarnation || c.From == c.To || o.Birth.Void:
		return "another life is being laid, or another one lives."
	case !isApproved || request.Source != l.Source:
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	case l.Source != SourceBackup && (o.Membership.Known || !o.isQuorumLost()):
		return "the quorum is not certainly lost."
	case !l.Origin.IsZero() && (!l.Origin.Version.SameMinor(o.Desired.Choices.Version) || o.Desired.Ephemeral):
		return fmt.Sprintf("what was laid is of etcd %s, and cannot start as the spec asks.", l.Origin.Version)
	case l.Origin.IsZero() != (l.Source == SourceEmpty):
		return "what was laid is not what was asked for."
	case !slices.Equal(c.Voters, o.knownVoters()):
		return "who has a vote is another by now."
	}
	for _, name := range l.Names {
		r := ahead.Find(name)
		if why := ahead.lacks(r); why != "" || r.Pod != nil {
			return fmt.Sprintf("%s is not ready: %s.", name, why)
		}
		if !o.Desired.Ephemeral && c.Volumes[name] != r.Volume.UID {
			return fmt.Sprintf("the volume of %s is another one by now.", name)
		}
	}
	return ""
}

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
	case r.Volume.isSpoilt():
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
	isUseless := r.Volume == nil || r.Volume.Terminating || r.Volume.isSpoilt() || o.guardUnwanted() == ""
	if isUseless && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return ""
	}
	return guardDeleteRestore(o.ahead(), ref)
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
