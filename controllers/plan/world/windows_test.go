package world

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// A few of the stories that the soak plays more of.
func TestNoMemberThatServesIsStoppedOutsideOfAWindow(t *testing.T) {
	for _, name := range []string{"windows", "windows-across-minors"} {
		k, _ := kindOf(name)
		for s := *first; s < *first+uint64(12**times); s++ {
			report(t, k, s, k.tell(s, nil).w)
		}
	}
}

// closedWorld has settled, and no window opens before a person does that.
func closedWorld(t *testing.T, spec facts.Desired) *World {
	t.Helper()
	w := New(1, spec)
	if d, rests := w.Settle(600); !rests || d.Verdict != plan.Settled {
		t.Fatalf("%s: %s", d.Verdict, d.Message)
	}
	w.Windows = func(now time.Time) facts.Window { return facts.Window{IsClosed: true, Next: now.Add(time.Hour)} }
	return w
}

func TestARollHaltsWhereTheWindowClosesAndGoesOnInTheNextWhileARepairDoesNotWait(t *testing.T) {
	each(t, []bool{false, true}, func(t *testing.T, ephemeral bool) {
		spec := Spec3(3)
		spec.Ephemeral = ephemeral
		w := closedWorld(t, spec)
		always := w.Windows
		w.Spec.Settings.Inputs = "changed"
		stops := func() int { return count(w.Log, "EvictPod") + count(w.Log, "shrink RemoveMember") }
		if w.Settle(100); stops() > 0 {
			t.Fatalf("before the window opens\n%s", firstStory(t, w))
		}
		opened := w.Now
		w.Windows = func(time.Time) facts.Window {
			return facts.Window{Until: opened.Add(time.Hour), Next: opened.Add(time.Hour)}
		}
		for range 500 {
			if w.Advance(); stops() == 0 {
				w.Pass()
			}
		}
		w.Windows = always
		d, _ := w.Settle(200)
		if stops() != 1 || d.Reason != facts.ReasonWindow || !strings.Contains(d.Message, "demo-") {
			t.Fatalf("ephemeral %v: %d stops, then %s\n%s", ephemeral, stops(), d.Message, firstStory(t, w))
		}
		victim := w.Observe().Current.Voters()[0].Name
		w.loseMember(victim)
		if d, _ = w.Settle(600); w.objects.pods[victim].UID != "" || d.Reason != facts.ReasonWindow || stops() != 1 {
			t.Fatalf("ephemeral %v: the repair waited: %s\n%s", ephemeral, d.Message, firstStory(t, w))
		}
		w.Windows = nil
		if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
			t.Fatalf("ephemeral %v: %s %v\n%s", ephemeral, d.Message, w.Violations, firstStory(t, w))
		}
	})
}

func TestTheWorldSeesWhatMustWaitForAWindow(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*World) changes.Change
	}{
		{"an eviction of a member that serves", func(w *World) changes.Change { return changes.EvictPod{Pod: w.refOf("demo-2")} }},
		{"a handover", func(w *World) changes.Change {
			return changes.MoveLeader{From: "demo-0", To: "demo-1", FromID: w.idOf("demo-0"), ToID: w.idOf("demo-1")}
		}},
		{"a successor", func(*World) changes.Change { return changes.AddLearner{Name: "demo-3"} }},
		{"a defragmentation", func(*World) changes.Change { return changes.StartDefrag{Name: "demo-2"} }},
		{"a downgrade", func(w *World) changes.Change { return changes.EnableDowngrade{Minor: w.Spec.Settings.Version} }},
	} {
		w := closedWorld(t, Spec3(3))
		always := w.Windows
		for _, isClosed := range []bool{false, true} {
			if w.Windows, w.Violations = nil, nil; isClosed {
				w.Windows = always
			}
			w.checkWindow(row.change(w))
			if (len(w.Violations) > 0) != isClosed {
				t.Errorf("%s, closed %v: %v", row.name, isClosed, w.Violations)
			}
		}
		w.Violations = nil
		w.loseMember("demo-2")
		if _, isOfMember := row.change(w).(changes.AddLearner); isOfMember {
			if w.checkWindow(row.change(w)); len(w.Violations) > 0 {
				t.Errorf("%s beside a member that is gone: %v", row.name, w.Violations)
			}
		}
	}
}
