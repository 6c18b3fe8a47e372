package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// What restores in place need: EtcdRestores, a life that is laid beside another, and lives that ended.

func (w *World) carryOutInPlace(c plan.Change, life *budgetOfEffects) {
	switch c := c.(type) {
	case plan.BeginNext:
		w.beginNext(c)
	case plan.LayNext:
		w.layNext(c, life)
	case plan.DropNext:
		if w.objects.birth.Coming.Incarnation == c.Incarnation {
			w.objects.birth.Coming = plan.Life{}
		}
	case plan.MoveLife:
		w.moveLife(c)
	case plan.MarkFormer:
		w.markFormer(c, life)
	case plan.MarkFlushed:
		w.markFlushed(c)
	default:
	}
}

func (w *World) beginNext(c plan.BeginNext) {
	birth := &w.objects.birth
	if birth.Incarnation == c.From && birth.Coming.IsZero() && !birth.Void {
		birth.Coming, birth.Laid, birth.Next = c.Life, c.Counter, max(birth.Next, c.Next)
		w.checkNames(c.Names)
	}
}

func (w *World) layNext(c plan.LayNext, life *budgetOfEffects) {
	if w.objects.birth.Coming.Incarnation != c.Incarnation {
		return
	}
	w.makeObjects(nil, c.Secrets, life)
	for _, v := range c.Volumes {
		if !life.spend() {
			return
		}
		w.createVolume(v, c.Incarnation)
	}
	for _, l := range c.Restores {
		if !life.spend() {
			return
		}
		w.createRestore(l, c.Incarnation, w.objects.birth.Coming.Origin)
	}
}

func (w *World) moveLife(c plan.MoveLife) {
	old, next := w.objects.birth, w.objects.birth.Coming
	if old.Incarnation != c.From || next.Incarnation != c.To {
		return
	}
	digest := w.checkMove()
	w.objects.birth = plan.Birth{
		Exists: true, Operator: old.Operator, Incarnation: next.Incarnation, Counter: next.Counter, Token: next.Token, Names: next.Names,
		Origin: next.Origin, Restore: next.Restore, Begun: true, Volumes: c.Volumes, Next: old.Next, Laid: old.Laid,
		Past: append(slices.Clone(old.Past), plan.Past{Incarnation: old.Incarnation, Restore: old.Restore, Voters: c.Voters}),
	}
	w.born = 0
	w.moves[next.Restore]++
	w.approved[next.Incarnation] = next.Restore + " on " + digest
}

func (w *World) markFormer(c plan.MarkFormer, life *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if v, ok := w.objects.volumes[ref.Name]; ok && v.UID == ref.UID && v.Superseded == "" && life.spend() {
			v.Superseded = c.By
			w.objects.volumes[ref.Name] = v
		}
	}
}

func (w *World) markFlushed(c plan.MarkFlushed) {
	if v, ok := w.objects.volumes[c.Volume.Name]; ok && v.UID == c.Volume.UID {
		v.Flushed = c.Life
		w.objects.volumes[c.Volume.Name] = v
	}
}

// lifeOf is the list of the observation that a name belongs to.
func (w *World) lifeOf(from objects, name string, o *plan.Observation) *[]plan.Replica {
	switch {
	case slices.Contains(from.birth.Coming.Names, name):
		return &o.Coming
	case isFormer(from, name):
		return &o.Former
	}
	return &o.Replicas
}

// isFormer reports what is left of a life that ended, by what it says of itself.
func isFormer(from objects, name string) bool {
	incarnation := ""
	v, hasVolume := from.volumes[name]
	p, hasPod := from.pods[name]
	t, hasTask := from.restores[name]
	switch {
	case hasVolume:
		incarnation = v.Incarnation
	case hasPod:
		incarnation = p.Incarnation
	case hasTask:
		incarnation = t.Incarnation
	}
	if incarnation == "" || incarnation == from.birth.Incarnation {
		return false
	}
	return v.Superseded != "" || slices.ContainsFunc(from.birth.Past, func(past plan.Past) bool { return past.Incarnation == incarnation })
}

// hasEnded reports whether a restore in place ended this life.
func (w *World) hasEnded(incarnation string) bool {
	return slices.ContainsFunc(w.objects.birth.Past, func(past plan.Past) bool { return past.Incarnation == incarnation })
}

// heldBy is what a member that answers could be asked for, or "".
func (w *World) heldBy(name string) string {
	p := w.procs[w.objects.pods[name].UID]
	if p == nil || !p.served || p.ill == frozen || p.ill == hidden {
		return ""
	}
	return fmt.Sprintf("survivor %s/%d", p.disk.cluster, p.disk.applied)
}

// readOn is what lies on a member's volume, of which nobody writes to it, or "".
func (w *World) readOn(name, life string) string {
	v, ok := w.objects.volumes[name]
	d := w.disks[v.UID]
	if !ok || d == nil || d.isEmpty() {
		return ""
	}
	if p := w.procs[w.objects.pods[name].UID]; p != nil || v.Flushed != life {
		w.violate("the volume of %s is read, and is not known to be whole", name)
	}
	return fmt.Sprintf("survivor %s/%d", d.cluster, d.applied)
}

// isFrom reports whether what lies somewhere is what a life was to begin with.
func isFrom(from string, origin plan.Origin) bool {
	if origin.SHA256 == "" && !origin.IsZero() {
		return strings.HasPrefix(from, "survivor ")
	}
	return from == origin.SHA256
}
