package world

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What bootstraps that begin with a backup need: a store, a Pod that looks into it, and Pods that lay what is there on
// volumes.

// store is what a wish finds: the newest of so many backups, unless they cannot be read just now, or it is damaged for
// good.
type store struct {
	newest  int
	spoiled bool
	damaged map[string]bool // by key
	large   map[string]bool // by key: it has no room with the quota that clusters had so far
	auth    bool            // authentication is on in what it holds
}

// usualQuota is that of clusters which begin with backups.
const usualQuota int64 = 2 << 30

// key is of the newest backup.
func (s *store) key(wish string) string { return fmt.Sprintf("%s/%d", wish, s.newest) }

// alarms are those that were raised when the newest was taken: every other one was taken of a full cluster.
func (s *store) alarms() string {
	if s.newest%2 == 1 {
		return facts.AlarmNoSpace
	}
	return ""
}

// restoreTask is a restore Pod.
type restoreTask struct {
	facts.RestorePod
	disk    string // UID of the volume
	origin  record.Origin
	bump    int64
	initial []etcdutil.NamedURL
	made    facts.Settings

	survivor string // the member whose data it restores there
	mounts   string // its volume, when that is read
}

// hasRestores reports whether anything in this world ever began with a backup, or is to.
func (w *World) hasRestores() bool {
	return len(w.stores) > 0 || !w.Spec.Restore.IsZero()
}

func (w *World) storeOf(wish facts.WantedBackup) *store {
	if w.stores[wish] == nil {
		w.stores[wish] = &store{damaged: map[string]bool{}, large: map[string]bool{}, auth: wish.Hash == "two"}
	}
	return w.stores[wish]
}

// carryOutRestore does what the operator asks for a restore.
func (w *World) carryOutRestore(c changes.Change, effects *budgetOfEffects) error {
	switch c := c.(type) {
	case changes.StartPreflight:
		if w.objects.preflight == nil {
			w.objects.preflight = &facts.Preflight{Asked: c.Asked, Task: facts.Task{UID: w.uid("preflight"),
				Created: w.Now, Phase: facts.PodPending}}
		}
	case changes.DeletePreflight:
		if p := w.objects.preflight; p != nil && p.UID == c.UID {
			w.editPreflight(func(p *facts.Preflight) { p.Terminating = true })
		}
	case changes.RecordRestored:
		w.recordRestored(c, effects)
	case changes.DeleteRestores:
		w.deleteRestores(c, effects)
	default:
		return fmt.Errorf("%T is not a change that the world knows", c)
	}
	return nil
}

func (w *World) recordRestored(c changes.RecordRestored, effects *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if effects.spend() && w.editVolume(ref, func(v *volume) { v.Restored = c.Incarnation }) {
			w.checkRestored(ref.Name, ref.UID)
		}
	}
}

func (w *World) deleteRestores(c changes.DeleteRestores, effects *budgetOfEffects) {
	for _, ref := range c.Pods {
		if t, ok := w.objects.restores[ref.Name]; ok && t.UID == ref.UID && effects.spend() {
			t.Terminating = true
			w.objects.restores[ref.Name] = t
		}
	}
}

func (w *World) createRestore(l changes.Restoring, incarnation string, origin record.Origin, bump int64) {
	if _, exists := w.objects.restores[l.Name]; exists {
		return
	}
	w.objects.restores[l.Name] = restoreTask{disk: w.objects.volumes[l.Name].UID, origin: origin, bump: bump,
		initial: l.Initial, made: l.Settings, survivor: l.Survivor, mounts: l.Mounts,
		RestorePod: facts.RestorePod{Incarnation: incarnation, Settings: l.Settings, Holds: l.Holds,
			Task: facts.Task{UID: w.uid("restore"), Created: w.Now, Phase: facts.PodPending}}}
}

// editPreflight changes a copy: what a stale cache shows stays as it was.
func (w *World) editPreflight(edit func(*facts.Preflight)) {
	copied := *w.objects.preflight
	edit(&copied)
	w.objects.preflight = &copied
}

// advanceTasks takes each Pod that runs once a step on, now and then.
func (w *World) advanceTasks() {
	if p := w.objects.preflight; p != nil && w.chance(2, "the preflight moves", "") == 0 {
		w.advancePreflight(*p)
	}
	for _, name := range sortedKeys(w.objects.restores) {
		if w.chance(2, "a restore moves", name) == 0 {
			w.advanceRestore(name, w.objects.restores[name])
		}
	}
	w.advanceDefrags()
}

func (w *World) advancePreflight(p facts.Preflight) {
	switch {
	case p.Terminating:
		w.objects.preflight = nil
		return
	case p.Phase == facts.PodPending:
		p.Phase, p.Started = facts.PodRunning, true
	case p.Phase == facts.PodRunning:
		w.look(&p)
	}
	w.objects.preflight = &p
}

// look is what a preflight finds in the store.
func (w *World) look(p *facts.Preflight) {
	s := w.storeOf(p.Asked.WantedBackup)
	wrote := w.wroteBackup(s)
	p.Finished = w.Now
	switch key := s.key(p.Asked.Hash); {
	case s.spoiled:
		p.Phase, p.Reason, p.Failure = facts.PodFailed, "StoreUnreachable", "the store does not answer"
	case s.damaged[key]:
		p.Phase, p.Reason, p.Failure = facts.PodFailed, "ManifestInvalid", "the manifest is damaged"
	case etcdutil.WhyNotBegin(wrote, p.Asked.Version) != "":
		p.Phase, p.Reason, p.Failure = facts.PodFailed, "VersionDiffers", "the backup is of a newer minor version"
	case w.chance(8, "the preflight is killed", "") == 0:
		p.Phase = facts.PodFailed
	default:
		p.Phase, p.Found = facts.PodSucceeded, record.Origin{Hash: p.Asked.Hash, Key: key, SHA256: "sha of " + key,
			SizeBytes: w.sizeOf(s), Revision: 7, Version: wrote, AuthEnabled: s.auth, Alarms: s.alarms()}
	}
}

// sizeOf is how large the newest backup is.
func (w *World) sizeOf(s *store) int64 {
	if s.large[s.key("")] {
		return usualQuota
	}
	return int64(1 + s.newest)
}

// checkRoom holds the operator to beginning with no more than there is room for.
func (w *World) checkRoom(t *restoreTask) {
	if quota := t.made.QuotaBytes; quota > 0 && t.origin.SizeBytes*100 >= quota*facts.RoomPercent {
		w.violate("%d bytes are restored for a quota of %d", t.origin.SizeBytes, quota)
	}
}

// wroteBackup is the version of the etcd that the newest backup was taken from. Where minors change it is of any.
func (w *World) wroteBackup(s *store) etcdutil.Version {
	if w.trouble.Minors {
		return asked[s.newest%len(asked)]
	}
	return etcdutil.Version{Major: 3, Minor: 6, Patch: 15}
}

// checkTools holds the etcdutl that restores to the minor that wrote what it restores: a lower one would do it without
// complaint, and the etcd of that minor then stops.
func (w *World) checkTools(t *restoreTask) {
	if wrote := t.origin.Version; !wrote.IsZero() && !wrote.SameMinor(t.made.Version) {
		w.violate("I15: what etcd %s wrote is restored with the tools of %s", wrote, t.made.Version)
	}
}

func (w *World) advanceRestore(name string, t restoreTask) {
	if t.Terminating {
		delete(w.objects.restores, name)
		return
	}
	switch {
	case t.Phase == facts.PodPending && !w.isClaimThere(name, t.disk):
		t.Waiting, t.Message = "Unschedulable", "the claim is gone or being deleted"
	case t.Holds:
		w.advancePlace(name, &t)
	case t.Phase == facts.PodPending && w.Broken[plain(t.made)]:
		t.Waiting, t.Message = "ImagePullBackOff", "image not found"
	case t.Phase == facts.PodPending:
		w.startRestore(name, &t)
	case t.Phase == facts.PodRunning:
		w.restore(name, &t)
	}
	w.objects.restores[name] = t
}

func (w *World) isClaimThere(name, uid string) bool {
	v, ok := w.objects.volumes[name]
	return ok && !v.Terminating && v.UID == uid && !v.IsSpoilt()
}

// advancePlace is a Pod that holds a place: a node takes it, unless all are full.
func (w *World) advancePlace(name string, t *restoreTask) {
	t.Unwanted = ""
	switch {
	case t.Phase == facts.PodPending && w.nodesFull:
		t.Waiting, t.Message = "Unschedulable", "no node that has the volume takes the Pod"
	case t.Phase == facts.PodPending:
		w.startRestore(name, t)
	case w.nodesFull:
		t.Unwanted = "its node is tainted"
	}
}

// startRestore starts a restore Pod once its volume is made.
func (w *World) startRestore(name string, t *restoreTask) {
	t.Waiting, t.Message = "Unschedulable", "pod has unbound immediate PersistentVolumeClaims"
	if w.bind(name) {
		t.Phase, t.Started, t.Waiting, t.Message = facts.PodRunning, true, "", ""
	}
}

// restore is the end of a restore Pod: the data is there whole, or not at all. What is there already is left as it is.
func (w *World) restore(name string, t *restoreTask) {
	t.Finished = w.Now
	d := w.disks[t.disk]
	switch {
	case w.storeOf(facts.WantedBackup{Hash: t.origin.Hash}).spoiled:
		t.Phase, t.Reason, t.Failure = facts.PodFailed, "StoreUnreachable", "the store does not answer"
		return
	case w.storeOf(facts.WantedBackup{Hash: t.origin.Hash}).damaged[t.origin.Key]:
		t.Phase, t.Reason, t.Failure = facts.PodFailed, "ObjectDamaged", "the object is not what its manifest says"
		return
	case d == nil || w.chance(8, "a restore is killed", name) == 0:
		t.Phase = facts.PodFailed
		return
	}
	from, revision := w.fetched(t)
	if from == "" {
		t.Phase, t.Failure = facts.PodFailed, "the survivor does not answer"
		return
	}
	t.Phase = facts.PodSucceeded
	if !d.isEmpty() {
		return
	}
	w.checkTools(t)
	w.checkRoom(t)
	id := hash("cluster", t.Incarnation, t.initial)
	c := w.formed(id, t.Incarnation, t.initial)
	if !w.isHeld(id) { // what was restored before it left no trace, and nothing of it ever ran
		c.from, c.base, c.alarm = from, revision+t.bump, t.origin.Alarms != ""
		c.full = c.alarm && w.chance(2, "what is restored is full", from) == 0
		c.downgrade = w.downgradeIn(t.origin)
	}
	if c.from != from {
		w.violate("members of %s are restored from %s and from %s", id, c.from, from)
	}
	*d = disk{cluster: id, member: hash(id, name), from: from, ran: t.origin.Version, format: minorOf(t.origin.Version)}
}

// downgradeIn is the minor to which a downgrade was enabled when the backup was taken, as in every third of a
// minor that knows them.
func (w *World) downgradeIn(origin record.Origin) etcdutil.Version {
	if !w.trouble.Minors || origin.Version.Minor < 6 || origin.SizeBytes%3 != 0 {
		return etcdutil.Version{}
	}
	return etcdutil.Version{Major: origin.Version.Major, Minor: origin.Version.Minor - 1}
}

// fetched is what a restore Pod got to restore, and of which revision that is: a backup, or what a survivor gave; empty
// when it gave nothing.
func (w *World) fetched(t *restoreTask) (from string, revision int64) {
	switch {
	case t.mounts != "":
		return w.readOn(t.mounts, t.Incarnation)
	case t.survivor != "":
		return w.heldBy(t.survivor)
	}
	return t.origin.SHA256, t.origin.Revision
}

// holdsVolume reports a restore Pod that keeps a claim from going.
func (w *World) holdsVolume(name, uid string) bool {
	t, ok := w.objects.restores[name]
	return ok && t.Phase == facts.PodRunning && t.disk == uid
}

// restoreFaults are what goes wrong while a cluster begins with a backup.
func (w *World) restoreFaults() []fault {
	return []fault{
		{"SpoilBackups", 1, func(string) { w.SpoilBackups(true) }},
		{"RepairBackups", 2, func(string) { w.SpoilBackups(false) }},
		{"NewerBackups", 1, by(w.NewerBackups)},
		{"DamageNewest", 1, by(w.DamageNewest)}, {"LargerBackups", 1, by(w.LargerBackups)},
		{"DeletePreflight", 1, by(w.DeletePreflight)},
		{"DeleteRestore", 2, func(string) { w.anyRestore(w.DeleteRestore) }},
		{"KillRestore", 1, func(string) { w.anyRestore(w.KillRestore) }},
		{"DeleteVolumeOfRestore", 1, func(string) { w.anyRestore(w.DeleteVolume) }},
		{"changeWish", 1, by(w.changeWish)},
	}
}

// restoreFaultOrOther is one fault, of a restore as often as not.
func (w *World) restoreFaultOrOther() {
	if w.chance(2, "another fault", "") == 0 {
		w.Fault()
		return
	}
	w.strike(w.restoreFaults())
}

func (w *World) anyRestore(fault func(string)) {
	if name := w.oneOf("restore", sortedKeys(w.objects.restores)); name != "" {
		fault(name)
	}
}

// SpoilBackups makes all that the stores hold unreadable, or readable again.
func (w *World) SpoilBackups(spoiled bool) {
	for _, s := range w.stores {
		s.spoiled = spoiled
	}
	w.logf("fault: backups spoiled: %v", spoiled)
}

// FillNodes has no node take a member of the next incarnation where its volume is, or again each of them.
func (w *World) FillNodes(full bool) {
	w.nodesFull = full
	w.logf("fault: nodes take no member that is not there yet: %v", full)
}

// NewerBackups are taken meanwhile: a wish for the newest finds another one from now on.
func (w *World) NewerBackups() {
	for _, s := range w.stores {
		s.newest++
	}
}

// DamageNewest is what nobody puts right: the newest backups are not what they should be.
func (w *World) DamageNewest() {
	for wish, s := range w.stores {
		s.damaged[s.key(wish.Hash)] = true
	}
	w.logf("fault: the newest backups are damaged")
}

// LargerBackups are the newest ones, of clusters that had a larger quota.
func (w *World) LargerBackups() {
	for _, s := range w.stores {
		s.large[s.key("")] = true
	}
	w.logf("fault: the newest backups are large")
}

// FreeSpace is a user who deletes keys, compacts and defragments.
func (w *World) FreeSpace() {
	for _, c := range w.clusters {
		c.full, c.historic, c.isRead, c.bloated = false, false, false, map[etcdutil.ID]bool{}
	}
}

// disarm holds the operator to taking an alarm back only where there is room, or where all copies are equal again.
func (w *World) disarm(c *cluster, alarms []facts.Alarm) {
	for _, alarm := range alarms {
		switch {
		case alarm.Name == facts.AlarmCorrupt:
			if w.isCorrupted(c) {
				w.violate("the alarm CORRUPT of %s is taken back, and a copy still differs", c.id)
			}
			delete(c.corrupt, alarm.Member)
		case c.isFull() && w.ledger.isFresh: // what clients wrote since a look raises it again
			w.violate("the alarm of %s is taken back, and it is full", c.id)
		default:
			c.alarm = false
		}
	}
}

// DeletePreflight is somebody's kubectl delete pod.
func (w *World) DeletePreflight() {
	if w.objects.preflight != nil {
		w.editPreflight(func(p *facts.Preflight) { p.Terminating = true })
		w.logf("fault: preflight Pod deleted")
	}
}

// DeleteRestore is somebody's kubectl delete pod.
func (w *World) DeleteRestore(name string) {
	t := w.objects.restores[name]
	t.Terminating = true
	w.objects.restores[name] = t
	w.logf("fault: restore Pod of %s deleted", name)
}

// KillRestore is a node shutdown or an eviction by the kubelet.
func (w *World) KillRestore(name string) {
	if t := w.objects.restores[name]; !t.HasSucceeded() && !t.HasFailed() {
		t.Phase, t.Finished = facts.PodFailed, w.Now
		w.objects.restores[name] = t
		w.logf("fault: restore Pod of %s killed", name)
	}
}

// changeWish is a user who wants to begin with something else, with nothing, or with what is not there.
func (w *World) changeWish() {
	w.Spec.Restore = []facts.WantedBackup{{}, {Hash: "one"}, {Hash: "two"},
		{Fault: "what is named is not there"}}[w.chance(4, "wish", "")]
	w.logf("spec: begin with %+v", w.Spec.Restore)
}

// isUnrestorable reports a backup of which nothing but another wish, or another look, could find anything else.
func isUnrestorable(d plan.Decision) bool {
	return d.NeedsHuman && (d.Reason == facts.ReasonUnusable || d.Reason == facts.ReasonRestoreFailed)
}
