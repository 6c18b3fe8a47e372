package world

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What the world holds a restore in place to.

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

// checkApproval is I14: an incarnation that serves had an approval of its own.
func (w *World) checkApproval() {
	incarnation := w.objects.bootstrap.Incarnation
	for other, approval := range w.approved {
		if other != incarnation && approval == w.approved[incarnation] && w.served[other] {
			w.violate("I14: the lives %s and %s came of one approval: %s", other, incarnation, approval)
		}
	}
	w.served[incarnation] = true
}

// checkMove holds a move to what a person said: the approval quotes what is given up now, whoever looked at what
// before.
func (w *World) checkMove() string {
	next, evidence := w.objects.bootstrap.Next, plan.EvidenceOf(w.Observe())
	w.checkAsked(next.Restore, next.Source, evidence)
	c := w.clusters[w.objects.bootstrap.ClusterID]
	if next.Source != record.SourceBackup && c != nil && w.hasQuorum(c) {
		w.violate("the cluster switches over without a backup, and has a quorum")
	}
	w.checkReady(next)
	return evidence.Digest
}

// checkAsked holds a move to an approval of the evidence there is, which was given in this incarnation of the cluster.
func (w *World) checkAsked(request string, source record.Source, evidence plan.Evidence) {
	i := slices.IndexFunc(w.objects.requests, func(r facts.Request) bool {
		return r.ID == request && r.Source == source && evidence.Accepts(r.Approval)
	})
	switch {
	case w.trouble.isRaced:
	case i < 0:
		w.violate("the cluster moves for %s, and that was not approved on %s", request, evidence.Digest)
	case w.spent[request+w.objects.requests[i].Approval]:
		w.violate("I14: the approval of %s is from before the cluster went back", request)
	}
}

// checkBack holds a cluster that goes back to what a person said, and gives up nothing that a client was told is
// written.
func (w *World) checkBack(c changes.GoBack) {
	w.checkAsked(c.Restore, record.SourcePrevious, plan.EvidenceOf(w.Observe()))
	for _, id := range sortedIDs(w.clusters) {
		if given := w.clusters[id]; given.incarnation == c.From && given.writes > 0 {
			w.violate("the cluster goes back from %s, and clients wrote there %d times", c.From, given.writes)
		}
	}
	to := w.clusters[c.ClusterID]
	if to == nil || to.incarnation != c.Incarnation {
		w.violate("I6: the incarnation %s is not the cluster %s that the cluster goes back to", c.Incarnation,
			c.ClusterID)
		return
	}
	if there := w.countThere(to); w.lastVoters() != nil && there < etcdutil.Quorum(len(to.voters())) {
		w.violate("the cluster goes back to %d of %d voters", there, len(to.voters()))
	}
}

// lastVoters are those that etcd named when the incarnation ended that ended last; nil where it could not be asked.
func (w *World) lastVoters() []string {
	former := w.objects.bootstrap.Former
	return former[len(former)-1].Voters
}

// countThere counts the volumes that voters of a cluster lived on, but for those whose members said that their data is
// gone. What lies on the others only their members see, and none runs while the cluster goes back.
func (w *World) countThere(c *cluster) int {
	n := 0
	for _, v := range w.objects.volumes {
		d := w.disks[v.UID]
		if d == nil || d.isCopy || v.RemovedFor == facts.CauseDisk {
			continue
		}
		held := emptied{cluster: d.cluster, member: d.member}
		if d.isEmpty() {
			held = d.emptied
		}
		if i := c.find(held.member); held.cluster == c.id && i >= 0 && !c.members[i].Learner {
			n++
		}
	}
	return n
}

// checkWords has what a previous member said of its data outlive its Pod.
func (w *World) checkWords(ref facts.PodRef) {
	for _, r := range w.Observe().FormerMembers() {
		if r.Pod == nil || r.PodRef() != ref || r.Pod.Running || r.Pod.HasEnded() || w.trouble.Restless {
			continue
		}
		if r.SaidItsDataIsGone() && r.MayReturn(w.objects.bootstrap.Incarnation) {
			w.violate("%s said that its data is gone, and nothing does once its Pod is deleted", r.Name)
		}
	}
}

// checkReady lets a cluster move only to members that have what they are to begin with.
func (w *World) checkReady(next record.Next) {
	for _, name := range next.Names {
		if now := w.disks[w.objects.volumes[next.Survivor].UID]; next.Source == record.SourceSurvivor && now != nil {
			restored := w.disks[w.objects.volumes[name].UID]
			if restored != nil && restored.from != fmt.Sprintf("survivor %s/%d",
				now.cluster, now.applied) {
				w.violate("the cluster switches over to %s, and %s holds %d writes by now", restored.from,
					next.Survivor,
					now.applied)
			}
		}
		w.checkPlace(next, name)
		v, ok := w.objects.volumes[name]
		if !(w.Spec.Ephemeral && next.Origin.IsZero()) && (!ok || next.Source != record.SourceEmpty &&
			(w.disks[v.UID] == nil || !isFrom(w.disks[v.UID].from, next.Origin))) {
			w.violate("the cluster switches over, and %s does not have what it is to begin with", name)
		}
	}
}

// checkPlace lets no member be stopped before it is known that a node takes the next one.
func (w *World) checkPlace(next record.Next, name string) {
	place := w.objects.restores[name]
	if next.Source == record.SourceBackup && (!place.Holds || place.Phase != facts.PodRunning) {
		w.violate("the cluster switches over, and nothing shows that a node takes %s", name)
	}
}

// checkRevision is I16: no client is served a revision twice. One that watches from a revision that it was served hears
// nothing of a cluster that has a lower one: neither what changed nor that it has to read anew. An incarnation that
// begins empty has no revisions that could go on.
func (w *World) checkRevision(c *cluster) {
	if c.writes == 1 && c.from != "" && c.at(0) <= w.revision {
		w.violate("I16: the incarnation %s begins at revision %d, and clients were served up to %d", c.incarnation,
			c.at(0),
			w.revision)
	}
	w.revision = max(w.revision, c.at(c.writes))
}

// checkIncarnations is I13: members of two incarnations never have a quorum at the same time.
func (w *World) checkIncarnations() {
	if len(w.ended) == 0 {
		return
	}
	var able []string
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		if (c.incarnation == w.objects.bootstrap.Incarnation || w.hasEnded(c.incarnation)) && w.hasQuorum(c) {
			able = append(able, c.incarnation)
		}
	}
	if len(able) > 1 {
		w.violate("I13: members of the lives %v have a quorum at the same time", able)
	}
}

// checkGivenUp is I12: what a former incarnation left goes on the word of the EtcdRestore that ended it.
func (w *World) checkGivenUp(name string, v volume) {
	isSaid := slices.ContainsFunc(w.objects.requests, func(r facts.Request) bool { return r.DeletesOld })
	if !isSaid && !w.trouble.isRaced {
		w.violate("I12: the volume of %s, of the incarnation %s that ended, was deleted", name, v.Incarnation)
	}
}

// isForRestore reports a refusal around a restore in place that only a person can end, and that is as it says.
func (w *World) isForRestore(d plan.Decision) bool {
	if !d.NeedsHuman {
		return false
	}
	switch d.Reason {
	case facts.ReasonRestoreHeld:
		return true
	case facts.ReasonFence:
		return slices.ContainsFunc(sortedKeys(w.objects.pods),
			func(name string) bool { return w.objects.pods[name].cutOff })
	case facts.ReasonRestoreLost:
		return w.intact() < etcdutil.Quorum(len(w.objects.bootstrap.Names))
	case facts.ReasonRetainedData:
		return !slices.ContainsFunc(sortedKeys(w.objects.volumes), func(name string) bool {
			v := w.objects.volumes[name]
			return !v.Record.IsZero() && v.Superseded == "" && v.RemovedFor == ""
		})
	}
	return false
}

// intact counts the first members that have what they are to begin with.
func (w *World) intact() int {
	n := 0
	for _, name := range w.objects.bootstrap.Names {
		v, ok := w.objects.volumes[name]
		if ok && !v.Terminating && !v.IsSpoilt() && v.UID == w.objects.bootstrap.Volumes[name] &&
			(w.objects.bootstrap.Origin.IsZero() || !w.disks[v.UID].isEmpty()) {
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
