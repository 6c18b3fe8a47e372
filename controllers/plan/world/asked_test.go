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

// fencedWorld has settled, and a person fenced demo-1, which is down.
func fencedWorld(t *testing.T, size int) *World {
	t.Helper()
	w := closedWorld(t, Spec3(size))
	w.Fenced = "demo-1"
	if d, rests := w.Settle(200); !rests || d.Reason != facts.ReasonFenced || w.objects.pods["demo-1"].UID != "" {
		t.Fatalf("%s: %s\n%s", d.Verdict, d.Message, firstStory(t, w))
	}
	return w
}

func TestAFencedMemberStaysStoppedForLongerThanDeadMembersHaveAndIsItselfAfterwards(t *testing.T) {
	w := fencedWorld(t, 3)
	id, volume := w.objects.volumes["demo-1"].Record.MemberID, w.objects.volumes["demo-1"].UID
	w.Now = w.Now.Add(10 * w.Spec.ReplaceAfter)
	if d, _ := w.Settle(300); d.Reason != facts.ReasonFenced || w.objects.pods["demo-1"].UID != "" {
		t.Fatalf("%s: %s\n%s", d.Verdict, d.Message, firstStory(t, w))
	}
	w.Fenced = ""
	d, rests := w.Settle(300)
	if v := w.objects.volumes["demo-1"]; !rests || d.Verdict != plan.Settled || v.UID != volume || v.Record.MemberID != id ||
		w.written().find(id) < 0 || len(w.Violations) > 0 {
		t.Fatalf("%s: %s %v\n%s", d.Verdict, d.Message, w.Violations, firstStory(t, w))
	}
}

func TestAFencedMemberStartsWhereTheOthersAreNoQuorumAndStopsOnceTheyAllServe(t *testing.T) {
	w := fencedWorld(t, 3)
	w.loseMember("demo-2")
	if d, rests := w.Settle(900); !rests || d.Reason != facts.ReasonFenced || w.objects.pods["demo-1"].UID != "" ||
		count(w.Log, "without it the others are no quorum") != 1 || count(w.Log, "fence-member EvictPod") != 2 || len(w.Violations) > 0 {
		t.Fatalf("%s: %s %v\n%s", d.Verdict, d.Message, w.Violations, firstStory(t, w))
	}
}

func TestTheSizeWaitsForAFencedMember(t *testing.T) {
	w := fencedWorld(t, 5)
	w.Spec.Size = 3
	if d, _ := w.Settle(300); d.Reason != facts.ReasonFenced || len(w.written().voters()) != 5 {
		t.Fatalf("%s: %s\n%s", d.Verdict, d.Message, firstStory(t, w))
	}
	w.Fenced = ""
	if d, rests := w.Settle(600); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
		t.Fatalf("%s: %s %v\n%s", d.Verdict, d.Message, w.Violations, firstStory(t, w))
	}
}

func TestTheWorldSeesWhatMustNotBeDoneToAFencedMember(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(*World)
	}{
		{"it is started", func(w *World) { w.checkKeptDown("demo-1") }},
		{"it is removed", func(w *World) { w.checkRemoval(w.written(), w.objects.volumes["demo-1"].Record.MemberID) }},
		{"another one is stopped for it", func(w *World) { w.checkFenced(w.written(), "demo-2") }},
		{"it is stopped beside one that is down", func(w *World) {
			w.loseMember("demo-2")
			for range 50 {
				w.Advance()
			}
			w.checkFenced(w.written(), "demo-1")
		}},
	} {
		w := fencedWorld(t, 3)
		if row.do(w); len(w.Violations) == 0 {
			t.Errorf("%s, and nothing is said of it", row.name)
		}
	}
}
