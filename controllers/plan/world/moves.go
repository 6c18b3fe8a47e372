package world

import (
	"encoding/json"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Pools of nodes, and volumes that live on a node: the spec asks for a pool, and a volume is in the one that its first
// Pod was taken by.

// inPool are the settings of a member in a pool.
func inPool(pool string) string { return `{"pod":{"nodeSelector":{"pool":"` + pool + `"}}}` }

// poolOf is the pool that settings ask for; empty for any.
func poolOf(c facts.Settings) string {
	var in struct {
		Pod struct{ NodeSelector struct{ Pool string } }
	}
	if json.Unmarshal([]byte(c.Inputs), &in) != nil {
		return ""
	}
	return in.Pod.NodeSelector.Pool
}

// Move is a user who asks for another pool, StorageClass, size or medium, or for what there was before.
func (w *World) Move() {
	switch w.chance(4, "what moves members", "") {
	case 3:
		media := []facts.Storage{{}, {Ephemeral: true}, {Ephemeral: true, Medium: "Memory"}}
		if w.Spec.Size > 0 {
			w.Spec.Storage = media[w.chance(len(media), "medium", "")]
			w.logf("spec: storage %+v", w.Spec.Storage)
		}
	case 0:
		w.Spec.StorageClass = []string{"a", "b"}[w.chance(2, "StorageClass", "")]
		w.logf("spec: StorageClass %q", w.Spec.StorageClass)
	case 1:
		w.Spec.StorageBytes = []int64{6 << 30, 7 << 30, 8 << 30}[w.chance(3, "size of volumes", "")]
		w.logf("spec: volumes of %d", w.Spec.StorageBytes)
	default:
		w.Spec.Settings.Inputs = inPool([]string{"a", "b"}[w.chance(2, "pool", "")])
		w.logf("spec: inputs %s", w.Spec.Settings.Inputs)
	}
}

// AskToReplace is a person who asks for a new member in the place of one, or for that no more.
func (w *World) AskToReplace() {
	w.Unwanted = ""
	if c := w.written(); c != nil && w.chance(4, "is a member to go", "") > 0 {
		w.Unwanted = c.nameOf(c.members[w.chance(len(c.members), "member", "")].ID)
	}
	w.logf("a person asks for %q to be replaced", w.Unwanted)
}

// isOutside reports a Pod of another pool than the volume is in.
func (v volume) isOutside(c facts.Settings) bool {
	return v.pool != "" && poolOf(c) != "" && v.pool != poolOf(c)
}

// leavesFirst reports a member that the user lets go before its successor joins, while all others serve and are more
// than one.
func (w *World) leavesFirst(c *cluster, id etcdutil.ID) bool {
	isAway := func(m etcdutil.Member) bool { return m.ID != id && !w.serves(c, m.ID) }
	return w.Spec.LeavesFirst && len(c.voters()) > 2 && !slices.ContainsFunc(c.voters(), isAway)
}

// misplaced is what the operator finds out of a member's volume, while the spec asks for other nodes than its Pod. In
// half of all worlds nodes may not be read.
func (w *World) misplaced(v volume, r facts.Replica) string {
	isAskedAnew := poolOf(r.RunsWith()) != poolOf(w.Spec.Settings)
	if w.isBlindToNodes() || !isAskedAnew || !v.isOutside(w.Spec.Settings) {
		return ""
	}
	return "only node " + v.pool + " can use its volume, and spec.pod asks for others"
}

func (w *World) isBlindToNodes() bool { return w.seed/2%2 == 0 }

// isSentAway reports an only member that was restarted for a pool which its volume is not in. An operator that may not
// read nodes cannot know that before, and only a person puts the spec back.
func (w *World) isSentAway() bool {
	c := w.written()
	return c != nil && len(c.voters()) == 1 && w.isBlindToNodes() &&
		w.objects.volumes[c.nameOf(c.voters()[0].ID)].isOutside(w.Spec.Settings)
}

// checkPlaced holds the operator to what it saw: no member is stopped for nodes that do not take it where its volume
// is.
func (w *World) checkPlaced(name string) {
	v := w.objects.volumes[name]
	isKnown := w.misplaced(v, w.Observe().Current.Find(name)) != ""
	if isKnown && plain(v.Settings) == w.Spec.Settings && w.ledger.isFresh && !w.trouble.isRaced {
		w.violate("%s was evicted for pool %s, and its volume is in %s", name, poolOf(v.Settings), v.pool)
	}
}

// checkAllMoved holds a cluster that is called settled to the StorageClass and the pool of the spec.
func (w *World) checkAllMoved() {
	for _, r := range w.Observe().Current.Voters() {
		v := w.objects.volumes[r.Name]
		if v.Room() < w.Spec.StorageBytes && !w.Spec.Ephemeral && !v.IsUnbound() {
			w.violate("settled, and the volume of %s has %d of %d", r.Name, v.Room(), w.Spec.StorageBytes)
		}
		if v.Half.Capacity < w.Spec.WAL.Bytes && !w.Spec.Ephemeral && !v.IsUnbound() {
			w.violate("settled, and the log of %s has %d of %d", r.Name, v.Half.Capacity, w.Spec.WAL.Bytes)
		}
		if why := r.WhyMoved(w.Spec); why != "" || v.isOutside(w.Spec.Settings) {
			w.violate("settled, and of %s: in pool %q, %s", r.Name, v.pool, why)
		}
	}
}
