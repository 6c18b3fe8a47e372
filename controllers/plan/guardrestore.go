package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// The guard's part about births that begin with a backup.

func guardRestore(o view, c Change) string {
	switch c := c.(type) {
	case StartPreflight:
		return guardPreflight(o, c)
	case DeletePreflight:
		if o.Preflight == nil || o.Preflight.UID != c.UID {
			return "the preflight Pod is another one by now."
		}
	case RecordRestored:
		return first(c.Volumes, func(ref VolumeRef) string { return guardRestored(o, c.Incarnation, ref) })
	case DeleteRestores:
		return first(c.Pods, func(ref PodRef) string { return guardDeleteRestore(o, ref) })
	default:
		return fmt.Sprintf("%T is no part of a restore.", c)
	}
	return ""
}

// guardPreflight has nothing looked at but what a birth that is to come asks for.
func guardPreflight(o view, c StartPreflight) string {
	switch {
	case o.isAskedInPlace(c.Asked) && o.Preflight == nil:
		return ""
	case o.isAlive() || o.Birth.Exists() && !o.Birth.Void:
		return "the cluster has begun already."
	case o.Preflight != nil:
		return "another preflight Pod is there."
	case c.Asked.WantedBackup.IsZero() || c.Asked.Fault != "" || c.Asked != o.inquiry():
		return "the spec asks for something else."
	}
	return ""
}

// guardOrigin lets a birth begin with just what the spec asks for, as it was found in this very observation.
func guardOrigin(o view, origin record.Origin) string {
	switch p := o.Preflight; {
	case origin.Hash != o.Desired.Restore.Hash || o.Desired.Restore.Fault != "":
		return "the spec asks to begin with another backup, or with none."
	case origin.IsZero():
		return ""
	case o.Desired.Ephemeral:
		return "a backup cannot be restored where the data lives in Pods."
	case p == nil || !p.HasSucceeded() || p.Found != origin:
		return "no preflight Pod found this backup."
	case origin.Key == "" || origin.SHA256 == "":
		return "nothing says which backup this is."
	}
	if why := o.unfit(origin); why != "" {
		return why + "."
	}
	return ""
}

// guardRestored believes that a volume was restored only of a Pod that succeeded on it, in this incarnation.
func guardRestored(o view, incarnation string, ref VolumeRef) string {
	if _, isNext := find(o.Next.Members, ref.Name); isNext {
		o = o.ofNext()
	}
	r := o.Find(ref.Name)
	switch {
	case !r.hasVolume(ref) || r.Volume.Terminating || r.Volume.Incarnation != incarnation || o.Birth.Incarnation != incarnation:
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	case o.Birth.Void || o.Birth.Origin.IsZero():
		return "this birth does not begin with a backup."
	case r.Restoring == nil || !r.Restoring.HasSucceeded() || r.Restoring.Incarnation != incarnation:
		return fmt.Sprintf("nothing says that the backup was restored on the volume of %s completely.", ref.Name)
	}
	return ""
}

// guardDeleteRestore keeps a restore Pod until what it did is written down, unless nobody needs it any more.
func guardDeleteRestore(o view, ref PodRef) string {
	if r, isFormer := find(o.FormerMembers(), ref.Name); isFormer && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return "" // what its incarnation began with is past
	}
	if _, isNext := find(o.Next.Members, ref.Name); isNext {
		return o.guardNextRestore(ref)
	}
	return guardSpentRestore(o, ref)
}

func guardSpentRestore(o view, ref PodRef) string {
	r := o.Find(ref.Name)
	switch pod := r.Restoring; {
	case pod == nil || pod.UID != ref.UID:
		return fmt.Sprintf("the restore Pod of %s is another one by now.", ref.Name)
	case pod.HasSucceeded() && !r.isRestored() && !o.isAlive() && !o.isVoided(pod.Incarnation) && !o.isOtherIncarnation(pod.Incarnation):
		return fmt.Sprintf("nothing but this Pod says that the backup lies on the volume of %s.", ref.Name)
	}
	return ""
}

// guardLaying lets a backup be restored only on a volume that no member ever had.
func guardLaying(o view, l Laying) string {
	r := o.Find(l.Name)
	switch {
	case o.Birth.Origin.IsZero() || !slices.Contains(o.Birth.Names, l.Name):
		return fmt.Sprintf("%s is no first member that begins with a backup.", l.Name)
	case r.Pod != nil || r.IsRecorded() || r.isRestored() || r.Restoring != nil:
		return fmt.Sprintf("the volume of %s has its data already, or is just getting it.", l.Name)
	case !o.Birth.Origin.Version.SameMinor(l.Choices.Version):
		return fmt.Sprintf("the backup of etcd %s cannot be restored with %s.", o.Birth.Origin.Version, l.Choices.Version)
	}
	return ""
}

// guardFirstStart lets a first member start empty only where nothing is to be restored, and otherwise only from what was.
func guardFirstStart(o view, s Start) string {
	r := o.Find(s.Name)
	switch {
	case !slices.Contains(o.Birth.Names, s.Name):
		return fmt.Sprintf("%s is not a first member.", s.Name)
	case !o.isFilled(r):
		return fmt.Sprintf("the backup that %s begins with does not lie on its volume yet.", s.Name)
	case r.Restoring != nil:
		return fmt.Sprintf("the restore Pod of %s still uses its volume.", s.Name)
	case r.isRestored():
		return guardSealed(o, r, s)
	case s.Flags != FlagsBirth:
		return fmt.Sprintf("%s has no data to start from.", s.Name)
	}
	return ""
}
