package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// What restores in place need: EtcdRestores, the next incarnation beside another, and former incarnations.

func (w *World) carryOutInPlace(c changes.Change, effects *budgetOfEffects) {
	switch c := c.(type) {
	case changes.BeginNext:
		w.beginNext(c)
	case changes.PrepareNext:
		w.prepareNext(c, effects)
	case changes.DropNext:
		if w.objects.bootstrap.Next.Incarnation == c.Incarnation {
			w.objects.bootstrap.Next = record.Next{}
		}
	case changes.SwitchOver:
		w.switchOver(c)
	case changes.GoBack:
		w.goBack(c)
	case changes.MarkFormer:
		w.markFormer(c, effects)
	case changes.MarkCurrent:
		w.markCurrent(c, effects)
	case changes.MarkFlushed:
		w.markFlushed(c)
	default:
	}
}

func (w *World) beginNext(c changes.BeginNext) {
	if b := &w.objects.bootstrap; b.Next.IsZero() && b.BeginNext(c.From, c.Next, c.NextOrdinal) {
		w.checkNames(c.Names)
	}
}

func (w *World) prepareNext(c changes.PrepareNext, effects *budgetOfEffects) {
	if w.objects.bootstrap.Next.Incarnation != c.Incarnation {
		return
	}
	w.makeObjects(nil, c.Secrets, effects)
	for _, v := range c.Volumes {
		if !w.admits(kindVolume, v.Name, effects) {
			return
		}
		w.createVolume(v, c.Incarnation)
	}
	for _, l := range c.Restores {
		if !effects.spend() {
			return
		}
		w.createRestore(l, c.Incarnation, w.objects.bootstrap.Next.Origin, w.objects.bootstrap.Next.Bump)
	}
}

func (w *World) switchOver(c changes.SwitchOver) {
	old, next := w.objects.bootstrap, w.objects.bootstrap.Next
	if old.Incarnation != c.From || next.Incarnation != c.To {
		return
	}
	digest := w.checkMove()
	w.objects.bootstrap.SwitchOver(c.From, c.To, c.Volumes, c.Voters)
	w.bootstrapped, w.ended[old.Incarnation] = 0, true
	w.moves[next.Restore]++
	w.approved[next.Incarnation] = next.Restore + " on " + digest
}

func (w *World) markFormer(c changes.MarkFormer, effects *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if w.objects.volumes[ref.Name].Superseded == "" && effects.spend() {
			w.editVolume(ref, func(v *volume) { v.Superseded = c.By })
		}
	}
}

func (w *World) goBack(c changes.GoBack) {
	bootstrap := w.objects.bootstrap
	if bootstrap.Incarnation == c.Incarnation ||
		!bootstrap.GoBack(c.From, c.Restore, record.Bootstrap(c.BeginBootstrap)) {
		return
	}
	w.checkBack(c)
	w.objects.bootstrap, w.bootstrapped = bootstrap, c.ClusterID
	w.ended[c.From], w.ended[c.Incarnation] = true, false
	w.moves[c.Restore]++
	for _, r := range w.objects.requests {
		w.spent[r.ID+r.Approval] = true
	}
}

func (w *World) markCurrent(c changes.MarkCurrent, effects *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if w.objects.volumes[ref.Name].Superseded == c.After && effects.spend() {
			w.editVolume(ref, func(v *volume) { v.Superseded, v.GoesBackFrom = "", c.After })
		}
	}
}

func (w *World) markFlushed(c changes.MarkFlushed) {
	w.editVolume(c.Volume, func(v *volume) { v.Flushed = c.Incarnation })
}

// incarnationOf is the list of the observation that a name belongs to.
func (w *World) incarnationOf(from objects, name string, o *facts.Observation) *[]facts.Replica {
	switch {
	case slices.Contains(from.bootstrap.Next.Names, name):
		return &o.Next.Members
	case isFormer(from, name):
		if len(o.Former) == 0 {
			o.Former = make([]facts.Incarnation, 1)
		}
		return &o.Former[0].Members
	}
	return &o.Current.Members
}

// isFormer reports what is left of a former incarnation, by what it says of itself.
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
	if incarnation == "" || incarnation == from.bootstrap.Incarnation {
		return false
	}
	return v.Superseded != "" || slices.ContainsFunc(from.bootstrap.Former,
		func(past record.Former) bool { return past.Incarnation == incarnation })
}

// hasEnded reports whether a restore in place ended this incarnation. The world remembers it by itself: the record of
// it goes with the peer Service.
func (w *World) hasEnded(incarnation string) bool { return w.ended[incarnation] }

// heldBy is what a member that answers could be asked for, or "".
func (w *World) heldBy(name string) (from string, revision int64) {
	p := w.procs[w.objects.pods[name].UID]
	if !p.isHeard() {
		return "", 0
	}
	return w.heldOn(p.disk)
}

func (w *World) heldOn(d *disk) (from string, revision int64) {
	return fmt.Sprintf("survivor %s/%d", d.cluster, d.applied), w.clusters[d.cluster].at(d.applied)
}

// readOn is what lies on a member's volume, of which nobody writes to it, or "".
func (w *World) readOn(name, incarnation string) (from string, revision int64) {
	v, ok := w.objects.volumes[name]
	d := w.disks[v.UID]
	if !ok || d == nil || d.isEmpty() {
		return "", 0
	}
	if p := w.procs[w.objects.pods[name].UID]; p != nil || v.Flushed != incarnation {
		w.violate("the volume of %s is read, and is not known to be whole", name)
	}
	return w.heldOn(d)
}

// isFrom reports whether what lies somewhere is what an incarnation was to begin with.
func isFrom(from string, origin record.Origin) bool {
	if origin.SHA256 == "" && !origin.IsZero() {
		return strings.HasPrefix(from, "survivor ")
	}
	return from == origin.SHA256
}
