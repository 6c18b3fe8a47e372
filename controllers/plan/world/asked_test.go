package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestTheMemberThatAPersonNamesLeadsAlsoOutsideOfAWindowAndForTenMinutes(t *testing.T) {
	w := closedWorld(t, Spec3(3))
	c := w.written()
	w.Lead = facts.LeadNow("demo-1", w.Now, w.Now)
	if d, rests := w.Settle(100); !rests || d.Verdict != plan.Settled || c.nameOf(c.leader) != "demo-1" {
		t.Fatalf("%s leads: %s\n%s", c.nameOf(c.leader), d.Message, firstStory(t, w))
	}
	c.leader = w.idOf("demo-0")
	w.Now = w.Now.Add(facts.LeadFor)
	if d, rests := w.Settle(100); !rests || c.nameOf(c.leader) != "demo-0" || len(w.Violations) > 0 {
		t.Fatalf("%s leads: %s %v\n%s", c.nameOf(c.leader), d.Message, w.Violations, firstStory(t, w))
	}
}

func TestTheWorldSeesARequestToLeadThatIsForgotten(t *testing.T) {
	w := closedWorld(t, Spec3(3))
	w.Lead = facts.LeadNow("demo-2", w.Now, w.Now)
	if w.checkLeader(w.written()); len(w.Violations) == 0 {
		t.Error("nothing is said of it")
	}
}
