package fake

import (
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Cluster versions, downgrades, and what starts on whose data. What takes a real leader seconds happens at once here.

// snapshotCount is how many entries a member applies before it writes a snapshot of its log's state. It keeps
// keptEntries before that for members that lag (etcd-io/etcd:server/etcdserver/server.go DefaultSnapshotCount, since
// 3.6, and DefaultSnapshotCatchUpEntries).
const (
	snapshotCount = 10_000
	keptEntries   = 5_000
)

// moveVersions is the leader's monitor: the cluster version follows the lowest version of all members, or a downgrade,
// which ends once every member runs its target (etcd-io/etcd:server/etcdserver/version/monitor.go). It says whether it
// changed anything.
func (n *Network) moveVersions(cluster etcdutil.ID) bool {
	g := n.group(cluster)
	if g.leader == nil {
		return false
	}
	state := g.leader.state()
	lowest, isEach := n.lowestVersion(cluster, state)
	target := state.downgrade
	switch {
	case state.version.IsZero():
		n.append(g, entry{kind: entryVersion, version: lowest.OfMinor()})
	case !target.IsZero() && isEach && n.highestVersion(cluster).SameMinor(target):
		n.append(g, entry{kind: entryDowngrade})
	case !target.IsZero() && target.Compare(state.version) < 0:
		n.append(g, entry{kind: entryVersion, version: target})
	case target.IsZero() && isEach && lowest.OfMinor().Compare(state.version) > 0:
		n.append(g, entry{kind: entryVersion, version: lowest.OfMinor()})
	default:
		return false
	}
	return true
}

// lowestVersion is that of the members that run, and whether those are all that are listed.
func (n *Network) lowestVersion(cluster etcdutil.ID, state membership) (lowest etcdutil.Version, isEach bool) {
	running := n.running(cluster)
	for _, p := range running {
		if lowest.IsZero() || p.flags.Version.Compare(lowest) < 0 {
			lowest = p.flags.Version
		}
	}
	for _, m := range state.members {
		isRunning := false
		for _, p := range running {
			isRunning = isRunning || p.id == m.ID && p.serving
		}
		if !isRunning {
			return lowest, false
		}
	}
	return lowest, true
}

func (n *Network) highestVersion(cluster etcdutil.ID) (highest etcdutil.Version) {
	for _, p := range n.running(cluster) {
		if p.flags.Version.Compare(highest) > 0 {
			highest = p.flags.Version
		}
	}
	return highest
}

// storageVersion is that of the cluster: a member moves its data as soon as that moved. 3.5 does not say it.
func (n *Network) storageVersion(p *Process) string {
	if p.flags.Version.Minor < 6 {
		return ""
	}
	return p.state().version.String()
}

// enableDowngrade is decided by the leader (etcd-io/etcd:server/etcdserver/version/manager.go DowngradeValidate).
func (n *Network) enableDowngrade(p *Process, target etcdutil.Version) error {
	if err := n.readable(p); err != nil {
		return err
	}
	state := n.group(p.cluster).leader.state()
	switch {
	case target.Major != state.version.Major || target.Minor+1 != state.version.Minor:
		return rpctypes.ErrInvalidDowngradeTargetVersion
	case !state.downgrade.IsZero():
		return rpctypes.ErrDowngradeInProcess
	}
	return n.commit(p, entry{kind: entryDowngrade, version: target.OfMinor()})
}

// cancelDowngrade is no error where there is nothing to cancel.
func (n *Network) cancelDowngrade(p *Process) error {
	if err := n.readable(p); err != nil || p.state().downgrade.IsZero() {
		return err
	}
	return n.commit(p, entry{kind: entryDowngrade})
}

// appendEntry counts an entry, of which nothing else is kept, on every member that gets entries.
func (n *Network) appendEntry(p *Process) error {
	if err := n.readable(p); err != nil {
		return err
	}
	for _, other := range n.running(p.cluster) {
		if !other.lagging {
			other.apply(1)
		}
	}
	return nil
}

// follow brings a member to the leader's log. One that has none yet gets a snapshot in the place of what the leader has
// not any more.
func (p *Process) follow(leader *directory) {
	was := p.state().version
	if len(p.dir.log) == 0 {
		p.dir.snapshot, p.dir.compacted, p.dir.received = leader.compacted, leader.compacted, len(leader.log)
	}
	entries := len(leader.log) - len(p.dir.log) + leader.unnamed - p.dir.unnamed
	p.dir.log, p.dir.unnamed = slices.Clone(leader.log), leader.unnamed
	p.snapshotAfter(entries)
	p.snapshotBelow(was)
}

// apply counts entries that the log does not name.
func (p *Process) apply(entries int) {
	p.dir.unnamed += entries
	p.snapshotAfter(entries)
}

// snapshotAfter writes a snapshot once enough entries were applied. It covers all of them.
func (p *Process) snapshotAfter(entries int) {
	d := p.dir
	if d.sinceSnapshot += entries; d.sinceSnapshot <= snapshotCount {
		return
	}
	p.save()
	isKept := func(e entry) bool { return e.index+keptEntries > d.applied() }
	if d.compacted = slices.IndexFunc(d.log, isKept); d.compacted < 0 {
		d.compacted = len(d.log)
	}
}

// snapshotBelow writes a snapshot where the cluster version went down from what it was
// (etcd-io/etcd:server/etcdserver/apply/backend.go ClusterVersionSet).
func (p *Process) snapshotBelow(was etcdutil.Version) {
	if p.state().version.Compare(was) < 0 {
		p.save()
	}
}

func (p *Process) save() {
	p.dir.snapshot, p.dir.sinceSnapshot = len(p.dir.log), 0
	p.snapshots++
}

// versionExit ends a process that is older than its cluster, or that cannot read what another one wrote
// (etcd-io/etcd:server/etcdserver/version/downgrade.go, …/apply/apply.go; that 3.7 and 3.6 panic was tried).
func (p *Process) versionExit() *Exit {
	state := p.state()
	if p.flags.Version.OfMinor().Compare(state.version) < 0 {
		return &Exit{1, fmt.Sprintf("invalid downgrade; server version is lower than determined cluster version "+
			"(%s, %s)", p.flags.Version, state.version)}
	}
	for _, e := range p.dir.log[min(p.dir.snapshot, len(p.dir.log)):] {
		if e.old && p.flags.Version.Minor >= 7 {
			return &Exit{2, "panic: unmarshal should never fail"}
		}
	}
	const raised = 6 // the minor that fails on what raised the cluster version above it
	for _, e := range p.dir.log[min(max(p.dir.snapshot, p.dir.received), len(p.dir.log)):] {
		if e.kind == entryVersion && p.flags.Version.Minor == raised && e.version.Minor > raised {
			return &Exit{2, "panic: invalid downgrade; server version is lower than determined cluster version"}
		}
	}
	return nil
}

// joinExit ends a new member that etcd does not let join (etcd-io/etcd:server/etcdserver/cluster_util.go
// isCompatibleWithCluster; that none joins while a downgrade is enabled was tried).
func (p *Process) joinExit(state membership) *Exit {
	if p.flags.Version.OfMinor().Compare(state.version) < 0 || !state.downgrade.IsZero() {
		return &Exit{1, "incompatible with current running cluster"}
	}
	return nil
}
