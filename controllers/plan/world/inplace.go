package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
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

// checkNames lets no name be given twice.
func (w *World) checkNames(names []string) {
	for _, name := range names {
		_, isVolume := w.objects.volumes[name]
		_, isPod := w.objects.pods[name]
		if isVolume || isPod {
			w.violate("the name %s is given twice", name)
		}
	}
}

// checkApproval is I14: a life that serves had an approval of its own.
func (w *World) checkApproval() {
	life := w.objects.birth.Incarnation
	for other, approval := range w.approved {
		if other != life && approval == w.approved[life] && w.served[other] {
			w.violate("I14: the lives %s and %s came of one approval: %s", other, life, approval)
		}
	}
	w.served[life] = true
}

// checkMove holds a move to what a person said: the approval quotes what is given up now, whoever looked at what before.
func (w *World) checkMove() string {
	next, digest := w.objects.birth.Coming, w.Observe().Evidence().Digest
	isApproved := slices.ContainsFunc(w.objects.requests, func(r plan.Request) bool { return r.ID == next.Restore && r.Approval == digest })
	if !isApproved {
		w.violate("the cluster moves for %s, and nobody approved that on %s", next.Restore, digest)
	}
	if c := w.clusters[w.objects.birth.ClusterID]; next.Source != plan.SourceBackup && c != nil && w.hasQuorum(c) {
		w.violate("the cluster moves without a backup, and has a quorum")
	}
	w.checkReady(next)
	return digest
}

// checkReady lets a cluster move only to members that have what they are to begin with.
func (w *World) checkReady(next plan.Life) {
	for _, name := range next.Names {
		v, ok := w.objects.volumes[name]
		if !w.Spec.Ephemeral && (!ok || next.Source != plan.SourceEmpty && (w.disks[v.UID] == nil || !isFrom(w.disks[v.UID].from, next.Origin))) {
			w.violate("the cluster moves, and %s does not have what it is to begin with", name)
		}
	}
}

// checkLives is I13: members of two lives never have a quorum at the same time.
func (w *World) checkLives() {
	if len(w.objects.birth.Past) == 0 {
		return
	}
	var able []string
	for _, id := range sortedIDs(w.clusters) {
		if c := w.clusters[id]; (c.life == w.objects.birth.Incarnation || w.hasEnded(c.life)) && w.hasQuorum(c) {
			able = append(able, c.life)
		}
	}
	if len(able) > 1 {
		w.violate("I13: members of the lives %v have a quorum at the same time", able)
	}
}

// checkGivenUp is I12: what a life that ended left goes on the word of the EtcdRestore that ended it.
func (w *World) checkGivenUp(name string, v volume) {
	isSaid := slices.ContainsFunc(w.objects.requests, func(r plan.Request) bool { return r.DeletesOld })
	if !isSaid {
		w.violate("I12: the volume of %s, of the life %s that ended, was deleted", name, v.Incarnation)
	}
}

// isForRestore reports a refusal around a restore in place that only a person can end, and that is as it says.
func (w *World) isForRestore(d plan.Decision) bool {
	if !d.NeedsHuman {
		return false
	}
	switch d.Reason {
	case plan.ReasonRestoreHeld:
		return true
	case plan.ReasonFence:
		return slices.ContainsFunc(sortedKeys(w.objects.pods), func(name string) bool { return w.objects.pods[name].cutOff })
	case plan.ReasonRestoreLost:
		return w.intact() < etcdutil.Quorum(len(w.objects.birth.Names))
	case plan.ReasonRetainedData:
		return !slices.ContainsFunc(sortedKeys(w.objects.volumes), func(name string) bool {
			v := w.objects.volumes[name]
			return !v.Record.IsZero() && v.Superseded == ""
		})
	}
	return false
}

// intact counts the first members that have what they are to begin with.
func (w *World) intact() int {
	n := 0
	for _, name := range w.objects.birth.Names {
		v, ok := w.objects.volumes[name]
		if ok && !v.Terminating && v.Stranded == "" && v.UID == w.objects.birth.Volumes[name] && (w.objects.birth.Origin.IsZero() || !w.disks[v.UID].isEmpty()) {
			n++
		}
	}
	return n
}

// isHeld reports whether any disk holds data of the cluster.
func (w *World) isHeld(id etcdutil.ID) bool {
	for _, d := range w.disks {
		if d.cluster == id {
			return true
		}
	}
	return false
}
