package plan

import (
	"fmt"
	"slices"
	"time"
)

// What one survivor of a lost quorum holds is asked of it while it runs. One that does not answer, because it was started without the
// others, has its data on its volume: it runs once, long enough to take in what it wrote last, is stopped, and is read there.

// flushTime is how long a member runs alone before all that it ever committed is in its database: it replays its log at the start, and
// writes the database out ten times a second (etcd-io/etcd:server/storage/backend/backend.go defaultBatchInterval).
const flushTime = 30 * time.Second

// survivor is the member whose data the life that is laid begins with, or an empty replica.
func (o Observation) survivor() Replica {
	if o.Birth.Coming.Survivor == "" {
		return Replica{}
	}
	return o.Find(o.Birth.Coming.Survivor)
}

// isFlushed reports a member that ran for long enough, and is to be read on its volume.
func (o Observation) isFlushed(r Replica) bool {
	return o.isLaying() && r.Name == o.Birth.Coming.Survivor && r.Volume != nil && r.Volume.Flushed == o.Birth.Coming.Incarnation
}

// flushSurvivor stops a survivor that does not answer, once it ran for long enough. It returns nil when its data can be had.
func flushSurvivor(o Observation) *proposal {
	r := o.survivor()
	if r.Name == "" || o.isBeingRead() || !o.isFlushed(r) && r.Answer != nil {
		return nil
	}
	if why := o.whyNotSurvivor(r); why != "" {
		return refuse(ReasonRestoreHeld, "What %s holds cannot be laid: %s.", r.Name, why).byHuman()
	}
	if o.isFlushed(r) {
		return o.stopSurvivor(r)
	}
	pod := r.Pod
	switch {
	case pod != nil && pod.Running && !pod.neverReady():
		return refuse(ReasonRestoreHeld, "%s runs and has served since it started, and does not answer. Let the operator reach it; or, if that cannot be, delete its Pod: it is then started once more, and read on its volume.", r.Name).byHuman()
	case o.hasFlushed(r):
		return act(MarkFlushed{Life: o.Birth.Coming.Incarnation, Volume: r.volumeRef()}, ReasonInPlace, "%s has run long enough to write out all that it had; that is written on its volume.", r.Name)
	}
	p := wait(ReasonInPlace, "%s does not answer. It runs for %s without the others, to write out all that it has, and is then read.", r.Name, flushTime)
	return p.due(o, podChange(pod), startDeadline)
}

// clearUnread gives up the volumes that were made to be written to from afar: whoever reads the survivor's volume mounts both, and
// one that was bound somewhere else could not be mounted beside it.
func clearUnread(o Observation) *proposal {
	const read = "What %s holds is read on its volume; "
	survivor := o.Birth.Coming.Survivor
	for _, r := range filter(o.Coming, o.isUnread) {
		switch {
		case r.Restoring != nil && r.Restoring.Terminating:
			return r.Restoring.leaving(o, ReasonInPlace, "The restore Pod of %s is terminating.", r.Name)
		case r.Restoring != nil:
			return act(DeleteRestores{Pods: []PodRef{r.restoreRef()}}, ReasonInPlace, read+"the Pod of %s that did not get it by asking is deleted.", survivor, r.Name)
		case !r.Volume.Terminating:
			return act(DeleteVolumes{Volumes: []VolumeRef{r.volumeRef()}}, ReasonInPlace, read+"the new volume of %s, which nobody ever lived on, is made anew beside it.", survivor, r.Name)
		}
	}
	return nil
}

// isUnread reports a volume that was to get what a survivor says, and that got nothing before that one had to be read on its own.
func (o Observation) isUnread(r Replica) bool {
	survivor := o.survivor()
	return survivor.Name != "" && r.Volume != nil && !r.isRestored() && !o.isBeingRead() && !o.isFlushed(survivor) && o.hasFlushed(survivor)
}

// stopSurvivor lets a member go that has written out all it had.
func (o Observation) stopSurvivor(r Replica) *proposal {
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
	return slices.ContainsFunc(o.Coming, func(r Replica) bool { return r.isRestored() || r.Restoring != nil && !r.Restoring.HasFailed() })
}

// hasFlushed reports a process that can only start from its own data, and has run for long enough without ever serving. Reading a
// long log may take minutes, in which nothing is written out.
func (o Observation) hasFlushed(r Replica) bool {
	return r.Answer == nil && r.isKept() && !r.Pod.Terminating && r.Pod.neverReady() && r.Pod.Booted && o.Now.Sub(r.Pod.RunningSince) > flushTime
}

// readFrom is how a restore Pod gets what the survivor holds: from its volume, or else by asking it.
func (o Observation) readFrom(l Laying) Laying {
	l.Survivor = o.Birth.Coming.Survivor
	if r := o.survivor(); o.isFlushed(r) {
		l.Mounts = r.Name
	}
	return l
}

// guardFlushed believes only of a process that runs without the others that it wrote out all that it had.
func guardFlushed(o Observation, c MarkFlushed) string {
	r := o.Find(c.Volume.Name)
	if !o.isLaying() || c.Life != o.Birth.Coming.Incarnation || r.Name != o.Birth.Coming.Survivor || !r.hasVolume(c.Volume) || !o.isCertainlyLost() || !o.hasFlushed(r) {
		return fmt.Sprintf("%s is not known to have run alone for long enough.", c.Volume.Name)
	}
	return ""
}

// isOvertaken reports that the cluster went on since a life without a backup was promised, or may go on once its survivor is started
// again; or that a name of that life turned out to be a member's. What was laid of it by then is of the past, also when the quorum is
// lost once more, by when the evidence is the same again.
func (o Observation) isOvertaken() bool {
	l, r := o.Birth.Coming, o.survivor()
	switch {
	case l.IsZero():
		return false
	case o.namesake() != nil:
		return true
	case l.Source == SourceBackup:
		return false
	case o.hasQuorum():
		return true
	case o.isFlushed(r):
		_, isApproved := o.approvedNow(l.Restore)
		return !isApproved || !o.isCertainlyLost()
	}
	return r.Answer != nil && l.Source == SourceSurvivor && r.Answer.Revision != l.Origin.Revision
}

// isAsLaid reports whether the survivor holds what it held when that was laid: it says so, or it was stopped for it and never ran since.
func (o Observation) isAsLaid() bool {
	r := o.survivor()
	return o.isFlushed(r) && r.Pod == nil || r.Answer != nil && r.Answer.Revision == o.Birth.Coming.Origin.Revision
}

// guardRead starts no member on a volume that a restore Pod reads.
func (o Observation) guardRead(r Replica) string {
	if o.isFlushed(r) {
		return fmt.Sprintf("the volume of %s is being read.", r.Name)
	}
	return ""
}

// mayStopSurvivor reports a member that is to be read on its volume, as somebody approved, and that can serve nobody.
func (o Observation) mayStopSurvivor(r Replica) bool {
	_, isApproved := o.approvedNow(o.Birth.Coming.Restore)
	return isApproved && o.isFlushed(r) && o.isCertainlyLost() && r.isKept() && r.Answer == nil
}

// whyNotSurvivor says why a member cannot be rebuilt from, or "".
func (o Observation) whyNotSurvivor(r Replica) string {
	record := r.Record()
	switch {
	case record.IsZero():
		return fmt.Sprintf("nothing says that %q was ever a member of this cluster", r.Name)
	case r.incarnation() != o.Birth.Incarnation || record.ClusterID != o.Birth.ClusterID:
		return fmt.Sprintf("%s holds the data of cluster %s (life %s), and this is %s (life %s)", r.Name, record.ClusterID, r.incarnation(), o.Birth.ClusterID, o.Birth.Incarnation)
	case o.isDataLost(r) != "":
		return fmt.Sprintf("the data of %s is lost: %s", r.Name, o.isDataLost(r))
	case r.Answer != nil && !record.isOf(*r.Answer):
		return fmt.Sprintf("%s answers as member %s of cluster %s, and its volume is recorded as member %s of %s", r.Name, r.Answer.ID, r.Answer.ClusterID, record.MemberID, record.ClusterID)
	case r.Answer == nil && !o.mayRestart(r) || r.Pod != nil && r.isHopeless():
		return fmt.Sprintf("%s neither answers nor can be started once more to be read; restore from a backup", r.Name)
	}
	return ""
}

// isOf reports whether the member that was written down is the one that answered.
func (r Record) isOf(a Answer) bool { return a.ClusterID == r.ClusterID && a.ID == r.MemberID }

// isDataLost takes a last word for what it is although the container is being started once more, as it is again and again.
func (o Observation) isDataLost(r Replica) string {
	if why := o.answersAsAnother(r); why != "" {
		return why
	}
	if r.Answer == nil && r.Pod != nil && !r.Pod.Ready && r.Pod.Running {
		stopped := *r.Pod
		stopped.Running = false
		r.Pod = &stopped
	}
	return r.lostData()
}

// answersAsAnother says as part of which other cluster a process answers than its volume and the birth record both say, or "". Where
// these two differ, nobody knows which of them is wrong, and no data is called lost for it.
func (o Observation) answersAsAnother(r Replica) string {
	if r.Answer == nil || o.Birth.ClusterID == 0 || r.Answer.ClusterID == o.Birth.ClusterID || r.Record().ClusterID != o.Birth.ClusterID {
		return ""
	}
	return fmt.Sprintf("its directory holds the data of cluster %s", r.Answer.ClusterID)
}
