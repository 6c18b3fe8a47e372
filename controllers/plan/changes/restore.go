package changes

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// StartPreflight creates the Pod that looks at the backup to begin with.
type StartPreflight struct{ Asked facts.Inquiry }

func (StartPreflight) traits() Traits { return Traits{} }

func (StartPreflight) words() Words {
	return says("Start", "starts", "Started", "the preflight Pod", EventPodStarted)
}

// veto has nothing looked at but what a bootstrap that is to come asks for.
func (c StartPreflight) veto(o facts.View) Veto {
	switch {
	case isAskedInPlace(o, c.Asked) && o.Preflight == nil:
		return Veto{}
	case o.IsAlive() || o.Bootstrap.Exists() && !o.Bootstrap.Void:
		return incarnationAtRisk("the cluster has begun already.")
	case o.Preflight != nil:
		return incarnationAtRisk("another preflight Pod is there.")
	case c.Asked.WantedBackup.IsZero() || c.Asked.Fault != "" || c.Asked != o.Inquiry():
		return incarnationAtRisk("the spec asks for something else.")
	}
	return Veto{}
}

// isAskedInPlace reports whether an approved EtcdRestore needs what a preflight would find.
func isAskedInPlace(o facts.View, asked facts.Inquiry) bool {
	if o.IsPreparing() || o.Bootstrap.Void {
		return false
	}
	return slices.ContainsFunc(o.Requests, func(r facts.Request) bool {
		_, isApproved := o.ApprovedNow(r.ID)
		return isApproved && r.Source == record.SourceBackup && o.Asking(r).Inquiry() == asked
	})
}

// DeletePreflight deletes that Pod.
type DeletePreflight struct{ UID string }

func (DeletePreflight) traits() Traits { return Traits{} }

func (DeletePreflight) words() Words {
	return says("Delete", "deletes", "Deleted", "the preflight Pod", EventPodDeleted)
}

func (c DeletePreflight) veto(o facts.View) Veto {
	if o.Preflight == nil || o.Preflight.UID != c.UID {
		return identityAtRisk("the preflight Pod is another one by now.")
	}
	return Veto{}
}

// Restoring is a restore Pod to make: it restores the bootstrap's backup on the volume of one first member.
type Restoring struct {
	Name     string              // of the member
	Initial  []etcdutil.NamedURL // the first members, which the restored data will know
	Settings facts.Settings

	Survivor string // the member whose data is restored there instead of a backup; empty for a backup
	Mounts   string // the volume of that member, where it does not run: read there instead of asked of it

	Holds bool // nothing is restored: it was, and the Pod holds the place of the member
}

// guardRestoring lets a backup be restored only on a volume that no member ever had.
func guardRestoring(o facts.View, l Restoring) Veto {
	r := o.Find(l.Name)
	switch {
	case o.Bootstrap.Origin.IsZero() || !slices.Contains(o.Bootstrap.Names, l.Name):
		return identityAtRisk("%s is no first member that begins with a backup.", l.Name)
	case r.Pod != nil || r.IsRecorded() || r.IsRestored() || r.Restoring != nil:
		return dataAtRisk("the volume of %s has its data already, or is just getting it.", l.Name)
	case !o.Bootstrap.Origin.Version.SameMinor(l.Settings.Version):
		return dataAtRisk("the backup of etcd %s cannot be restored with %s.", o.Bootstrap.Origin.Version,
			l.Settings.Version)
	}
	return Veto{}
}

// RecordRestored writes on volumes that the backup of this incarnation lies there completely.
type RecordRestored struct {
	Incarnation string
	Volumes     []facts.VolumeRef
}

func (RecordRestored) traits() Traits { return Traits{} }

func (c RecordRestored) words() Words { return marked(c.Volumes, "as restored") }

func (c RecordRestored) veto(o facts.View) Veto {
	return first(c.Volumes, func(ref facts.VolumeRef) Veto { return guardRestored(o, c.Incarnation, ref) })
}

// guardRestored believes that a volume was restored only of a Pod that succeeded on it, in this incarnation.
func guardRestored(o facts.View, incarnation string, ref facts.VolumeRef) Veto {
	if _, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		o = o.OfNext()
	}
	r := o.Find(ref.Name)
	switch {
	case !r.HasVolume(ref) || r.Volume.Terminating || r.Volume.Incarnation != incarnation ||
		o.Bootstrap.Incarnation != incarnation:
		return identityAtRisk("the volume %s is another one by now.", ref.Name)
	case o.Bootstrap.Void || o.Bootstrap.Origin.IsZero():
		return incarnationAtRisk("this bootstrap does not begin with a backup.")
	case r.Restoring == nil || !r.Restoring.HasSucceeded() || r.Restoring.Incarnation != incarnation:
		return dataAtRisk("nothing says that the backup was restored on the volume of %s completely.", ref.Name)
	}
	return Veto{}
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

// DeleteRestores deletes restore Pods, which are named by their members.
type DeleteRestores struct{ Pods []facts.PodRef }

func (DeleteRestores) traits() Traits { return Traits{} }

func (c DeleteRestores) words() Words {
	return says("Delete", "deletes", "Deleted", "the restore Pod", EventPodDeleted).of(podNames(c.Pods))
}

func (c DeleteRestores) veto(o facts.View) Veto {
	return first(c.Pods, func(ref facts.PodRef) Veto { return guardDeleteRestore(o, ref) })
}

// guardDeleteRestore keeps a restore Pod until what it did is written down, unless nobody needs it any more.
func guardDeleteRestore(o facts.View, ref facts.PodRef) Veto {
	if r, isFormer := facts.Find(o.FormerMembers(), ref.Name); isFormer && r.Restoring != nil &&
		r.Restoring.UID == ref.UID {
		return Veto{} // what its incarnation began with is past
	}
	if _, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		return guardNextRestore(o, ref)
	}
	return guardSpentRestore(o, ref)
}

// guardNextRestore keeps a restore Pod whose word is still needed.
func guardNextRestore(o facts.View, ref facts.PodRef) Veto {
	r, _ := facts.Find(o.Next.Members, ref.Name)
	isSpent := o.LacksVolume(r) || o.IsUnread(r) || !guardUnwanted(o).Holds()
	if isSpent && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return Veto{}
	}
	return guardSpentRestore(o.OfNext(), ref)
}

func guardSpentRestore(o facts.View, ref facts.PodRef) Veto {
	r := o.Find(ref.Name)
	switch pod := r.Restoring; {
	case pod == nil || pod.UID != ref.UID:
		return identityAtRisk("the restore Pod of %s is another one by now.", ref.Name)
	case pod.HasSucceeded() && !r.IsRestored() && !o.IsAlive() && !isVoided(o.Incarnation, pod.Incarnation) &&
		!isOtherIncarnation(o.Incarnation, pod.Incarnation):
		return dataAtRisk("nothing but this Pod says that the backup lies on the volume of %s.", ref.Name)
	}
	return Veto{}
}
