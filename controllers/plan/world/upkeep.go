package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What defragmentation needs: how large databases are, Pods of the agent, and members that are silent meanwhile.

// busy is a process that writes its database anew: neither its peers nor the operator hear of it.
const busy illness = "busy"

// Bloat is a user who stored much and deleted it: files are full, and what is in use is not. Of some clusters etcd
// raised the alarm for it.
func (w *World) Bloat() {
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		c.historic = w.chance(2, "it is history", c.id.String()) == 0
		for _, m := range c.members {
			c.bloated[m.ID] = !c.historic
		}
		c.alarm = c.alarm || w.chance(2, "space runs out", c.id.String()) == 0
	}
	w.logf("fault: databases have much that they do not use")
}

// compact takes history away. The room that it took stays in the files of members that are there.
func (w *World) compact(c *cluster, revision int64) {
	if revision > c.at(c.writes) || !c.alarm {
		w.violate("the history of %s is compacted to %d, and it is at %d", c.id, revision, c.at(c.writes))
	}
	c.compacted = max(c.compacted, revision)
	if c.historic && c.compacted == c.at(c.writes) {
		c.historic = false
		for _, m := range c.members {
			c.bloated[m.ID] = true
		}
		if w.chance(2, "a snapshot is read meanwhile", c.id.String()) == 0 {
			c.isRead = true
			w.logf("a snapshot of %s keeps the room of what is compacted", c.id)
		}
	}
}

// endSnapshots ends what keeps the room of history, now and then.
func (w *World) endSnapshots() {
	for _, id := range sortedIDs(w.clusters) {
		if c := w.clusters[id]; c.isRead && w.chance(4, "a snapshot is read to its end", id.String()) == 0 {
			c.isRead = false
		}
	}
}

// checkNoNeed is that no person is asked for room that history has, or had until a snapshot is read.
func (w *World) checkNoNeed(d plan.Decision) {
	c := w.written()
	if c != nil && c.isRead && d.NeedsHuman && d.Reason == facts.ReasonAlarm && len(c.corrupt) == 0 {
		w.violate("a person is asked for room while a snapshot of %s keeps what is compacted: %s", c.id, d.Message)
	}
}

// history is what the operator knows of revisions. One that just started knows less.
func (w *World) history(id etcdutil.ID) (known facts.History) {
	c := w.clusters[id]
	if c == nil || !c.alarm {
		return known
	}
	known.Compacted, known.IsRead = new(c.compacted), c.isRead
	if w.chance(2, "the operator knows the past", id.String()) == 0 {
		known.Reached = c.at(c.writes)
	}
	return known
}

// startDefrag makes a Pod of the agent.
func (w *World) startDefrag(c changes.StartDefrag) {
	if _, exists := w.objects.defrags[c.Name]; !exists {
		w.objects.defrags[c.Name] = facts.DefragPod{Deadline: c.Deadline, Until: c.Until, Since: w.Now,
			Task: facts.Task{UID: w.uid("defrag"), Created: w.Now, Phase: facts.PodPending}}
	}
}

func (w *World) deleteDefrag(c changes.DeleteDefrag) {
	if p, exists := w.objects.defrags[c.Name]; exists && p.UID == c.UID {
		p.Terminating = true
		w.objects.defrags[c.Name] = p
	}
}

// advanceDefrags takes each such Pod a step on, now and then. etcd goes on where its Pod was killed.
func (w *World) advanceDefrags() {
	w.endSnapshots()
	for _, name := range sortedKeys(w.objects.defrags) {
		if w.chance(2, "a defragmentation moves", name) > 0 {
			continue
		}
		p := w.objects.defrags[name]
		switch {
		case p.Terminating:
			delete(w.objects.defrags, name)
			continue
		case p.Phase == facts.PodPending && w.Now.After(p.StartBy()):
			p.Phase, p.Started, p.Finished, p.Failure = facts.PodFailed, true, w.Now, "it began too late"
		case p.Phase == facts.PodPending:
			p.Phase, p.Started = facts.PodRunning, true
			w.beBusy(name)
		case p.Phase == facts.PodRunning && w.chance(6, "the Pod is killed", name) == 0:
			p.Phase, p.Finished, p.Failure = facts.PodFailed, w.Now, "killed"
		case p.Phase == facts.PodRunning:
			p.Phase, p.Finished, p.After = facts.PodSucceeded, w.Now, p.Until-1
		}
		w.objects.defrags[name] = p
	}
	for _, name := range sortedKeys(w.objects.pods) {
		if p, exists := w.objects.defrags[name]; !exists || p.Phase != facts.PodRunning ||
			w.chance(3, "etcd is done before its Pod", name) == 0 {
			w.giveBack(name)
		}
	}
}

// beBusy begins it. The agent leaves a file alone that is small by now.
func (w *World) beBusy(name string) {
	if proc := w.procs[w.objects.pods[name].UID]; proc != nil && proc.ill == "" &&
		w.clusters[proc.disk.cluster].bloated[proc.disk.member] {
		proc.ill = busy
	}
}

// giveBack ends what a member is busy with. A process that was killed meanwhile has given nothing back.
func (w *World) giveBack(name string) {
	proc := w.procs[w.objects.pods[name].UID]
	if proc == nil || proc.ill != busy || w.chance(2, "it is still busy", name) == 0 {
		return
	}
	proc.ill = ""
	delete(w.clusters[proc.disk.cluster].bloated, proc.disk.member)
}

// alarmed is what a member says of alarms, of its size, and of what is in use.
func (c *cluster) alarmed(quota int64, of *disk) (raised []facts.Alarm, size, inUse int64) {
	size, inUse = quota/10, quota/10
	if c.alarm {
		raised = []facts.Alarm{{Name: facts.AlarmNoSpace, Member: 99}}
	}
	if c.bloated[of.member] {
		size = quota
	}
	if c.full || c.historic || c.isRead {
		size, inUse = quota, quota
	}
	return raised, size, inUse
}

// isFull reports a cluster of which a member has no room.
func (c *cluster) isFull() bool {
	for _, m := range c.members {
		if c.bloated[m.ID] {
			return true
		}
	}
	return c.full || c.historic
}
