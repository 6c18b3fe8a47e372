package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func (w *World) createVolume(v changes.NewVolume, incarnation string) {
	if _, exists := w.objects.volumes[v.Name]; exists || incarnation == "" {
		return
	}
	uid := w.uid("volume")
	w.disks[uid] = &disk{}
	w.objects.volumes[v.Name] = volume{owner: w.Cluster.UID, claim: w.Cluster.Operator, isReleased: !w.Spec.Retain,
		Volume: facts.Volume{UID: uid, Created: w.Now, Phase: facts.VolumePending,
			Incarnation: incarnation, Settings: v.Settings, Bytes: v.Bytes, AskedBytes: w.Spec.StorageBytes,
			MadeFor: w.Spec.StorageClass, WAL: w.Spec.WAL, Attributes: asking(w.Spec.Attributes)}}
}

// bind makes what a claim asks for, unless the StorageClass is gone. It says whether there is a volume.
func (w *World) bind(name string) bool {
	v := w.objects.volumes[name]
	if v.IsUnbound() && (w.Withdrawn[v.MadeFor] || v.Attributes.Asked == noSuchSpeed) {
		return false
	}
	if v.Torn == "" {
		v.Phase = facts.VolumeBound
	}
	if v.Backing == "" {
		v.Backing, v.Capacity, v.Attributes.Has = v.UID, v.Bytes, v.Attributes.Asked
		v.bindLog(name)
	}
	w.objects.volumes[name] = v
	return true
}

func (w *World) record(c changes.RecordMembers, effects *budgetOfEffects) {
	for _, m := range c.Members {
		if !effects.spend() {
			return
		}
		if ref := (facts.VolumeRef{Name: m.Name, UID: m.VolumeUID}); w.editVolume(ref,
			func(v *volume) { v.Record = m.Record }) {
			w.checkRecord(m, m.VolumeUID)
		}
		if p, ok := w.objects.pods[m.Name]; ok && m.PodUID != "" && p.UID == m.PodUID {
			p.Record = m.Record
			w.objects.pods[m.Name] = p
			w.checkRecord(m, p.UID)
		}
	}
}

func (w *World) writeSettings(c changes.WriteSettings, effects *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if effects.spend() {
			w.editVolume(ref, func(v *volume) { v.Settings = c.Settings })
		}
	}
}

// editVolume changes a volume if it is this one and no other. It is I7: the operator touches only what its cluster
// owns.
func (w *World) editVolume(ref facts.VolumeRef, edit func(*volume)) bool {
	v, ok := w.objects.volumes[ref.Name]
	if !ok || ref.UID == "" || v.UID != ref.UID {
		return false
	}
	if v.owner != w.Cluster.UID && !w.trouble.isRaced {
		w.violate("I7: the volume %s of %s was changed, and this is %s", ref.Name, v.owner, w.Cluster.UID)
	}
	edit(&v)
	w.objects.volumes[ref.Name] = v
	return true
}

func (w *World) deleteVolumes(c changes.DeleteVolumes, effects *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if effects.spend() {
			w.editVolume(ref, func(v *volume) {
				w.checkVolumeDeletion(ref, w.disks[v.UID])
				w.checkKept(ref.Name, *v)
				v.Terminating, v.isHalfGoing = true, false
			})
		}
	}
}
