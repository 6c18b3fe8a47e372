package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// beside has a sidecar that is well.
func beside(r *facts.Replica) { r.Pod.Sidecars = []facts.Sidecar{{Name: "shipper", Ready: true}} }

// besideCrashing has one that is not: Kubernetes does not call the Pod ready for it, and etcd serves.
func besideCrashing(r *facts.Replica) {
	r.Pod.HeldUnready = true
	r.Pod.Sidecars = []facts.Sidecar{{Name: "shipper", Waiting: "CrashLoopBackOff", Says: "it stopped with exit code 3: no backend"}}
}

// besideUnsteady has one that stopped so long ago, and runs again.
func besideUnsteady(ago time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Pod.Sidecars = []facts.Sidecar{{Name: "shipper", Ready: true, Since: now.Add(-ago), Says: "it stopped with exit code 0"}}
	}
}

// startsAfter is a Pod in which etcd waits for a sidecar that cannot start.
func startsAfter(waiting string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		unpullable(r)
		r.Pod.StartsAfter, r.Pod.Waiting, r.Pod.Message = "shipper", waiting, "no such image."
		r.Pod.HeldUnready = true
	}
}

// byRole is the same world, whose client Service has to lead by role alone.
func byRole(o scene) scene {
	o.Objects = append([]facts.Object(nil), o.Objects...)
	o.Objects[1].State, o.Objects[1].ByRole = facts.ObjectDrifted, true
	return o
}

// sidecarRows are worlds in which a container beside etcd is not well.
func sidecarRows() []row {
	three := settledWorld(3)
	halted := three.edit(1, beside).edit(2, rolled)
	return []row{
		{"sidecars that are well are not spoken of", three.edit(0, beside).edit(1, beside), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a sidecar that crashes is told, and its member stays", three.edit(1, besideCrashing), Wait, "member-health", facts.ReasonSidecar, "",
			"Sidecar shipper of demo-1 is not ready: it stopped with exit code 3: no backend."},
		{"for as long as it may stop again", three.edit(1, besideUnsteady(2*time.Minute)), Wait, "member-health", facts.ReasonSidecar, "", "exit code 0"},
		{"and not for longer", three.edit(1, besideUnsteady(2*time.Minute+time.Second)), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"the Service is to lead by role while a sidecar keeps a Pod from being ready", byRole(three.edit(1, besideCrashing)), Act, "scaffold",
			"", "ApplyObjects", ""},
		{"a roll stops at the first member whose sidecar crashes with the new settings", wanting(halted.edit(2, besideCrashing), other),
			Wait, "member-health", facts.ReasonSidecar, "", "No other member is restarted with the same settings meanwhile"},
		{"and goes on once that is steady", wanting(halted.edit(2, besideUnsteady(time.Hour)), other), Act, "roll", "", "WriteSettings", "demo-1"},
		{"the member whose sidecar crashes is restarted first, also when others have begun", wanting(three.edit(2, adopted).edit(1, besideCrashing), other),
			Act, "roll", "", "WriteSettings", "demo-1"},
		{"the leader too, once it has handed over", wanting(three.edit(0, besideCrashing), other), Act, "roll", "", "MoveLeader", "demo-0"},
		{"a sidecar that cannot start is told by name, and its member is waited for", three.edit(2, startsAfter("ImagePullBackOff")), Refuse, "member-health",
			facts.ReasonSidecar, "", "etcd of demo-2 was not started: container shipper of its Pod starts first and cannot (ImagePullBackOff): no such image. Correct or remove"},
		{"putting the spec back heals a member whose sidecar cannot be pulled", wanting(three.edit(2, startsAfter("ImagePullBackOff")).edit(2, rolled), settings),
			Act, "settings", "", "WriteSettings", "demo-2"},
		{"and one whose sidecar crashes before etcd starts", wanting(three.edit(2, startsAfter(facts.WaitingForCrash)).edit(2, rolled), settings),
			Act, "settings", "", "WriteSettings", "demo-2"},
		{"by role, clients are led away from a member that its kubelet does not call ready either", three.edit(0, besideCrashing).edit(2, silent),
			Act, "lead-away", "", "LabelRole", "demo-2"},
		{"by role, clients are led away from a member that is being stopped", three.edit(0, besideCrashing).edit(2, leaving),
			Act, "lead-away", "", "LabelRole", "Take demo-2 out of the client Service: it is being stopped"},
	}
}

func TestNoMemberIsReplacedForItsSidecarHoweverLongItLasts(t *testing.T) {
	for name, edit := range map[string]func(*facts.Replica){"a crash": besideCrashing, "an image": startsAfter("ErrImagePull"), "a crash before etcd": startsAfter(facts.WaitingForCrash)} {
		o := settledWorld(3).edit(2, edit).edit(2, func(r *facts.Replica) {
			r.Pod.Created, r.Pod.ReadySince = now.Add(-24*time.Hour), now.Add(-24*time.Hour)
		})
		o.Desired.ReplaceAfter = 5 * time.Minute
		if d := Decide(o.Observation); d.Change != nil {
			t.Errorf("%s: %s by %s: %s", name, changes.KindOf(d.Change), d.Rule, d.Message)
		}
	}
}

func TestARollPassesTheBudgetOnlyWhereSidecarsKeepMoreMembersFromBeingReadyThanItSpares(t *testing.T) {
	begun := func(r *facts.Replica) { besideCrashing(r); adopted(r) }
	for _, row := range []struct {
		name string
		held []int
		past bool
	}{
		{"one: Kubernetes evicts it itself", []int{2}, false}, {"two of three", []int{1, 2}, true}, {"all", []int{0, 1, 2}, true},
	} {
		o := wanting(settledWorld(3), other)
		for _, ordinal := range row.held {
			o = o.edit(ordinal, begun)
		}
		evict, ok := Decide(o.Observation).Change.(changes.EvictPod)
		if !ok || evict.PastBudget != row.past {
			t.Errorf("%s: %+v", row.name, evict)
		}
		lost := o.edit(0, noPod)
		if d := Decide(lost.Observation); d.Change != nil && changes.KindOf(d.Change) == "EvictPod" {
			t.Errorf("%s, and another one is away: %s", row.name, d.Message)
		}
	}
}

func TestAVoterThatStartsLeadsNoClientBeforeItServes(t *testing.T) {
	for role, world := range map[string]scene{ // the budget counts it where it does not count a quorum beside it
		"": settledWorld(3).edit(2, noPod), facts.RoleCounted: settledWorld(3).edit(1, besideCrashing).edit(2, noPod),
	} {
		start, ok := Decide(world.Observation).Change.(changes.StartPods)
		if !ok || start.Pods[0].Role != role {
			t.Errorf("%+v", start)
		}
	}
	back := settledWorld(3).edit(1, besideCrashing).edit(2, unlabelled)
	if d := Decide(back.Observation); d.Rule != "label-role" {
		t.Errorf("once it serves: %s by %s", d.Message, d.Rule)
	}
}
