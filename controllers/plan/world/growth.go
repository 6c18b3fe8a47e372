package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Volumes that grow: what the operator asks for, and what storage makes of it.

// expandVolume has a claim ask for another size. It holds the operator to what Kubernetes would not take back: a volume
// never shrinks, and one grows at a time.
func (w *World) expandVolume(c changes.ExpandVolume) {
	if c.LogOf != "" {
		w.expandLog(c)
		return
	}
	w.editVolume(c.Volume, func(v *volume) {
		if c.Bytes < v.Bytes && (!v.IsGrowing() || c.Bytes <= v.Capacity) {
			w.violate("the volume of %s was to shrink from %d to %d", c.Volume.Name, v.Capacity, c.Bytes)
			return
		}
		if c.Bytes > v.Bytes {
			w.checkGrowsAlone(c.Volume.Name, v.owner)
		}
		v.Bytes, v.AskedBytes = c.Bytes, w.Spec.StorageBytes
		v.Growth = facts.Growth{State: facts.GrowthUnderWay, Since: w.Now}
	})
}

// checkGrowsAlone holds a growth to one member at a time.
func (w *World) checkGrowsAlone(member, owner string) {
	for _, name := range sortedKeys(w.objects.volumes) {
		other := w.objects.volumes[name]
		isGrowing := other.IsGrowing() && !other.IsInfeasible() || other.Half.Growth.State != facts.GrowthNone
		if name != member && other.owner == owner && other.kept == facts.NoCause && isGrowing && w.ledger.isFresh &&
			!w.trouble.isRaced {
			w.violate("the volumes of %s and %s grow at the same time", name, member)
		}
	}
}

// advanceGrowth is the storage that makes a volume larger, takes its time, or cannot. Of 16 GiB and more it never can.
func (w *World) advanceGrowth(name string) {
	w.advanceLog(name)
	v := w.objects.volumes[name]
	switch {
	case v.Growth.State != facts.GrowthUnderWay && v.Growth.State != facts.GrowthAtNode:
		return
	case v.Bytes >= hugeVolume:
		v.Growth.State, v.Growth.Message = facts.GrowthInfeasible, "the pool has no room"
	case w.chance(4, "the storage takes its time", v.UID) > 0:
		v.Growth.State = facts.GrowthAtNode
	default:
		v.Capacity, v.Growth = v.Bytes, facts.Growth{}
		w.makeRoom(v.UID)
	}
	w.logf("storage: growth of %s: %q", name, v.Growth.State)
	w.objects.volumes[name] = v
}

// FillDisk is a disk that has no room left: its process stops for that, and starts again only once there is room.
func (w *World) FillDisk(name string) {
	p := w.objects.pods[name]
	d := w.disks[p.disk]
	if d == nil || d.isEmpty() || !p.Running || w.Spec.Ephemeral || p.storage.Ephemeral {
		return
	}
	w.KillContainer(name)
	d.full = true
	w.logf("fault: the disk of %s is full", name)
}

// makeRoom is a disk that has room again: it grew, or a person took away what filled it.
func (w *World) makeRoom(uid string) {
	if d := w.disks[uid]; d != nil {
		d.full = false
	}
}

// hugeVolume is more than any storage gives.
const hugeVolume = 16 << 30

// Grow is a user who asks for larger volumes, or for those that there were.
func (w *World) Grow() {
	w.Spec.StorageBytes = []int64{8 << 30, 12 << 30, hugeVolume}[w.chance(3, "larger volumes", "")]
	w.Spec.ExpandsByMove = w.chance(4, "members move for it", "") == 0
	w.logf("spec: volumes of %d, by moves %t", w.Spec.StorageBytes, w.Spec.ExpandsByMove)
}
