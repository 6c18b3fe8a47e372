package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Raft's log, as far as etcd 3.7 cannot read what 3.5 wrote to it, and 3.6 not what raised the cluster above it.

// A member writes a snapshot of raft's state after so many entries, and a leader keeps so many of those before it for
// members that lag.
const (
	snapshotCount = 10_000
	keptEntries   = 5_000
)

// settleLog lets running members take the log, and write a snapshot of it once they took enough.
func (w *World) settleLog(c *cluster, running []*process) {
	for _, p := range running {
		if w.objects.pods[p.pod].made.Version.Minor < 6 {
			c.entries++ // it says so in the old form
			c.old = c.writes + c.entries
		}
	}
	for _, p := range running {
		p.disk.entries = c.entries
		if at := c.writes + c.entries; at-p.disk.covered > snapshotCount {
			p.disk.covered = at
			p.snapshots++
		}
	}
}

// saveLog has members write a snapshot as the cluster version goes down. One may end before it did.
func (w *World) saveLog(c *cluster, running []*process) {
	for _, p := range running {
		if w.chance(5, "no snapshot is saved", p.pod) != 0 {
			p.disk.covered = max(c.writes+c.entries, c.raisedAt)
			p.snapshots++
		}
	}
}

// leadersSnapshot is what a new member need not read: it gets a snapshot in the place of what the leader has not any
// more.
func (w *World) leadersSnapshot(c *cluster) int {
	for _, p := range w.running(c) {
		if p.disk.member == c.leader {
			return max(0, p.disk.covered-keptEntries)
		}
	}
	return 0
}

// awaited is the entry that a new member of 3.7 needs before it serves: it got the others as a snapshot, and counts
// them only then. With few entries it need not wait.
func (c *cluster) awaited(p pod) int {
	if at := c.writes + c.entries; p.made.Version.Minor >= 7 && at > keptEntries {
		return at + 1
	}
	return 0
}

// isUnreadable reports an etcd that cannot read what another one wrote. It must never be started.
func (w *World) isUnreadable(p pod, d *disk) bool {
	c := w.clusters[d.cluster]
	if p.made.Version.Minor == 6 && d.ran.Minor > 6 && c.raised.Minor > 6 && d.covered < c.raisedAt {
		w.violate("I15: etcd %s starts on a log that raised the cluster to %s", p.made.Version, c.raised)
		return true
	}
	if p.made.Version.Minor < 7 || d.ran.IsZero() || d.covered >= c.old {
		return false
	}
	w.violate("I15: etcd %s starts on a log that 3.5 wrote", p.made.Version)
	return true
}

// addSnapshots has every voter that answers asked, where the next stop needs it.
func (w *World) addSnapshots(o *facts.Observation) {
	if !atStop(*o).Needs.CountsSnapshots() {
		return
	}
	for _, r := range o.Current.Voters() {
		if r.Answer != nil && r.Pod != nil {
			r.Answer.Snapshots = new(w.procs[w.objects.pods[r.Name].UID].snapshots)
		}
	}
}
