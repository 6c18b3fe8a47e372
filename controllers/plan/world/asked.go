package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// What a person asks of one member, beside that a new one follows it: see AskToReplace.

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
