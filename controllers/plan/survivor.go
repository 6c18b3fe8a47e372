package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// What one survivor of a lost quorum holds is asked of it while it runs. One that does not answer, because it was started without the
// others, has its data on its volume: it runs once, long enough to take in what it wrote last, is stopped, and is read there.

// flushTime is how long a member runs alone before all that it ever committed is in its database: it replays its log at the start, and
// writes the database out ten times a second (etcd-io/etcd:server/storage/backend/backend.go defaultBatchInterval).
const flushTime = 30 * time.Second

// survivor is the member whose data the next incarnation begins with, or an empty replica.
func (o Incarnation) survivor() Replica {
	if o.Birth.Next.Survivor == "" {
		return Replica{}
	}
	return o.Find(o.Birth.Next.Survivor)
}

// isFlushed reports a member that ran for long enough, and is to be read on its volume.
func (o Incarnation) isFlushed(r Replica) bool {
	return o.isPreparing() && r.Name == o.Birth.Next.Survivor && r.Volume != nil && r.Volume.Flushed == o.Birth.Next.Incarnation
}

// flushSurvivor stops a survivor that does not answer, once it ran for long enough. It returns nil when its data can be had.
func flushSurvivor(o view) *proposal {
	r := o.survivor()
	if r.Name == "" || o.isBeingRead() || !o.isFlushed(r) && r.Answer != nil {
		return nil
	}
	if why := o.whyNotSurvivor(r); why != "" {
		return refuse(ReasonRestoreHeld, "What %s holds cannot be restored: %s.", r.Name, why).byHuman()
	}
	if o.isFlushed(r) {
		return o.stopSurvivor(r)
	}
	pod := r.Pod
	switch {
	case pod != nil && pod.Running && !pod.neverReady():
		return refuse(ReasonRestoreHeld, "%s runs and has served since it started, and does not answer. Let the operator reach it; or, if that cannot be, delete its Pod: it is then started once more, and read on its volume.", r.Name).byHuman()
	case o.hasFlushed(r):
		return act(MarkFlushed{Life: o.Birth.Next.Incarnation, Volume: r.volumeRef()}, ReasonInPlace, "%s has run long enough to write out all that it had; that is written on its volume.", r.Name)
	}
	p := wait(ReasonInPlace, "%s does not answer. It runs for %s without the others, to write out all that it has, and is then read.", r.Name, flushTime)
	return p.due(o, podChange(pod), startDeadline)
}

// clearUnread gives up the volumes that were made to be written to from afar: whoever reads the survivor's volume mounts both, and
// one that was bound somewhere else could not be mounted beside it.
func clearUnread(o view) *proposal {
	const read = "What %s holds is read on its volume; "
	survivor := o.Birth.Next.Survivor
	for _, r := range filter(o.Next.Members, o.isUnread) {
		switch {
		case r.Restoring != nil && r.Restoring.Terminating:
			return r.Restoring.leaving(o, ReasonInPlace, "The restore Pod of %s is terminating.", r.Name)
		case r.Restoring != nil:
			return act(DeleteRestores{Pods: []PodRef{r.restoreRef()}}, ReasonInPlace, read+"the Pod of %s that did not get it by asking is deleted.", survivor, r.Name)
		case !r.Volume.Terminating:
			return act(DeleteVolumes{Volumes: []VolumeRef{r.volumeRef()}}, ReasonInPlace, read+"the new volume of %s, which no member ever used, is made anew beside it.", survivor, r.Name)
		}
	}
	return nil
}

// isUnread reports a volume that was to get what a survivor says, and that got nothing before that one had to be read on its own.
func (o view) isUnread(r Replica) bool {
	survivor := o.survivor()
	return survivor.Name != "" && r.Volume != nil && !r.isRestored() && !o.isBeingRead() && !o.isFlushed(survivor) && o.hasFlushed(survivor)
}

// stopSurvivor lets a member go that has written out all it had.
func (o view) stopSurvivor(r Replica) *proposal {
	switch {
	case r.Pod == nil:
		return nil
	case r.Pod.Terminating:
		return wait(ReasonInPlace, "%s is stopping; then its volume is read.", r.Name).due(o, r.Pod.GoneBy, leavingDeadline)
	}
	return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonInPlace, "%s, which cannot serve without the others, is stopped; its volume is read.", r.Name)
}

// isBeingRead reports whether what the survivor holds lies on its next volume already, or is on its way there.
func (o Observation) isBeingRead() bool {
	return slices.ContainsFunc(o.Next.Members, func(r Replica) bool { return r.isRestored() || r.Restoring != nil && !r.Restoring.HasFailed() })
}

// hasFlushed reports a process that can only start from its own data, and has run for long enough without ever serving. Reading a
// long log may take minutes, in which nothing is written out.
func (o Observation) hasFlushed(r Replica) bool {
	return r.Answer == nil && r.isKept() && !r.Pod.Terminating && r.Pod.neverReady() && r.Pod.Booted && o.Now.Sub(r.Pod.RunningSince) > flushTime
}

// readFrom is how a restore Pod gets what the survivor holds: from its volume, or else by asking it.
func (o Incarnation) readFrom(l Laying) Laying {
	l.Survivor = o.Birth.Next.Survivor
	if r := o.survivor(); o.isFlushed(r) {
		l.Mounts = r.Name
	}
	return l
}

// guardFlushed believes only of a process that runs without the others that it wrote out all that it had.
func guardFlushed(o view, c MarkFlushed) string {
	r := o.Find(c.Volume.Name)
	if !o.isPreparing() || c.Life != o.Birth.Next.Incarnation || r.Name != o.Birth.Next.Survivor || !r.hasVolume(c.Volume) || !o.isQuorumGone() || !o.hasFlushed(r) {
		return fmt.Sprintf("%s is not known to have run alone for long enough.", c.Volume.Name)
	}
	return ""
}

// isOvertaken reports that the cluster went on since an incarnation without a backup was promised, or may go on once its survivor is started
// again; or that a name of that incarnation turned out to be a member's. What was restored of it by then is of the past, also when the quorum is
// lost once more, by when the evidence is the same again.
func (o view) isOvertaken() bool {
	l, r := o.Birth.Next, o.survivor()
	switch {
	case l.IsZero():
		return false
	case o.namesake() != nil:
		return true
	case l.Source == record.SourceBackup:
		return false
	case o.hasQuorum():
		return true
	case o.isFlushed(r):
		_, isApproved := o.approvedNow(l.Restore)
		return !isApproved || !o.isQuorumGone()
	}
	return r.Answer != nil && l.Source == record.SourceSurvivor && r.Answer.Revision != l.Origin.Revision
}

// isAsRestored reports whether the survivor holds what it held when that was restored: it says so, or it was stopped for it and never ran since.
func (o Incarnation) isAsRestored() bool {
	r := o.survivor()
	return o.isFlushed(r) && r.Pod == nil || r.Answer != nil && r.Answer.Revision == o.Birth.Next.Origin.Revision
}

// guardRead starts no member on a volume that a restore Pod reads.
func (o Incarnation) guardRead(r Replica) string {
	if o.isFlushed(r) {
		return fmt.Sprintf("the volume of %s is being read.", r.Name)
	}
	return ""
}

// mayStopSurvivor reports a member that is to be read on its volume, as somebody approved, and that can serve nobody.
func (o view) mayStopSurvivor(r Replica) bool {
	_, isApproved := o.approvedNow(o.Birth.Next.Restore)
	return isApproved && o.isFlushed(r) && o.isQuorumGone() && r.isKept() && r.Answer == nil
}

// whyNotSurvivor says why a member cannot be rebuilt from, or "".
func (o view) whyNotSurvivor(r Replica) string {
	record := r.Record()
	switch {
	case record.IsZero():
		return fmt.Sprintf("nothing says that %q was ever a member of this cluster", r.Name)
	case r.Incarnation() != o.Birth.Incarnation || record.ClusterID != o.Birth.ClusterID:
		return fmt.Sprintf("%s holds the data of cluster %s (incarnation %s), and this is %s (incarnation %s)", r.Name, record.ClusterID, r.Incarnation(), o.Birth.ClusterID, o.Birth.Incarnation)
	case o.Judge(r).IsLost():
		return fmt.Sprintf("the data of %s is lost: %s", r.Name, o.Judge(r).Says)
	case r.Answer != nil && !record.IsOf(r.Answer.ClusterID, r.Answer.ID):
		return fmt.Sprintf("%s answers as member %s of cluster %s, and its volume is recorded as member %s of %s", r.Name, r.Answer.ID, r.Answer.ClusterID, record.MemberID, record.ClusterID)
	case r.Answer == nil && !o.mayRestart(r) || r.Pod != nil && r.cannotRun():
		return fmt.Sprintf("%s neither answers nor can be started once more to be read; restore from a backup", r.Name)
	}
	return ""
}
