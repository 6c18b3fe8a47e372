package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAuthenticationIsTurnedOnAndOffAndTheUsersComeFirst(t *testing.T) {
	each(t, seeds(6), func(t *testing.T, seed uint64) {
		w := New(seed, Spec3([]int{1, 3, 5}[seed%3]))
		w.Settle(600)
		started := w.started
		w.Spec.Auth = facts.AuthOn
		w.expectMoved(t, seed)
		if c := w.written(); !c.auth.isOn || !w.objects.bootstrap.Auth {
			t.Fatalf("seed %d: it is not on\n%s", seed, firstStory(t, w))
		}
		w.Spec.Auth = facts.AuthAsItIs
		if d, _ := w.Settle(600); d.Verdict != plan.Settled || !w.written().auth.isOn || !w.objects.bootstrap.Auth {
			t.Fatalf("seed %d: taken out of the spec it does not stay on\n%s", seed, firstStory(t, w))
		}
		w.Spec.Auth = facts.AuthOff
		w.expectMoved(t, seed)
		if c := w.written(); c.auth.isOn || w.objects.bootstrap.Auth || w.started != started {
			t.Fatalf("seed %d: it is on, or a member was restarted\n%s", seed, firstStory(t, w))
		}
	})
}

func TestAuthenticationThatPeopleTurnedOnIsToldAndLeftOn(t *testing.T) {
	w := closedWorld(t, Spec3(3))
	w.TurnAuthByHand()
	w.Spec.Auth = facts.AuthOff
	if d, rests := w.Settle(100); !rests || d.Reason != facts.ReasonAuthByHand || !w.written().auth.isOn {
		t.Fatalf("%s: %s\n%s", d.Verdict, d.Message, firstStory(t, w))
	}
	w.Spec.Auth = facts.AuthOn
	if d, _ := w.Settle(100); d.Verdict != plan.Settled || !w.objects.bootstrap.Auth || count(w.Log, "MakeUsers") > 0 {
		t.Fatalf("%s: %s\n%s", d.Verdict, d.Message, firstStory(t, w))
	}
	w.Spec.Auth = facts.AuthOff
	if d, _ := w.Settle(100); d.Verdict != plan.Settled || w.written().auth.isOn || len(w.Violations) > 0 {
		t.Fatalf("%s: %s %v\n%s", d.Verdict, d.Message, w.Violations, firstStory(t, w))
	}
}
