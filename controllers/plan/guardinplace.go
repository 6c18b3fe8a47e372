package plan

import (
	"cmp"
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
	case MarkFlushed:
		return guardFlushed(o, c)
	case MarkFormer:
		return first(c.Volumes, func(ref VolumeRef) string { return guardMark(o, c.By, ref) })
	default:
		return fmt.Sprintf("%T is no part of a restore in place.", c)
	}
}

// approvedNow is the EtcdRestore of that identity, if it quotes the evidence of this very observation and nothing came of it yet.
func (o Observation) approvedNow(id string) (Request, bool) {
	if id == "" || len(o.Requests) == 0 {
		return Request{}, false
	}
	evidence := o.Evidence()
	for _, r := range o.Requests {
		if r.ID == id && evidence.Accepts(r.Approval) && o.lifeOfRequest(id) == "" {
			return r, true
		}
	}
	return Request{}, false
}

// guardBeginNext lets a life be laid only on an approval, under names and an incarnation that were never used.
func guardBeginNext(o Observation, c BeginNext) string {
	request, isApproved := o.approvedNow(c.Restore)
	switch {
	case !o.canBeFollowed() || c.From != o.Birth.Incarnation:
		return "the life that another one is to follow is not written down, or is another one by now."
	case o.isLaying():
		return "another life is being laid already."
	case !isApproved || !request.asksFor(c.Life):
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	}
	return cmp.Or(o.guardFresh(c.Life), o.guardNames(c.Names, c.Next), o.guardSource(request, c.Life))
}

// asksFor reports whether the life is what the request names.
func (r Request) asksFor(l Life) bool {
	return r.Wish.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && r.Bump == l.Bump
}

// guardFresh lets no incarnation be begun twice.
func (o Observation) guardFresh(l Life) string {
	if l.Counter <= max(o.Birth.Counter, o.Birth.Laid) || l.Incarnation != Incarnation(o.Cluster.UID, l.Counter) || o.hasTraceOf(l.Incarnation) {
		return fmt.Sprintf("the life %s was begun before.", l.Incarnation)
	}
	return ""
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
		if !l.Origin.IsZero() || !o.isCertainlyLost() {
			return "the quorum is not certainly lost."
		}
		return ""
	case SourceSurvivor:
		return o.guardSurvivor(l)
	}
	return fmt.Sprintf("%q is nothing that a life could begin with.", l.Source)
}

// isCertainlyLost reports that nobody answers for a quorum, and that none can come back.
func (o Observation) isCertainlyLost() bool { return o.quorumState() == QuorumLost }

func (o Observation) guardSurvivor(l Life) string {
	if !o.isCertainlyLost() || o.Desired.Ephemeral || len(l.Names) != 1 || l.Origin.IsZero() {
		return "the quorum is not certainly lost, or this is not how one survivor is rebuilt from."
	}
	if why := o.whyNotSurvivor(o.Find(l.Survivor)); why != "" {
		return why + "."
	}
	return ""
}

// guardLayNext makes volumes and restore Pods only for the life that is laid, and only where there are none.
func guardLayNext(o Observation, c LayNext) string {
	l, ahead := o.Birth.Coming, o.ahead()
	if l.IsZero() || c.Incarnation != l.Incarnation || c.Incarnation == o.Birth.Incarnation {
		return "another life is being laid, or none."
	}
	isOther := func(name string) bool { return !slices.Contains(l.Names, name) }
	if slices.ContainsFunc(c.Secrets, isOther) || slices.ContainsFunc(c.Volumes, func(v NewVolume) bool { return isOther(v.Name) }) {
		return "it is not only for members of the life that is laid."
	}
	isTaken := func(v NewVolume) bool { r := ahead.Find(v.Name); return r.Volume != nil || r.Restoring != nil }
	if slices.ContainsFunc(c.Volumes, isTaken) {
		return "a member has a volume already, or a Pod that was made for another one."
	}
	return first(c.Restores, func(laying Laying) string { return cmp.Or(o.guardReading(laying), guardLaying(ahead, laying)) })
}

// guardReading lets a restore Pod read only what the life is to begin with, and write only where nobody ever lived.
func (o Observation) guardReading(laying Laying) string {
	l, survivor := o.Birth.Coming, o.survivor()
	if laying.Mounts != "" && (laying.Mounts != l.Survivor || !o.isFlushed(survivor) || survivor.Pod != nil) {
		return fmt.Sprintf("the volume of %s cannot be read.", laying.Mounts)
	}
	if r, _ := find(o.Coming, laying.Name); r.Volume != nil && (r.Volume.Terminating || r.Volume.Incarnation != l.Incarnation) || laying.Survivor != l.Survivor {
		return fmt.Sprintf("nothing can be laid on the volume of %s.", laying.Name)
	}
	return ""
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
		if r.ID == o.Birth.Coming.Restore && r.Approval != "" && !o.isOvertaken() {
			return fmt.Sprintf("the EtcdRestore %s asks for it.", r.Name)
		}
	}
	return ""
}

// guardMoveLife ends a life only for one that is whole, on an approval of the evidence that there is.
func guardMoveLife(o Observation, c MoveLife) string {
	l := o.Birth.Coming
	request, isApproved := o.approvedNow(l.Restore)
	switch {
	case l.IsZero() || c.From != o.Birth.Incarnation || c.To != l.Incarnation || c.From == c.To || o.Birth.Void:
		return "another life is being laid, or another one lives."
	case !isApproved || request.Source != l.Source:
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	case !slices.Equal(c.Voters, o.knownVoters()):
		return "who has a vote is another by now."
	}
	if why := o.whyNotEnd(); why != "" {
		return why + "."
	}
	return cmp.Or(o.guardBeginning(), first(l.Names, func(name string) string { return o.guardReady(name, c.Volumes[name]) }))
}

// guardBeginning holds what was laid to what was asked for, and to what may be given up.
func (o Observation) guardBeginning() string {
	l := o.Birth.Coming
	switch {
	case l.Source != SourceBackup && !o.isCertainlyLost():
		return "the quorum is not certainly lost."
	case l.Source == SourceSurvivor && !o.isAsLaid():
		return "nothing says that the survivor still holds just what was laid."
	case l.Origin.IsZero() != (l.Source == SourceEmpty):
		return "what was laid is not what was asked for."
	case !l.Origin.IsZero() && (!l.Origin.Version.SameMinor(o.Desired.Choices.Version) || o.Desired.Ephemeral):
		return fmt.Sprintf("what was laid is of etcd %s, and cannot start as the spec asks.", l.Origin.Version)
	}
	return ""
}

// guardReady lets a cluster move only to members that lack nothing.
func (o Observation) guardReady(name, volumeUID string) string {
	ahead := o.ahead()
	r := ahead.Find(name)
	if why := ahead.lacks(r); why != "" || r.Pod != nil {
		return fmt.Sprintf("%s is not ready: %s.", name, cmp.Or(why, "its Pod is there"))
	}
	if !o.Desired.Ephemeral && volumeUID != r.Volume.UID {
		return fmt.Sprintf("the volume of %s is another one by now.", name)
	}
	return ""
}
