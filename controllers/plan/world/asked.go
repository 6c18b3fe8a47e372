package world

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What a person asks of one member, and what must hold of it, beside that a new one follows it: see AskToReplace.

// AskToLead is a person who asks that one member leads, or for that no more.
func (w *World) AskToLead() {
	w.Lead = facts.Lead{}
	if c := w.written(); c != nil && w.chance(4, "is a member to lead", "") > 0 {
		name := c.nameOf(c.members[w.chance(len(c.members), "member", "")].ID)
		now, _ := w.clocks()
		w.Lead = facts.LeadNow(name, now, now)
	}
	w.logf("a person asks that %q leads", w.Lead.Name)
}

// lead is what the operator is told of that: a request ends by itself.
func (w *World) lead() facts.Lead {
	if now, _ := w.clocks(); now.After(w.Lead.Until) {
		return facts.Lead{}
	}
	return w.Lead
}

// isAskedToLead reports a handover that a person asked for.
func (w *World) isAskedToLead(c changes.MoveLeader) bool { return w.lead().Name == c.To }

// checkLeader holds a cluster that is called settled to what a person asked for.
func (w *World) checkLeader(c *cluster) {
	if name := w.lead().Name; c.hasVoter(name) && c.nameOf(c.leader) != name {
		w.violate("I9: settled, and %s leads in the place of %s", c.nameOf(c.leader), name)
	}
}

// AskToFence is a person who wants one member stopped, or back.
func (w *World) AskToFence() {
	w.Fenced = ""
	if c := w.written(); c != nil && w.chance(3, "is a member to stop", "") > 0 {
		w.Fenced = c.nameOf(c.members[w.chance(len(c.members), "member", "")].ID)
	}
	w.logf("a person fences %q", w.Fenced)
}

// checkFenced is I21: a member is stopped for a person only where one asks, and while all others serve.
func (w *World) checkFenced(c *cluster, name string) {
	isAway := func(m etcdutil.Member) bool { return c.nameOf(m.ID) != name && !w.serves(c, m.ID) }
	if !w.trouble.isRaced && (w.Fenced != name || len(c.voters()) < 3 || slices.ContainsFunc(c.voters(), isAway)) {
		w.violate("I21: %s was stopped for a person, who fenced %q, and %d of %d voters serve", name, w.Fenced,
			w.upVoters(c), len(c.voters()))
	}
}

// checkKeptDown is I21 as well: no process starts on the volume of a fenced member while the others are a quorum, by
// their kubelets' word.
func (w *World) checkKeptDown(name string) {
	c := w.written()
	if c == nil || w.Fenced != name || w.trouble.isRaced || !c.hasVoter(name) {
		return
	}
	ready := 0
	for _, m := range c.voters() {
		if other := c.nameOf(m.ID); other != name && w.isWell(w.objects.pods[other]) {
			ready++
		}
	}
	if ready >= etcdutil.Quorum(len(c.voters())) {
		w.violate("I21: %s was started, a person fenced it, and %d of %d voters serve", name, ready, len(c.voters()))
	}
}

// checkSpared is I21 as well: a fenced member whose data is there is not removed.
func (w *World) checkSpared(c *cluster, id etcdutil.ID) {
	if name := c.nameOf(id); name == w.Fenced && !w.Spec.Ephemeral && !w.isDoomed(name) && w.hasData(c, id) &&
		!w.isCorrupted(c) {
		w.violate("I21: %s was removed, and a person fenced it", name)
	}
}
