package guard

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The guard's part about bootstraps that begin with a backup, and about all Pods that run to an end once.

// guardTask is asked of Pods that run to their end once, and of what is written down of them.
func guardTask(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.StartPreflight:
		return guardPreflight(o, c)
	case changes.DeletePreflight:
		if o.Preflight == nil || o.Preflight.UID != c.UID {
			return "the preflight Pod is another one by now."
		}
	case changes.RecordRestored:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardRestored(o, c.Incarnation, ref) })
	case changes.DeleteRestores:
		return first(c.Pods, func(ref facts.PodRef) string { return guardDeleteRestore(o, ref) })
	default:
		return fmt.Sprintf("%T is no task.", c)
	}
	return ""
}

// guardPreflight has nothing looked at but what a bootstrap that is to come asks for.
func guardPreflight(o facts.View, c changes.StartPreflight) string {
	switch {
	case isAskedInPlace(o, c.Asked) && o.Preflight == nil:
		return ""
	case o.IsAlive() || o.Bootstrap.Exists() && !o.Bootstrap.Void:
		return "the cluster has begun already."
	case o.Preflight != nil:
		return "another preflight Pod is there."
	case c.Asked.WantedBackup.IsZero() || c.Asked.Fault != "" || c.Asked != o.Inquiry():
		return "the spec asks for something else."
	}
	return ""
}

// guardOrigin lets a bootstrap begin with just what the spec asks for, as it was found in this very observation.
func guardOrigin(o facts.View, origin record.Origin) string {
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
	if why := o.Unfit(origin); why != "" {
		return why + "."
	}
	return ""
}

// guardRestored believes that a volume was restored only of a Pod that succeeded on it, in this incarnation.
func guardRestored(o facts.View, incarnation string, ref facts.VolumeRef) string {
	if _, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		o = o.OfNext()
	}
	r := o.Find(ref.Name)
	switch {
	case !r.HasVolume(ref) || r.Volume.Terminating || r.Volume.Incarnation != incarnation ||
		o.Bootstrap.Incarnation != incarnation:
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	case o.Bootstrap.Void || o.Bootstrap.Origin.IsZero():
		return "this bootstrap does not begin with a backup."
	case r.Restoring == nil || !r.Restoring.HasSucceeded() || r.Restoring.Incarnation != incarnation:
		return fmt.Sprintf("nothing says that the backup was restored on the volume of %s completely.", ref.Name)
	}
	return ""
}

// guardDeleteRestore keeps a restore Pod until what it did is written down, unless nobody needs it any more.
func guardDeleteRestore(o facts.View, ref facts.PodRef) string {
	if r, isFormer := facts.Find(o.FormerMembers(), ref.Name); isFormer && r.Restoring != nil &&
		r.Restoring.UID == ref.UID {
		return "" // what its incarnation began with is past
	}
	if _, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		return guardNextRestore(o, ref)
	}
	return guardSpentRestore(o, ref)
}

func guardSpentRestore(o facts.View, ref facts.PodRef) string {
	r := o.Find(ref.Name)
	switch pod := r.Restoring; {
	case pod == nil || pod.UID != ref.UID:
		return fmt.Sprintf("the restore Pod of %s is another one by now.", ref.Name)
	case pod.HasSucceeded() && !r.IsRestored() && !o.IsAlive() && !isVoided(o.Incarnation, pod.Incarnation) &&
		!isOtherIncarnation(o.Incarnation, pod.Incarnation):
		return fmt.Sprintf("nothing but this Pod says that the backup lies on the volume of %s.", ref.Name)
	}
	return ""
}

// guardRestoring lets a backup be restored only on a volume that no member ever had.
func guardRestoring(o facts.View, l changes.Restoring) string {
	r := o.Find(l.Name)
	switch {
	case o.Bootstrap.Origin.IsZero() || !slices.Contains(o.Bootstrap.Names, l.Name):
		return fmt.Sprintf("%s is no first member that begins with a backup.", l.Name)
	case r.Pod != nil || r.IsRecorded() || r.IsRestored() || r.Restoring != nil:
		return fmt.Sprintf("the volume of %s has its data already, or is just getting it.", l.Name)
	case !o.Bootstrap.Origin.Version.SameMinor(l.Settings.Version):
		return fmt.Sprintf("the backup of etcd %s cannot be restored with %s.", o.Bootstrap.Origin.Version,
			l.Settings.Version)
	}
	return ""
}

// guardRoom makes no first member with settings that leave no room for what it begins with.
func guardRoom(o facts.View, made []changes.NewVolume) string {
	return first(made, func(v changes.NewVolume) string { return whyNoRoom(o, v.Name, v.Settings) })
}

func whyNoRoom(o facts.View, name string, c facts.Settings) string {
	if c.WhyNoRoom(o.Bootstrap.Origin) != "" {
		return fmt.Sprintf("what %s begins with has no room with these settings.", name)
	}
	return ""
}

// guardFirstStart lets a first member start empty only where nothing is to be restored, and otherwise only from what
// was.
func guardFirstStart(o facts.View, s changes.Start) string {
	r := o.Find(s.Name)
	switch {
	case !slices.Contains(o.Bootstrap.Names, s.Name):
		return fmt.Sprintf("%s is not a first member.", s.Name)
	case !o.IsFilled(r):
		return fmt.Sprintf("the backup that %s begins with does not lie on its volume yet.", s.Name)
	case r.Restoring != nil && !(r.IsRestored() && r.Restoring.Terminating):
		return fmt.Sprintf("the restore Pod of %s still uses its volume.", s.Name)
	case r.IsRestored():
		return guardSealed(o, r, s)
	case s.Flags != facts.FlagsBootstrap:
		return fmt.Sprintf("%s has no data to start from.", s.Name)
	}
	return ""
}

// whyNotRestored says why etcd of this version must not start on what was restored for a member, or "".
func whyNotRestored(o facts.Incarnation, r facts.Replica, version etcdutil.Version) string {
	if wrote := restoredWith(o, r); !wrote.SameMinor(version) {
		return fmt.Sprintf("it was restored for etcd %s", wrote)
	}
	return ""
}

// restoredWith is the version of etcd that may start on restored data: the one that wrote the backup, or, where nobody
// knows that any more, the one whose tools restored it.
func restoredWith(o facts.Incarnation, r facts.Replica) etcdutil.Version {
	if v := o.Bootstrap.Origin.Version; !v.IsZero() {
		return v
	}
	return r.Settings().Version
}
