package world

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// A CA is replaced while clients write. The operator dies after each effect in its turn.
func TestACAIsReplacedOnTheWayAndEveryMemberTrustsWhatTheOthersShow(t *testing.T) {
	for _, size := range []int{1, 3} {
		for _, ephemeral := range []bool{false, true} {
			spec := Spec3(size)
			spec.Ephemeral = ephemeral
			w := settledWorld(t, spec)
			w.Rotation, w.hasRolled = facts.Rotation{Asked: w.Now}, true
			for range 2000 {
				w.Advance()
				w.take(w.Observe(), 1+w.chance(3, "effects", ""))
			}
			d, _ := w.Settle(600)
			if d.Verdict != plan.Settled || len(w.Violations) > 0 || w.objects.ca == ownCA {
				t.Fatalf("%d members, ephemeral %v: %s, %s signs: %s\n%s", size, ephemeral, d.Verdict, w.objects.ca, d.Message,
					firstStory(t, w))
			}
		}
	}
}

func TestARollOfACAIsCalledOffAtEachOfItsTurns(t *testing.T) {
	for _, seen := range []string{"Make a new CA", "with trust in other CAs", "sign from now on"} {
		w := settledWorld(t, Spec3(3))
		w.Rotation, w.hasRolled = facts.Rotation{Asked: w.Now}, true
		isSeen := func() bool {
			return slices.ContainsFunc(w.Log, func(line string) bool { return strings.Contains(line, seen) })
		}
		for n := 0; n < 3000 && !isSeen(); n++ {
			w.Advance()
			w.Pass()
		}
		if !isSeen() {
			t.Fatalf("it never came to %q\n%s", seen, firstStory(t, w))
		}
		w.Rotation = facts.Rotation{}
		w.Now = w.Now.AddDate(0, 2, 0) // clients had their time
		d, _ := w.Settle(2000)
		if d.Verdict != plan.Settled || len(w.Violations) > 0 || w.objects.ca != ownCA {
			t.Fatalf("called off after %q: %s, %s signs: %s\n%s", seen, d.Verdict, w.objects.ca, d.Message, firstStory(t, w))
		}
	}
}

// A CA of a person is taken in, renewed, changed for another one and left again. The operator dies after each effect.
func TestACAOfAPersonIsFollowedThroughAllThatBecomesOfIt(t *testing.T) {
	for _, size := range []int{1, 3} {
		for _, hasBegunWithIt := range []bool{false, true} {
			w := New(2, Spec3(size))
			if hasBegunWithIt {
				w.GiveCA()
			} else if d, rests := w.Settle(600); !rests {
				t.Fatalf("%s: %s", d.Verdict, d.Message)
			}
			for _, step := range []struct {
				signs string
				gives func()
			}{
				{"own-1", func() { w.Given, w.hasRolled = givenCA{print: "own-1", isThere: true}, true }},
				{"own-1'", func() { w.Given.print = "own-1'" }},
				{"own-1'", func() { w.Given.isThere = false }},
				{"own-2", func() { w.Given = givenCA{print: "own-2", isThere: true} }},
				{"own-2", func() { w.Given = givenCA{print: "own-3", isThere: true, isWrong: true} }},
				{"own-1", func() { w.Given = givenCA{print: "own-1", isThere: true} }},
				{"", func() { w.Given = givenCA{} }},
			} {
				step.gives()
				for range 1500 {
					w.Advance()
					w.take(w.Observe(), 1+w.chance(3, "effects", ""))
				}
				w.Now = w.Now.AddDate(0, 0, 3) // clients had their time
				d, rests := w.Settle(2000)
				isIt := w.objects.ca == step.signs || step.signs == "" && !isOwn(w.objects.ca)
				if !rests || len(w.Violations) > 0 || !isIt {
					t.Fatalf("%d members, with %+v: %s, %s signs: %s\n%s", size, w.Given, d.Verdict, w.objects.ca, d.Message, firstStory(t, w))
				}
			}
		}
	}
}

// An issuer signs, takes its time, refuses, signs with another CA by itself, and is left. The operator dies after each
// effect.
func TestACAOfAnIssuerIsFollowedThroughAllThatBecomesOfIt(t *testing.T) {
	for _, size := range []int{1, 3} {
		for _, hasBegunWithIt := range []bool{false, true} {
			w := New(2, Spec3(size))
			if hasBegunWithIt {
				w.NameIssuer()
			} else if d, rests := w.Settle(600); !rests {
				t.Fatalf("%s: %s", d.Verdict, d.Message)
			}
			well := func(i *givenCA) { i.isThere, i.isWrong = true, false }
			for _, step := range []struct {
				signs   string
				becomes func()
			}{
				{issuers + "1", w.NameIssuer},
				{issuers + "1", func() { w.turnIssuer(func(i *givenCA) { i.isThere = false }) }},
				{issuers + "1", func() { w.turnIssuer(well) }},
				{issuers + "2", func() { w.turnIssuer(func(i *givenCA) { i.print = issuers + "2" }) }},
				{issuers + "2", func() { w.turnIssuer(func(i *givenCA) { i.isWrong = true }) }},
				{"own-9", func() { w.Given = givenCA{print: "own-9", isThere: true} }}, // though the issuer signs no more
				{issuers + "2", func() { w.turnIssuer(well); w.Given = w.issuer }},
				{"", func() { w.Given = givenCA{}; w.turnIssuer(func(i *givenCA) { i.isThere = false }) }},
			} {
				step.becomes()
				for range 1500 {
					w.Advance()
					w.take(w.Observe(), 1+w.chance(3, "effects", ""))
				}
				w.Now = w.Now.AddDate(0, 0, 3) // clients had their time
				d, rests := w.Settle(2000)
				isIt := w.objects.ca == step.signs || step.signs == "" && !isOwn(w.objects.ca)
				if !rests || len(w.Violations) > 0 || !isIt {
					t.Fatalf("%d members, with %+v: %s (rests %t), %s signs: %s\n%v\n%s", size, w.Given, d.Verdict, rests, w.objects.ca, d.Message,
						w.Violations, firstStory(t, w))
				}
			}
		}
	}
}

// A member that is lost while the issuer takes its time gets its successor as soon as that answers.
func TestALostMemberIsReplacedOnceTheIssuerHasSigned(t *testing.T) {
	w := New(3, Spec3(3))
	w.NameIssuer()
	if d, rests := w.Settle(600); !rests || w.objects.ca != issuers+"1" {
		t.Fatalf("%s: %s", d.Verdict, d.Message)
	}
	w.turnIssuer(func(i *givenCA) { i.isThere = false })
	w.loseMember("demo-1")
	w.Cure()
	for range 600 {
		w.Advance()
		w.take(w.Observe(), 1)
	}
	waits := plan.Decide(w.Observe())
	w.turnIssuer(func(i *givenCA) { i.isThere = true })
	if d, rests := w.Settle(2000); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
		t.Fatalf("it waited with %q, and then %s: %s\n%s", waits.Message, d.Verdict, d.Message, firstStory(t, w))
	}
}

func settledWorld(t *testing.T, spec facts.Desired) *World {
	t.Helper()
	w := New(1, spec)
	if d, rests := w.Settle(600); !rests || d.Verdict != plan.Settled {
		t.Fatalf("%s: %s", d.Verdict, d.Message)
	}
	return w
}

// A few of the stories that the soak plays more of.
func TestNoStoryOfCAsThatAreReplacedCutsAMemberOff(t *testing.T) {
	k, _ := kindOf("rolled-cas")
	for s := *first; s < *first+uint64(6**times); s++ {
		report(t, k, s, k.tell(s, nil).w)
	}
}
