package world

import (
	"maps"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Copies that lie. Every disk holds what its cluster agreed on, or something that no client wrote: its content.
// The content of a sound disk is 0. A new member copies the content of the leader, as a snapshot of raft does.

// CorruptDisk changes what lies on a member's disk, unnoticed.
func (w *World) CorruptDisk(name string) {
	d := w.disks[w.objects.pods[name].disk]
	if d == nil || d.isEmpty() {
		return
	}
	w.serial++
	d.content = w.serial
	w.logf("fault: the disk of %s is corrupted", name)
}

// Hash is what a member answers to HashKV at a revision that all members have. Only one that answers says anything.
func (w *World) Hash(name string) (uint32, bool) {
	p := w.procs[w.objects.pods[name].UID]
	if !p.isHeard() {
		return 0, false
	}
	return uint32(hash(p.disk.cluster, p.disk.content)), true
}

// differs is etcd's initial check, which a Pod of an earlier release makes: a member that starts asks each peer that
// runs for its hash, and stops where any one differs.
func (w *World) differs(d *disk) bool {
	c := w.clusters[d.cluster]
	if c == nil || c.find(d.member) < 0 {
		return false
	}
	return slices.ContainsFunc(w.running(c), func(p *process) bool {
		return p.disk != d && p.served &&
			p.disk.content != d.content
	})
}

// leadersContent is what the leader holds, and sends to a new member.
func (w *World) leadersContent(c *cluster) int {
	for _, p := range w.running(c) {
		if p.disk.member == c.leader {
			return p.disk.content
		}
	}
	return 0
}

// compareHashes is etcd's check of all members while they run: the leader raises CORRUPT where one's hash differs from
// that of a majority, or for member 0 where there is none.
func (w *World) compareHashes() {
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		if !w.hasQuorum(c) || w.chance(20, "hashes are compared", id.String()) > 0 {
			continue
		}
		common, isMajority := w.commonContent(c)
		for _, p := range w.running(c) {
			switch {
			case !isMajority:
				c.corrupt = map[etcdutil.ID]bool{0: true}
			case p.disk.content != common && !c.corrupt[p.disk.member]:
				c.corrupt = maps.Clone(c.corrupt)
				if c.corrupt == nil {
					c.corrupt = map[etcdutil.ID]bool{}
				}
				c.corrupt[w.accusedFor(c, p.disk.member)] = true
			}
		}
	}
}

// accusedFor is whom the alarm names for a wrong copy: it, none as etcd 3.5 does, or a follower of a leader that is
// wrong, as the check by the hour does.
func (w *World) accusedFor(c *cluster, wrong etcdutil.ID) etcdutil.ID {
	switch w.chance(3, "whom the alarm names", c.id.String()) {
	case 0:
		return 0
	case 1:
		follower := slices.IndexFunc(c.members, func(m etcdutil.Member) bool { return m.ID != wrong })
		if wrong == c.leader && follower >= 0 {
			return c.members[follower].ID
		}
	}
	return wrong
}

// commonContent is what a majority of the voters that run hold.
func (w *World) commonContent(c *cluster) (content int, isMajority bool) {
	counts := map[int]int{}
	for _, p := range w.running(c) {
		counts[p.disk.content]++
	}
	for held, n := range counts {
		if n >= etcdutil.Quorum(len(c.voters())) {
			return held, true
		}
	}
	return 0, len(counts) <= 1
}

// corruptAlarms are the alarms that every member of the cluster speaks of.
func (c *cluster) corruptAlarms() []facts.Alarm {
	var out []facts.Alarm
	for _, id := range slices.Sorted(maps.Keys(c.corrupt)) {
		out = append(out, facts.Alarm{Name: facts.AlarmCorrupt, Member: id})
	}
	return out
}

// copies counts the voters of a cluster, and those whose disks hold what clients wrote. A voter that was added and has
// no disk yet counts as one that holds nothing.
func (w *World) copies(c *cluster) (good, voters int) {
	sound := map[etcdutil.ID]bool{}
	for _, objects := range []map[string]string{w.claimedDisks(), w.podDisks()} {
		for _, uid := range objects {
			if d := w.disks[uid]; d != nil && d.cluster == c.id && d.content == 0 {
				sound[d.member] = true
			}
		}
	}
	for _, m := range c.voters() {
		voters++
		if sound[m.ID] {
			good++
		}
	}
	return good, voters
}

// claimedDisks are the disks of volumes that stay, by member.
func (w *World) claimedDisks() map[string]string {
	out := map[string]string{}
	for name, v := range w.objects.volumes {
		if !v.Terminating && !v.IsSpoilt() {
			out[name] = v.UID
		}
	}
	return out
}

// podDisks are the disks that are in Pods.
func (w *World) podDisks() map[string]string {
	out := map[string]string{}
	for name, p := range w.objects.pods {
		out[name] = p.disk
	}
	return out
}

// hasSpokenOfCorruption reports whether anything that the operator can see says that copies differ. What a member said
// when it stopped is answered once it runs again and its copy was compared since.
func (w *World) hasSpokenOfCorruption(c *cluster) bool {
	isSaid := slices.ContainsFunc(sortedKeys(w.objects.pods), func(name string) bool {
		p := w.objects.pods[name]
		isAnswered := p.Running && !p.isUncompared()
		return p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers && !isAnswered
	})
	return isSaid || len(c.corrupt) > 0
}

// isCorrupted reports a voter whose disk holds what no client wrote.
func (w *World) isCorrupted(c *cluster) bool {
	for _, d := range w.disks {
		if d.cluster == c.id && d.content != 0 && c.find(d.member) >= 0 {
			return true
		}
	}
	return false
}

// isAnyCorrupted reports a copy that differs, in a cluster that is written down or in one that never came so far.
func (w *World) isAnyCorrupted() bool {
	for _, c := range w.clusters {
		if w.isCorrupted(c) {
			return true
		}
	}
	return false
}

// isUncompared reports a Pod whose process, or the next one, starts from data that was not compared since.
func (p pod) isUncompared() bool {
	return p.Flags == facts.FlagsSealed && (!p.Running || p.compared != p.Process)
}

// AgePod makes a Pod one of an earlier release, with which etcd itself compares copies when it starts.
func (w *World) AgePod(name string) {
	if p, ok := w.objects.pods[name]; ok && p.Flags == facts.FlagsSealed {
		p.Flags, p.compared = facts.FlagsComparing, ""
		w.objects.pods[name] = p
		w.logf("fault: the Pod of %s is of an earlier release", name)
	}
}

// checkLed is I18: what started from another copy than a majority holds is not called the same.
func (w *World) checkLed(name, process string) {
	p := w.objects.pods[name]
	proc := w.procs[p.UID]
	if proc == nil || p.Process != process || p.Flags != facts.FlagsSealed || proc.content == 0 {
		return
	}
	if good, voters := w.copies(w.clusters[proc.disk.cluster]); good >= etcdutil.Quorum(voters) {
		w.violate("I18: clients are led to %s, which started from another copy than %d of %d voters hold", name, good,
			voters)
	}
}

// checkCopies says that good copies beside a corrupt one are never destroyed: where most voters hold what clients
// wrote, and something says that one does not, the operator leaves a majority of good copies.
func (w *World) checkCopies(c *cluster, before copyCount, what string) {
	if c == nil || !before.isMajority() || !before.isKnown || !w.isCorrupted(c) {
		return
	}
	if good, voters := w.copies(c); good < etcdutil.Quorum(voters) {
		w.violate("I5: %s left %d good copies of %d, and there were %d of %d beside a corrupt one", what, good, voters,
			before.good, before.voters)
	}
}

// copyCount is what copies counted before an effect.
type copyCount struct {
	good, voters int
	isKnown      bool // that one is corrupt
}

func (n copyCount) isMajority() bool { return n.voters > 0 && n.good >= etcdutil.Quorum(n.voters) }

func (w *World) countCopies(c *cluster) copyCount {
	if c == nil {
		return copyCount{}
	}
	good, voters := w.copies(c)
	return copyCount{good: good, voters: voters, isKnown: w.hasSpokenOfCorruption(c)}
}

// hasLiar reports a member of the cluster that is written down whose copy is corrupt.
func (w *World) hasLiar() bool {
	c := w.clusters[w.objects.bootstrap.ClusterID]
	return c != nil && w.isCorrupted(c)
}
