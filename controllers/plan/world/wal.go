package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Write-ahead logs on volumes of their own. Such a log is a half of a member's volume: while its claim is deleted the
// volume is going, and once that is gone the disk has no log any more.

// MoveWAL is a user who asks for another volume of the logs, for one at all, or for none.
func (w *World) MoveWAL() {
	asked := []facts.WAL{{}, {Bytes: 1 << 30, StorageClass: "a"}, {Bytes: 1 << 30, StorageClass: "b"},
		{Bytes: 2 << 30, StorageClass: "a"}}
	if !w.Spec.Ephemeral {
		w.Spec.WAL = asked[w.chance(len(asked), "volume of the log", "")]
		w.logf("spec: volumes of the logs %+v", w.Spec.WAL)
	}
}

// LoseWAL is a person's kubectl delete pvc of the claim of a log, or of that with its Pod.
func (w *World) LoseWAL(name string) {
	if v, ok := w.objects.volumes[name]; ok && !v.WAL.IsZero() && !v.Terminating && v.Torn == "" {
		v.Terminating, v.isHalfGoing = true, true
		w.objects.volumes[name] = v
		w.logf("fault: the volume of the log of %s deleted", name)
		if w.chance(2, "the Pod too", name) == 0 {
			w.DeletePod(name)
		}
	}
}

// RemakeWAL is a person who makes that claim anew once it is gone: a Pod can be scheduled with it.
func (w *World) RemakeWAL(name string) {
	if v, ok := w.objects.volumes[name]; ok && v.Torn != "" && !v.isHalfMade {
		v.Torn, v.isHalfMade = "another volume has the place of the one of its write-ahead log", true
		w.objects.volumes[name] = v
		w.logf("fault: an empty volume has the place of the log of %s", name)
	}
}

// lostLog is how the observer says so.
const lostLog = "the volume of its write-ahead log is gone"

// loseHalf is the end of such a claim, once no scheduled Pod refers to it.
func (w *World) loseHalf(name string) {
	v := w.objects.volumes[name]
	v.Terminating, v.isHalfGoing = false, false
	v.Torn, v.Phase, v.Half = lostLog, facts.VolumeLost, facts.Half{}
	w.objects.volumes[name] = v
	if d := w.disks[v.UID]; d != nil && !d.isEmpty() {
		d.hasNoLog = true
		if !w.sealed[d.member] {
			w.unsealedLoss = true
		}
	}
}

// startWithoutLog is what etcd does with data and an empty log beside them: it goes by its flags, as if there were no
// data.
func (w *World) startWithoutLog(p pod, d *disk) etcdutil.ExitReason {
	if p.seen.NeedData() {
		return etcdutil.ExitDataEmpty
	}
	if w.sealed[d.member] {
		w.violate("I4: %s begins an empty log beside its data", w.nameOf(p))
	}
	return etcdutil.ExitAlreadyBootstrapped
}

// bindLog makes the claim of a log together with that of the data.
func (v *volume) bindLog(name string) {
	if !v.WAL.IsZero() && v.Torn == "" {
		v.Half = facts.Half{VolumeRef: facts.VolumeRef{Name: name + "-wal", UID: v.UID + "-wal"}, Bytes: v.WAL.Bytes,
			Capacity: v.WAL.Bytes, Attributes: asking(v.WAL.Attributes)}
		v.Half.Attributes.Has = v.WAL.Attributes
	}
}

// expandLog has the claim of a log ask for another size.
func (w *World) expandLog(c changes.ExpandVolume) {
	v, ok := w.objects.volumes[c.LogOf]
	if !ok || v.Half.VolumeRef != c.Volume {
		return
	}
	w.editVolume(facts.VolumeRef{Name: c.LogOf, UID: v.UID}, func(v *volume) {
		if c.Bytes <= v.Half.Capacity {
			w.violate("the log of %s was to shrink from %d to %d", c.LogOf, v.Half.Capacity, c.Bytes)
			return
		}
		w.checkGrowsAlone(c.LogOf, v.owner)
		v.Half.Bytes, v.WAL.Bytes = c.Bytes, w.Spec.WAL.Bytes
		v.Half.Growth = facts.Growth{State: facts.GrowthUnderWay, Since: w.Now}
	})
}

// advanceLog is the storage that makes the volume of a log larger, or takes its time.
func (w *World) advanceLog(name string) {
	v := w.objects.volumes[name]
	if v.Half.Growth.State == facts.GrowthNone {
		return
	}
	if v.Half.Growth.State = facts.GrowthAtNode; w.chance(4, "the storage of the log takes its time", v.UID) == 0 {
		v.Half.Capacity, v.Half.Growth = v.Half.Bytes, facts.Growth{}
		w.makeRoom(v.UID)
	}
	w.logf("storage: growth of the log of %s: %q", name, v.Half.Growth.State)
	w.objects.volumes[name] = v
}
