package world

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// health is how many voters of the written-down cluster run, of how many.
type health struct{ up, voters int }

func (h health) hasQuorum() bool { return h.voters > 0 && h.up >= etcdutil.Quorum(h.voters) }

func (w *World) health() health {
	c := w.clusters[w.objects.bootstrap.ClusterID]
	if c == nil {
		return health{}
	}
	return health{up: w.upVoters(c), voters: len(c.voters())}
}

// checkAction is I1: what the operator did took the cluster's quorum from nobody.
func (w *World) checkAction(before health, c changes.Change) {
	after := w.health()
	if w.trouble.isRaced {
		return // a fault took it, or what stood between the operator and its doing
	}
	if _, isStop := c.(changes.StopMembers); isStop && w.isToSleep() {
		return
	}
	if _, isMove := c.(changes.SwitchOver); before.hasQuorum() && !after.hasQuorum() && !isMove {
		w.violate("I1: %s took the quorum: %+v -> %+v", changes.KindOf(c), before, after)
	}
}

// checkLists is I3: at most one learner.
func (w *World) checkLists() {
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		if learners := len(c.members) - len(c.voters()); learners > 1 {
			w.violate("I3: %d learners in %s", learners, c.id)
		}
	}
}

// checkBootstrapped is I6: once written down, the cluster ID never changes.
func (w *World) checkBootstrapped(id etcdutil.ID) {
	if w.bootstrapped != 0 && w.bootstrapped != id {
		w.violate("I6: the cluster ID changed from %s to %s", w.bootstrapped, id)
	}
	w.bootstrapped = id
}

// checkRecord holds records to the truth on the disk. A record may be late by one moment: the member answered when the
// operator looked, and after that look its disk was emptied. The member is sealed then, and stops by itself. Or its Pod
// ended with the data that was in it, which the API server takes annotations on like on any other
// (kubernetes/kubernetes:pkg/apis/core/validation/validation.go, ValidatePodUpdate). Data in such a Pod counts as lost
// under any record.
func (w *World) checkRecord(m changes.MemberRecord, diskUID string) {
	d := w.disks[diskUID]
	if d == nil {
		w.violate("%s is recorded on a disk that is gone", m.Name)
		return
	}
	isHeld := d.member == m.Record.MemberID && d.cluster == m.Record.ClusterID
	isLate := d.emptied.member == m.Record.MemberID && d.emptied.cluster == m.Record.ClusterID &&
		d.emptied.look >= w.ledger.acting
	if !isHeld && !isLate {
		w.violate("%s is recorded as member %s of %s, and its disk holds %s of %s", m.Name, m.Record.MemberID,
			m.Record.ClusterID, d.member, d.cluster)
	}
}

// checkPodDeletion is I11 and I1: the operator alone stops no member that runs, and never the only copy of its data.
func (w *World) checkPodDeletion(ref facts.PodRef) {
	w.checkWords(ref)
	p, ok := w.objects.pods[ref.Name]
	if !ok || p.UID != ref.UID || w.trouble.isRaced || w.objects.bootstrap.Void || w.procs[p.UID] == nil ||
		w.hasEnded(p.Incarnation) || p.cutOff {
		return
	}
	c := w.clusters[w.procs[p.UID].disk.cluster]
	w.checkAlone(c, w.procs[p.UID].disk.member, "DeletePods")
	if isToBeRead := w.objects.bootstrap.Next.Survivor == ref.Name && !w.hasQuorum(c); !isToBeRead &&
		c.find(w.procs[p.UID].disk.member) >= 0 {
		w.checkStop(c, ref.Name, p)
	}
}

// checkStop lets a member be stopped that serves nobody, once for the settings of the spec, unless it would serve when
// others are back; and the only one as a roll would, even if it came to itself unnoticed.
func (w *World) checkStop(c *cluster, name string, p pod) {
	proc, isOutdated := w.procs[p.UID], plain(p.Settings) != w.Spec.Settings || p.Transport != w.Spec.Transport
	if w.bootstrapped == 0 && isOutdated && (w.Unheard[plain(p.made)] || !w.isAnyRecorded()) {
		return // nobody was ever led to it
	}
	if !isOutdated || proc.takesPart() && w.hasQuorum(c) && len(c.voters()) > 1 {
		w.violate("I11: the operator stopped the running member %s", name)
	} else if !proc.neverServes && w.isNeeded(c, name) {
		w.violate("I1: %s was needed as it was, for when others are back", name)
	}
}

// isAnyRecorded reports whether it was written down of any member that it answered.
func (w *World) isAnyRecorded() bool {
	for _, v := range w.objects.volumes {
		if !v.Record.IsZero() {
			return true
		}
	}
	for _, p := range w.objects.pods {
		if !p.Record.IsZero() {
			return true
		}
	}
	return false
}

// isBad reports settings with which no member serves its clients.
func (w *World) isBad(c facts.Settings) bool {
	c = plain(c)
	return w.Broken[c] || w.NeverServes[c] || w.Unheard[c]
}

// isNeeded reports a member without which others that come back would be no quorum, if it were given the settings of
// the spec.
func (w *World) isNeeded(c *cluster, name string) bool {
	return w.isBad(w.Spec.Settings) && w.couldServe(c, "") && !w.couldServe(c, name)
}

// couldServe reports whether so many voters have their data, and settings to serve with, that they are a quorum without
// one.
func (w *World) couldServe(c *cluster, without string) bool {
	able := 0
	for _, name := range sortedKeys(w.objects.volumes) {
		v, p := w.objects.volumes[name], w.objects.pods[name]
		settings := p.made
		if settings.IsZero() {
			settings = v.Settings
		}
		if name != without && w.isUsable(name) && !w.isBad(settings) {
			able += w.holds(c, v.UID)
		}
	}
	return able >= etcdutil.Quorum(len(c.voters()))
}

// checkEviction is I1, I2 and I11 for a member that is stopped on purpose: the others are a quorum, nobody else is
// away, its data outlives it, and it was made from other settings than those that are wanted, or a person
// wants it stopped.
func (w *World) checkEviction(change changes.EvictPod) {
	ref := change.Pod
	p := w.objects.pods[ref.Name]
	proc := w.procs[p.UID]
	if proc == nil || w.clusters[proc.disk.cluster].find(proc.disk.member) < 0 {
		return
	}
	c := w.clusters[proc.disk.cluster]
	w.checkPlaced(ref.Name)
	w.checkAlone(c, proc.disk.member, "EvictPod")
	if w.serves(c, proc.disk.member) {
		w.ledger.stopped[proc.disk.member] = true
	}
	up := w.upVoters(c)
	if proc.takesPart() {
		up--
	}
	if n := len(c.voters()); n > 1 && up < etcdutil.Quorum(n) && !w.trouble.isRaced {
		w.violate("I1: %s was evicted, and %d of %d voters are left", ref.Name, up, n)
	}
	if p.disk == p.UID {
		w.violate("I4: %s was evicted, and its data with it", ref.Name)
	}
	if change.Fences {
		w.checkFenced(c, ref.Name)
	} else if p.Settings == w.objects.volumes[ref.Name].Settings && p.Resize.State != facts.ResizeInfeasible {
		w.violate("I11: %s was evicted, and runs with what is wanted of it", ref.Name)
	}
}

// checkRolled says of a settled cluster that every member runs with the settings of the spec.
func (w *World) checkRolled() {
	for _, r := range w.Observe().Current.Voters() {
		if plain(r.Settings()) != w.Spec.Settings || plain(r.Pod.Settings) != w.Spec.Settings {
			w.violate("settled, and %s runs with %v", r.Name, r.Pod.Settings)
		}
	}
}

// checkVolumeDeletion is I5: a volume of a current member is never deleted.
func (w *World) checkVolumeDeletion(ref facts.VolumeRef, d *disk) {
	if d == nil || d.isEmpty() || w.objects.bootstrap.Void {
		return
	}
	v := w.objects.volumes[ref.Name]
	isOfFormer := w.hasEnded(v.Incarnation) || v.Superseded != "" && v.Incarnation != w.objects.bootstrap.Incarnation
	if isOfFormer && v.kept == facts.NoCause { // that of a replaced member goes when spec.repair.keepVolumes says
		w.checkGivenUp(ref.Name, v)
		return
	}
	if v.Record.IsZero() && v.Incarnation != w.objects.bootstrap.Incarnation {
		return // nobody ever lived on it
	}
	if c := w.clusters[d.cluster]; c != nil && c.find(d.member) >= 0 {
		w.violate("I5: the volume of the current member %s was deleted", ref.Name)
	}
}

// checkKept holds the operator to keeping what it put aside for as long as the spec says.
func (w *World) checkKept(name string, v volume) {
	if kept := w.Now.Sub(v.keptSince); v.kept != facts.NoCause && kept < w.Spec.KeepVolumes && !w.trouble.isRaced {
		w.violate("the volume %s was deleted after %s, and repair.keepVolumes is %s", name, kept, w.Spec.KeepVolumes)
	}
}

// Recoverable reports whether enough voters still have their data for the cluster to go on by itself.
func (w *World) Recoverable() bool {
	c := w.written()
	if c == nil {
		return w.bootstrapped == 0 && !w.hasIll(frozen, isolated, hidden) && !w.isAnyCorrupted()
	}
	alive, quorum := 0, etcdutil.Quorum(len(c.voters()))
	for _, name := range sortedKeys(w.objects.pods) {
		alive += w.holds(c, w.objects.pods[name].UID)
	}
	for _, name := range sortedKeys(w.objects.volumes) {
		if w.isUsable(name) {
			alive += w.holds(c, w.objects.volumes[name].UID)
		}
	}
	return alive >= quorum
}

// written is the cluster that the bootstrap record or a volume names, or nil.
func (w *World) written() *cluster {
	if c := w.clusters[w.objects.bootstrap.ClusterID]; c != nil || w.objects.bootstrap.Void {
		return c
	}
	for _, r := range w.Observe().Current.Members {
		if c := w.clusters[r.Record().ClusterID]; c != nil {
			return c
		}
	}
	return nil
}

// isUsable reports whether a member may start on the volume again. It may not when nobody wrote down who lives there
// before the cluster's identity was: it is not started blindly then. Nor on a volume that is going, unless a Pod holds
// it.
func (w *World) isUsable(name string) bool {
	v, p := w.objects.volumes[name], w.objects.pods[name]
	if isAnonymous := v.Record.IsZero() && w.objects.bootstrap.ClusterID != 0; isAnonymous &&
		(w.procs[p.UID] == nil || !w.goesOn(p)) {
		return false
	}
	return !v.IsSpoilt() && !v.Terminating || v.Terminating && p.disk == v.UID && w.goesOn(p)
}

// goesOn reports a Pod that does not need to be made anew to serve.
func (w *World) goesOn(p pod) bool {
	made := plain(p.made)
	return !p.HasEnded() && (p.Started || !w.Broken[made]) && !w.NeverServes[made] && !w.Unheard[made]
}

// holds is 1 when the disk holds the data of a voter, and no process on it is ill.
func (w *World) holds(c *cluster, diskUID string) int {
	d := w.disks[diskUID]
	if d == nil || d.cluster != c.id || w.isIll(d) || !d.isSound() {
		return 0
	}
	if i := c.find(d.member); i < 0 || c.members[i].Learner {
		return 0
	}
	return 1
}

func (w *World) hasIll(of ...illness) bool {
	for _, p := range w.procs {
		if slices.Contains(of, p.ill) {
			return true
		}
	}
	return false
}

// hasUnheard reports a process that its settings keep out of reach.
func (w *World) hasUnheard() bool {
	return slices.ContainsFunc(sortedKeys(w.objects.pods), func(name string) bool {
		p := w.objects.pods[name]
		return w.procs[p.UID] != nil && w.Unheard[plain(p.made)]
	})
}

// hasUnproven reports a frozen process that is the only one with its settings, and never served with them.
func (w *World) hasUnproven() bool {
	for _, name := range sortedKeys(w.objects.pods) {
		p := w.objects.pods[name]
		isShared := slices.ContainsFunc(sortedKeys(w.objects.pods), func(other string) bool {
			return w.objects.pods[other].Ready && w.objects.pods[other].Settings == p.Settings
		})
		if proc := w.procs[p.UID]; proc != nil && proc.ill == frozen && !isShared &&
			!p.ReadySince.After(p.RunningSince) {
			return true
		}
	}
	return false
}

func (w *World) isIll(d *disk) bool {
	for _, p := range w.procs {
		if p.disk == d && p.ill != "" {
			return true
		}
	}
	return false
}
