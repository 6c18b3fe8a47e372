package world

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Disks that are not what they were, and claims that are not the ones that a member lived on.

// isSound reports a disk that works, and holds what clients wrote and all that its member acknowledged.
func (d *disk) isSound() bool {
	return d.applied >= d.promised && d.content == 0 && !d.isCopy && !d.fails && !d.hasNoLog
}

// RollBack puts an older content on a member's disk, as a snapshot of the storage does. Its process stops for it. It
// is done only where the other voters are a quorum with all that was written, or no operator could keep the writes.
func (w *World) RollBack(name string) {
	p, d := w.objects.pods[name], w.disks[w.objects.pods[name].disk]
	if d == nil || d.isEmpty() || d.applied < 2 || w.clusters[d.cluster] == nil {
		return
	}
	w.KillContainer(name)
	if c := w.clusters[d.cluster]; !w.hasQuorum(c) {
		return
	}
	w.disks[p.disk] = &disk{cluster: d.cluster, member: d.member, content: d.content, from: d.from,
		applied: d.applied / 2, promised: max(d.promised, d.applied)}
	w.trouble.rolled = true
	w.logf("fault: the disk of %s is rolled back", name)
}

// isBehindItsWord reports a disk that lost what its member acknowledged, while the others go on from there: raft stops
// for that.
func (w *World) isBehindItsWord(d *disk) bool {
	c := w.clusters[d.cluster]
	return d.applied < d.promised && w.hasQuorum(c)
}

// CopyVolume is a backup tool that puts a claim of the old name in the place of a member's: with the annotations of
// the old one, and what the disk held some time ago.
func (w *World) CopyVolume(name string) {
	v, ok := w.objects.volumes[name]
	d := w.disks[v.UID]
	if !ok || v.Record.IsZero() || d == nil || d.isEmpty() {
		return
	}
	older := disk{cluster: d.cluster, member: d.member, content: d.content, from: d.from, applied: d.applied / 2,
		promised: max(d.promised, d.applied), isCopy: true}
	v.Backing = w.uid("persistent-volume")
	w.exchangeVolume(name, v, &older)
	w.trouble.rolled = true
	w.logf("fault: the volume of %s is put back by a backup tool", name)
}

// RebindVolume is a person who deletes a claim and makes it anew on the same retained PersistentVolume: the data is
// the member's own.
func (w *World) RebindVolume(name string) {
	if v, ok := w.objects.volumes[name]; ok && !v.Record.IsZero() && w.disks[v.UID] != nil {
		w.exchangeVolume(name, v, w.disks[v.UID])
		w.logf("fault: the volume of %s is bound anew to the same disk", name)
	}
}

// exchangeVolume deletes a claim with its Pod, and makes one of the same name with the same annotations and this disk.
func (w *World) exchangeVolume(name string, v volume, d *disk) {
	if p, ok := w.objects.pods[name]; ok {
		w.stop(p)
		delete(w.objects.pods, name)
	}
	delete(w.disks, v.UID)
	v.UID, v.Created, v.Terminating, v.isHalfGoing = w.uid("volume"), w.Now, false, false
	w.disks[v.UID], w.objects.volumes[name] = d, v
}

// checkOwnDisk is I4: a member starts from the disk that it lived on, not from a copy of it.
func (w *World) checkOwnDisk(name string, d *disk) {
	if d.isCopy {
		w.violate("I4: %s starts on a copy of its disk", name)
	}
}

// LoseSharedNode deletes a node on which several members are.
func (w *World) LoseSharedNode(name string) { w.onNodeOf(name, w.LoseNode) }

// RestartSharedNode is a node that restarts: the containers on it are killed.
func (w *World) RestartSharedNode(name string) { w.onNodeOf(name, w.KillContainer) }

func (w *World) onNodeOf(name string, fault func(string)) {
	node := w.objects.pods[name].Node
	for _, other := range sortedKeys(w.objects.pods) {
		if node != "" && w.objects.pods[other].Node == node {
			fault(other)
		}
	}
}

// SkewClock puts the clock of a member's node, or the API server's, six minutes off, or right again.
func (w *World) SkewClock(name string) {
	node := w.objects.pods[name].Node
	if w.chance(4, "the API server's clock", "") == 0 {
		node = apiServer
	}
	w.SkewNode(node, []time.Duration{-6 * time.Minute, 6 * time.Minute, 0}[w.chance(3, "skew", "")])
}

// apiServer is the clock that dates the creation and the deletion of objects.
const apiServer = "the API server"

// WrongDate has answers of the API server bear a time that is a day ahead, or behind, for a moment. What it writes has
// the right time.
func (w *World) WrongDate() {
	w.trouble.date = []time.Duration{-25 * time.Hour, 25 * time.Hour}[w.chance(2, "wrong date", "")]
	w.logf("fault: answers are dated %s off", w.trouble.date)
}

// clocks are the time by the API server's answers, and how far it is ahead of the operator's own clock.
func (w *World) clocks() (now time.Time, ahead time.Duration) {
	ahead = w.trouble.skew[apiServer] + w.trouble.date
	return w.Now.Add(ahead), ahead
}

// SkewNode puts a clock off by so much.
func (w *World) SkewNode(node string, by time.Duration) {
	if w.trouble.skew == nil {
		w.trouble.skew = map[string]time.Duration{}
	}
	w.trouble.skew[node] = by
	w.logf("fault: the clock of %s is %s off", node, by)
}

// dated is a Pod as its node and the API server date it. What the node controller wrote of a node that is cut off has
// the true time.
func (w *World) dated(p pod) facts.Pod {
	out := p.Pod
	out.Uncompared = p.isUncompared()
	if !p.Running {
		out.Process = ""
	}
	kubelet, server := w.trouble.skew[p.Node], w.trouble.skew[apiServer]
	for _, written := range []time.Time{out.ReadySince, out.RunningSince} {
		if written.After(out.StatusAt) {
			out.StatusAt = written
		}
	}
	if out.Exit != nil && out.Exit.At.After(out.StatusAt) {
		out.StatusAt = out.Exit.At
	}
	out.StatusAt = shifted(out.StatusAt, server)
	out.Created, out.GoneBy = shifted(out.Created, server), shifted(out.GoneBy, server)
	if out.RunningSince = shifted(out.RunningSince, kubelet); !p.cutOff {
		out.ReadySince = shifted(out.ReadySince, kubelet)
	}
	if out.Exit != nil && kubelet != 0 {
		exit := *out.Exit
		exit.At = shifted(exit.At, kubelet)
		out.Exit = &exit
	}
	return out
}

func shifted(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

// nodeOf is the node that a member's Pod is scheduled to.
func (w *World) nodeOf(name string) string {
	nodes := 64
	if w.trouble.SharedNodes {
		nodes = 2
	}
	ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, name)
	return fmt.Sprintf("node-%d", ordinal%nodes)
}

// FailDisk has a disk return an error for each read and write.
func (w *World) FailDisk(name string) {
	if d := w.disks[w.objects.pods[name].disk]; d != nil {
		w.KillContainer(name)
		d.fails = true
		w.logf("fault: the disk of %s fails", name)
	}
}

// DarkenNode is a node that loses power: the process is gone, the kubelet as well, and the node controller calls the
// Pod not ready.
func (w *World) DarkenNode(name string) {
	p, ok := w.objects.pods[name]
	if !ok {
		return
	}
	w.stop(p)
	if p.cutOff, p.NodeUnheard = true, w.Now; p.Ready {
		p.Ready, p.ReadySince = false, w.Now
	}
	w.objects.pods[name] = p
	w.logf("fault: the node of %s loses power", name)
}

// Impersonate cuts a member off, and has its address lead to another etcd: to one of another cluster, or to another
// member. Only certificates would show that it is another one.
func (w *World) Impersonate(name, by string) {
	if proc := w.procs[w.objects.pods[name].UID]; proc != nil && !w.Spec.TLS {
		proc.ill, proc.instead = hidden, by
		w.logf("fault: the address of %s leads to %s", name, by)
	}
}
