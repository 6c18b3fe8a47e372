package world

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Advance lets one thing happen that Kubernetes and etcd do by themselves, chosen by the seed. Time passes.
func (w *World) Advance() {
	w.Steps++
	clear(w.questions)
	w.advance()
}

// advance does so in the middle of a step.
func (w *World) advance() {
	w.Now = w.Now.Add(time.Duration(100+w.chance(2000, "time passes", "")) * time.Millisecond)
	w.remember()
	if name := w.oneOf("Pod that moves", sortedKeys(w.objects.pods)); name != "" {
		w.advancePod(name)
	}
	w.advanceTasks()
	w.advanceTrouble()
	for _, name := range sortedKeys(w.objects.volumes) {
		w.advanceVolume(name)
	}
	w.settleClusters()
	if w.chance(2, "a client writes", "") == 0 {
		w.write()
	}
	w.readiness()
	w.watch()
	w.checkLists()
	w.checkTrust()
	w.checkReached()
	w.checkIncarnations()
}

// advancePod takes a Pod one step on: gone, scheduled, started, stopped, or the kubelet sees its annotations.
func (w *World) advancePod(name string) {
	p := w.objects.pods[name]
	switch {
	case p.Terminating:
		w.end(name, p)
		return
	case p.HasEnded():
		return
	case !p.Scheduled:
		w.schedule(name, &p)
	case w.Broken[plain(p.made)] && !p.Started:
		p.Waiting, p.Message = "ImagePullBackOff", "image not found"
	case !p.Running:
		p.seen, p.Waiting = p.Flags, ""
		w.run(name, &p)
	default:
		p.seen = p.Flags
		w.showCertificate(p)
		w.advanceResize(&p)
		if proc := w.procs[p.UID]; proc != nil && p.seen == facts.FlagsSealed {
			w.sealed[proc.disk.member] = true
		}
	}
	w.objects.pods[name] = p
}

// end lets a Pod go that was asked to, if its node hears of it.
func (w *World) end(name string, p pod) {
	if p.cutOff {
		if p.GoneBy.IsZero() {
			p.GoneBy = w.Now.Add(30 * time.Second)
			w.objects.pods[name] = p
		}
		return
	}
	w.stop(p)
	w.empty(p.UID)
	if w.isKept(name, p) {
		return
	}
	delete(w.disks, p.UID)
	delete(w.objects.pods, name)
}

// isKept has a finalizer keep a Pod that ended, until it is taken off.
func (w *World) isKept(name string, p pod) bool {
	if p.HeldBy != "" {
		return w.trouble.Finalizers && w.chance(100, "the finalizer is taken off", name) > 0
	}
	if !w.sometimes(w.trouble.Finalizers, 3, "a finalizer keeps "+name) {
		return false
	}
	p.Running, p.RunningSince, p.Ready, p.Phase = false, time.Time{}, false, facts.PodSucceeded
	p.ReadySince, p.GoneBy, p.HeldBy = w.Now, w.Now, "example.com/hold"
	w.objects.pods[name] = p
	w.logf("fault: a finalizer keeps Pod %s", name)
	return true
}

// schedule binds the volume and finds a node, unless the claim is gone or going.
func (w *World) schedule(name string, p *pod) {
	if why := w.volumeKeeps(name, p); why != "" {
		w.leave(p, why)
		return
	}
	if n := w.nodesTaken(); w.Nodes > 0 && n >= w.Nodes {
		w.leave(p, cmp.Or(w.Crowded,
			fmt.Sprintf("0/%[1]d nodes are available: %[1]d node(s) didn't match pod anti-affinity rules.", n)))
		return
	}
	if w.disks[p.disk] == nil {
		w.disks[p.disk] = &disk{}
	}
	p.Scheduled, p.Node, p.Waiting, p.Message, p.UnplacedFrom = true, w.nodeOf(name), "", "", time.Time{}
}

// volumeKeeps says why a Pod's volume lets it run on no node, or "".
func (w *World) volumeKeeps(name string, p *pod) string {
	if p.disk == p.UID { // its data is in the Pod
		return ""
	}
	v, ok := w.objects.volumes[name]
	switch {
	case !ok || v.Terminating:
		return "the claim is gone or being deleted"
	case v.UID != p.disk:
		p.disk = v.UID
		return "the claim is gone or being deleted"
	case w.Nowhere && v.Phase == facts.VolumePending:
		return "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
	case v.Torn != "" && !v.isHalfMade:
		return "the claim of its log is gone"
	case v.Stranded != "":
		return "1 node(s) had volume node affinity conflict"
	case v.isOutside(p.made):
		return "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 node(s) had volume " +
			"node affinity conflict."
	case !w.bind(name):
		return "pod has unbound immediate PersistentVolumeClaims"
	}
	if v = w.objects.volumes[name]; v.pool == "" {
		v.pool = poolOf(p.made)
		w.objects.volumes[name] = v
	}
	return ""
}

// leave says why no node takes a Pod, and keeps since when.
func (w *World) leave(p *pod, says string) {
	p.Waiting, p.Message = "Unschedulable", says
	if p.UnplacedFrom.IsZero() {
		p.UnplacedFrom = w.Now
	}
}

// nodesTaken counts the nodes that a Pod of the cluster is on, where each is on its own.
func (w *World) nodesTaken() int {
	n := 0
	for _, p := range w.objects.pods {
		if p.Scheduled && !p.HasEnded() {
			n++
		}
	}
	return n
}

// run starts the container: etcd reads the directory, then its flags.
func (w *World) run(name string, p *pod) {
	p.Phase, p.Started = facts.PodRunning, true
	d := w.disks[p.disk]
	w.checkFirstStart(name, *p, d)
	w.checkOwnDisk(name, d)
	if reason := w.start(*p, d); reason != "" {
		if p.Exit == nil || p.Exit.Reason != reason {
			w.logf("kubelet: etcd of %s stops: %s", name, reason)
		}
		p.Exit = &facts.Exit{Reason: reason, Code: 1, Message: lastWords(reason, d), At: w.Now}
		return
	}
	p.Running, p.RunningSince, p.Booted = true, w.Now, true
	w.started++
	p.Process = fmt.Sprintf("process-%d", w.started)
	w.procs[p.UID] = &process{pod: name, disk: d, neverServes: w.NeverServes[plain(p.made)], content: d.content}
	w.readTrust(w.procs[p.UID])
}

// lastWords are what etcd says of why it stops.
func lastWords(reason etcdutil.ExitReason, d *disk) string {
	if d.fails {
		return "write /data/member/wal/0.wal: input/output error"
	}
	return string(reason)
}

// stop ends a Pod's process.
func (w *World) stop(p pod) { delete(w.procs, p.UID) }

// advanceVolume lets a claim go once no scheduled Pod refers to it.
func (w *World) advanceVolume(name string) {
	w.advanceGrowth(name)
	w.advanceAttributes(name)
	v := w.objects.volumes[name]
	if !v.Terminating {
		return
	}
	if p, ok := w.objects.pods[name]; ok && p.Scheduled && p.disk == v.UID || w.holdsVolume(name, v.UID) {
		return
	}
	if v.isHalfGoing {
		w.loseHalf(name)
		return
	}
	delete(w.objects.volumes, name)
	delete(w.disks, v.UID)
}

// readiness is what the probes say: a Pod is Ready while its member serves, with a quorum.
func (w *World) readiness() {
	for _, name := range sortedKeys(w.objects.pods) {
		p := w.objects.pods[name]
		proc := w.procs[p.UID]
		ready := !p.cutOff && (proc == nil || len(w.clusters[proc.disk.cluster].corrupt) == 0) && proc != nil &&
			proc.served && proc.takesPart() && w.hasQuorum(w.clusters[proc.disk.cluster])
		if ready != p.Ready {
			p.Ready, p.ReadySince = ready, w.Now
			w.objects.pods[name] = p
		}
		if proc != nil && w.clusters[proc.disk.cluster].removed[proc.disk.member] {
			p.Running, p.RunningSince, p.Ready = false, time.Time{}, false
			p.Exit = &facts.Exit{Reason: etcdutil.ExitRemoved, At: w.Now}
			w.stop(p)
			w.objects.pods[name] = p
		}
	}
}
