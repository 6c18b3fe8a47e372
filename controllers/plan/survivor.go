package plan

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// flushSurvivor stops a survivor that does not answer, once it ran for long enough. It returns nil when its data can be
// had.
func flushSurvivor(o judge.View) *proposal {
	r := o.Survivor()
	if r.Name == "" || o.IsBeingRead() || !o.IsFlushed(r) && r.Answer != nil {
		return nil
	}
	if why := whyNotSurvivor(o, r); why != "" {
		return refuse(facts.ReasonRestoreHeld, "What %s holds cannot be restored: %s.", r.Name, why).byHuman()
	}
	if o.IsFlushed(r) {
		return stopSurvivor(o, r)
	}
	if r.IsPutBack() {
		return act(changes.MarkFlushed{Incarnation: o.Birth.Next.Incarnation, Volume: r.VolumeRef()},
			facts.ReasonInPlace, "%s is not started, as its volume was put back by other means. It is read as it is.",
			r.Name)
	}
	return flush(o, r)
}

// flush has a survivor run for long enough to write out all that it has.
func flush(o judge.View, r facts.Replica) *proposal {
	pod := r.Pod
	switch {
	case pod != nil && pod.Running && !pod.NeverReady():
		return refuse(facts.ReasonRestoreHeld, "%s runs and has served since it started, and does not answer. Let "+
			"the operator reach it; or, if that cannot be, delete its Pod: it is then started once more, and read on "+
			"its volume.", r.Name).byHuman()
	case o.HasFlushed(r):
		return act(changes.MarkFlushed{Incarnation: o.Birth.Next.Incarnation, Volume: r.VolumeRef()},
			facts.ReasonInPlace, "%s has run long enough to write out all that it had; that is written on its volume.",
			r.Name)
	}
	p := wait(facts.ReasonInPlace, "%s does not answer. It runs for %s without the others, to write out all that it "+
		"has, and is then read.", r.Name, facts.FlushTime)
	return p.due(o, facts.PodChange(pod), facts.StartDeadline)
}

// clearUnread gives up the volumes that were made to be written to from afar: whoever reads the survivor's volume
// mounts both, and one that was bound somewhere else could not be mounted beside it.
func clearUnread(o judge.View) *proposal {
	const read = "What %s holds is read on its volume; "
	survivor := o.Birth.Next.Survivor
	for _, r := range facts.Filter(o.Next.Members, o.IsUnread) {
		switch {
		case r.Restoring != nil && r.Restoring.Terminating:
			return taskLeaving(r.Restoring.Task, o, facts.ReasonInPlace, "The restore Pod of %s is terminating.",
				r.Name)
		case r.Restoring != nil:
			return act(changes.DeleteRestores{Pods: []facts.PodRef{restoreRef(r)}}, facts.ReasonInPlace, read+
				"the Pod of %s that did not get it by asking is deleted.", survivor, r.Name)
		case !r.Volume.Terminating:
			return act(changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}}, facts.ReasonInPlace, read+
				"the new volume of %s, which no member ever used, is made anew beside it.", survivor, r.Name)
		}
	}
	return nil
}

// stopSurvivor lets a member go that has written out all it had.
func stopSurvivor(o judge.View, r facts.Replica) *proposal {
	switch {
	case r.Pod == nil:
		return nil
	case r.Pod.Terminating:
		return wait(facts.ReasonInPlace, "%s is stopping; then its volume is read.%s", r.Name, heldAmong(r)).due(o,
			r.Pod.GoneBy, facts.LeavingDeadline)
	}
	return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, facts.ReasonInPlace,
		"%s, which cannot serve without the others, is stopped; its volume is read.", r.Name)
}

// readFrom is how a restore Pod gets what the survivor holds: from its volume, or else by asking it.
func readFrom(o facts.Incarnation, l changes.Laying) changes.Laying {
	l.Survivor = o.Birth.Next.Survivor
	if r := o.Survivor(); o.IsFlushed(r) {
		l.Mounts = r.Name
	}
	return l
}

// whyNotSurvivor says why a member cannot be rebuilt from, or "".
func whyNotSurvivor(o judge.View, r facts.Replica) string {
	record := r.Record()
	switch {
	case o.WhyNoRoomFor(r) != "":
		return o.WhyNoRoomFor(r)
	case record.IsZero():
		return fmt.Sprintf("nothing says that %q was ever a member of this cluster", r.Name)
	case r.Incarnation() != o.Birth.Incarnation || record.ClusterID != o.Birth.ClusterID:
		return fmt.Sprintf("%s holds the data of cluster %s (incarnation %s), and this is %s (incarnation %s)", r.Name,
			record.ClusterID, r.Incarnation(), o.Birth.ClusterID, o.Birth.Incarnation)
	case r.IsPutBack():
		return ""
	}
	return whyNotRead(o, r)
}

// whyNotRead says why what a member of this incarnation holds cannot be had, or "".
func whyNotRead(o judge.View, r facts.Replica) string {
	record := r.Record()
	switch {
	case o.Judge(r).IsLost():
		return fmt.Sprintf("the data of %s is lost: %s", r.Name, o.Judge(r).Says)
	case r.Answer != nil && !record.IsOf(r.Answer.ClusterID, r.Answer.ID):
		return fmt.Sprintf("%s answers as member %s of cluster %s, and its volume is recorded as member %s of %s",
			r.Name, r.Answer.ID, r.Answer.ClusterID, record.MemberID, record.ClusterID)
	case r.Answer == nil && !o.MayRestart(r) || r.Pod != nil && r.CannotRun():
		return fmt.Sprintf("%s neither answers nor can be started once more to be read; restore from a backup", r.Name)
	}
	return ""
}
