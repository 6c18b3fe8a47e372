package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const cordoned = "node worker-0 is cordoned"

func mayStay(r *facts.Replica) { r.Pod.Drain = facts.Drain{IsKnown: true} }

func drainedFrom(r *facts.Replica) { r.Pod.Drain = facts.Drain{IsKnown: true, Why: cordoned} }

func olderThan(age time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Pod.Created = now.Add(-age) }
}

func drainedFor(o scene, ago time.Duration) scene {
	return o.edit(0, func(r *facts.Replica) { r.Pod.Drain.Since = now.Add(-ago) })
}

func leavingNode(o scene) scene {
	return o.edit(0, func(r *facts.Replica) { r.Pod.Drain.IsGoing = true })
}

func withRole(role string) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Pod.Role = role }
}

func drifted(o scene) scene { o.Budget.State = facts.ObjectDrifted; return o }

func TestAnOnlyMemberIsFollowedByANewOneBeforeItsNodeIsDrained(t *testing.T) {
	only := settledWorld(1).edit(0, mayStay)
	guarded := only.budgeting(1)
	drained := guarded.edit(0, drainedFrom)
	noPlace := drained.with(starting(1)).edit(1, tied("no room")).edit(1, olderThan(6*time.Minute))
	voting := drained.with(voter(1)).edit(1, mayStay).budgeting(2)
	follows := voting
	follows.Current.Membership.Leader = 2
	held, silent0 := noWay(drained), drained.edit(0, deadFor(3*time.Minute)).blind()
	for _, row := range []row{
		{"a budget holds drains back", only, Act, "budget", "", "SetBudget", "minAvailable of the disruption budget to 1"},
		{"and stays", guarded, Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"also while the size grows", guarded.sized(3), Act, "grow", "", "PrepareMember", "spec.size is 3"},
		{"not where nodes may not be read: no drain would be seen", settledWorld(1).budgeting(1), Act, "budget", "", "SetBudget",
			"Delete the disruption budget: nothing says whether"},
		{"once its node is drained a new member joins first", drained, Act, "grow", "", "PrepareMember",
			"it will take the place of demo-0 (" + cordoned + ")"},
		{"at any time: a drain does not wait for a window", closed(drained), Act, "grow", "", "PrepareMember", cordoned},
		{"also of data in its Pod", inMemory(drained), Act, "grow", "", "PrepareMember", cordoned},
		{"also while a change of the spec is held", held, Act, "grow", "", "PrepareMember", cordoned},
		{"with a budget from then on, where there was none", drained.budgeting(0), Act, "budget", "", "SetBudget",
			cordoned + ", and a new member is to follow demo-0 first"},
		{"then the old one hands over", voting, Act, "shrink", "", "MoveLeader", "demo-0 will be removed"},
		{"loses its clients", follows, Act, "shrink", "", "LabelRole", "a new member has its place: " + cordoned},
		{"and its vote", follows.edit(0, withRole(facts.RoleLeaving)), Act, "shrink", "", "RemoveMember", cordoned},
		{"uncordoned in between, the new one is given up", guarded.with(starting(1)), Act, "abandon-learner", "", "RemoveMember",
			"the size does not ask for it"},
		{"where no node takes the new one, the drain goes on", noPlace, Act, "budget", "", "SetBudget",
			cordoned + ", and no node takes demo-1, which is to follow demo-0. A drain stops demo-0"},
		{"and does so while that is so", noPlace.budgeting(0), Refuse, "promote", facts.ReasonUnschedulable, "", "demo-1"},
		{"where the spec is refused, no new member is made, and the drain goes on", refusing(drained), Act, "budget", "", "SetBudget",
			cordoned + ", and the spec is refused, so no new member can follow it. A drain stops demo-0."},
		{"nor does one join while an alarm stands", raising(drained, 90, noSpace), Act, "budget", "", "SetBudget", "etcd has raised an alarm"},
		{"nor one that has been silent for longer than a start", silent0, Act, "budget", "", "SetBudget", "demo-0 does not serve"},
		{"one that is silent for a moment is not let go", drained.edit(0, deadFor(time.Minute)).blind(), Wait, "membership",
			facts.ReasonMembershipUnknown, "", "no member answers"},
		{"data that ends with the Pod is not let go", inMemory(noPlace).edit(0, ofMemory).edit(1, ofMemory), Refuse, "promote",
			facts.ReasonUnschedulable, "", "demo-1"},
		{"not before it is put right, for a while", refusing(drainedFor(drained, 4*time.Minute)), Refuse, "spec-refused", facts.ReasonSpecRefused,
			"", ""},
		{"nor for an alarm that the operator may end", raising(drainedFor(drained, 4*time.Minute), 90, noSpace), Refuse, "alarms",
			facts.ReasonAlarm, "", ""},
		{"but the drain goes on after some minutes", raising(drainedFor(drained, 6*time.Minute), 90, noSpace), Act, "budget", "", "SetBudget",
			"etcd has raised an alarm"},
		{"and for any reason that keeps the new one from its vote, after a quarter of an hour", drainedFor(drained, 16*time.Minute).with(starting(1)), Act,
			"budget", "", "SetBudget", "no new member has followed it since then"},
		{"a node that will be deleted is let go by nothing", leavingNode(noPlace), Refuse, "promote", facts.ReasonUnschedulable, "", "demo-1"},
		{"a budget that the spec takes out goes at once", desire(drained, func(d *facts.Desired) { d.HasBudget = false }), Act, "budget", "",
			"SetBudget", "spec.disruption asks for none"},
		{"one that was edited is put right", drifted(drained), Act, "budget", "", "SetBudget", cordoned},
		{"and its Pod starts again as soon as a node takes it", refusing(drained.budgeting(0)).edit(0, noPod), Act, "pods", "",
			"StartPods", "demo-0"},
		{"a cluster without a budget moves it all the same", desire(drained.budgeting(0), func(d *facts.Desired) { d.HasBudget = false }),
			Act, "grow", "", "PrepareMember", cordoned},
	} {
		t.Run(row.name, row.check)
	}
}

// A restart would end on the node that is drained, where no Pod starts. So the member moves first, with the settings that it
// runs with, and the new one is asked to go down.
func TestAnOnlyMemberMovesFirstAlsoWhileADowngradeIsEnabled(t *testing.T) {
	only := settledWorld(1).edit(0, mayStay).budgeting(1)
	enabled := loweringFrom(only, etcdutil.NeedStorage).edit(0, drainedFrom)
	lowered := wanting(loweringFrom(only, etcdutil.NeedNothing), older).edit(0, drainedFrom)
	told := lowered.edit(0, func(r *facts.Replica) { r.Volume.Settings = older })
	moved := toLowerFrom(only).edit(0, drainedFrom).with(voter(1)).budgeting(2)
	for _, row := range []row{
		{"not drained it is restarted for the downgrade", lowered.edit(0, mayStay), Act, "roll", "", "WriteSettings", "demo-0"},
		{"while etcd lowers its version a new member is made", enabled, Act, "grow", "", "PrepareMember", cordoned},
		{"also once it is lowered", lowered, Act, "grow", "", "PrepareMember", cordoned},
		{"also once its volume asks for the lower minor", told, Act, "grow", "", "PrepareMember", cordoned},
		{"the downgrade is cancelled, for no member joins before that", told.with(added(1)), Act, "cancel-downgrade", "",
			"CancelDowngrade", "demo-1 cannot join before that"},
		{"it is enabled again only once the old member is gone", moved, Act, "shrink", "", "MoveLeader", "demo-0 will be removed"},
		{"on the new one", toLowerFrom(settledWorld(1).edit(0, mayStay).budgeting(1)), Act, "enable-downgrade", "", "EnableDowngrade", ""},
		{"where no node takes the new one the drain goes on", enabled.with(starting(1)).edit(1, tied("no room")).edit(1,
			olderThan(6*time.Minute)), Act, "budget", "", "SetBudget", "no node takes demo-1"},
	} {
		t.Run(row.name, row.check)
	}
	if c, isMade := Decide(told.Observation).Change.(changes.PrepareMember); !isMade || c.Volume.Settings != settings {
		t.Errorf("the new member is made from %+v", c.Volume.Settings)
	}
}

// A drain that evicts one of two voters takes the quorum. So the one that is to go stays in the budget until it has no
// vote, also where clients are led away from it before.
func TestAVoterThatIsToGoStaysInTheBudgetUntilItHasNoVote(t *testing.T) {
	for _, world := range []scene{settledWorld(2).sized(1), settledWorld(5).sized(3)} {
		label, ok := Decide(world.Observation).Change.(changes.LabelRole)
		if !ok || label.Role != facts.RoleLeaving {
			t.Errorf("%+v", label)
		}
		gone := world.edit(len(world.Current.Members)-1, withRole(facts.RoleLeaving))
		if removal, ok := Decide(gone.Observation).Change.(changes.RemoveMember); !ok {
			t.Errorf("%+v", removal)
		}
	}
	stays := Decide(settledWorld(3).edit(2, withRole(facts.RoleLeaving)).Observation)
	if label, ok := stays.Change.(changes.LabelRole); !ok || label.Role != facts.RoleVoter {
		t.Errorf("it stays after all: %+v", stays)
	}
}

// A Pod that no budget selects may always be evicted. A voter that clients are not led to is in none, so that a drain waits
// for it as for one that is down. Where the quorum needs it, it is in the budget too.
func TestNoDrainTakesAVoterThatTheQuorumNeeds(t *testing.T) {
	three := settledWorld(3).budgeting(2)
	beside := func(size int) scene { return settledWorld(size).budgeting(size/2+1).edit(0, unready).edit(0, silent) }
	started := func(r *facts.Replica) {
		r.Pod.Uncompared, r.Pod.Process, r.Pod.RunningSince = true, "p", now.Add(-time.Second)
	}
	for _, row := range []row{
		{"one that serves, and is not compared yet", beside(3).edit(2, started).edit(2, unlabelled), Act, "label-role", "", "LabelRole",
			"Label the Pod of demo-2 as counted: the disruption budget asks for 2 ready voters, and counts 1 beside it. Clients are not led there"},
		{"one that is being defragmented", beside(3).edit(2, defragged(time.Second, atWork)).edit(2, unlabelled).edit(2, unanswered), Act, "label-role", "",
			"LabelRole", "demo-2 as counted"},
		{"one that got its vote just now", settledWorld(2).sized(1).budgeting(2).edit(1, started).edit(1, withRole(facts.RoleLearner)),
			Act, "label-role", "", "LabelRole", "demo-1 as counted"},
		{"one that a person has to decide about", beside(3).edit(2, uncompared), Act, "label-role", "", "LabelRole", "demo-2 as counted"},
		{"not one that the others can do without: a drain waits until it is compared", three.edit(2, started).edit(2, unlabelled), Wait,
			"corruption", facts.ReasonCompare, "", "demo-2"},
		{"and no more than are needed", beside(5).edit(2, started).edit(2, unlabelled).edit(3, started).edit(3, withRole("counted")),
			Refuse, "member-health", facts.ReasonNotReady, "", ""},
		{"once the others are enough again it is in none", three.edit(2, started).edit(2, withRole("counted")), Act, "label-role", "",
			"LabelRole", "Take demo-2 out of the disruption budget: it counts enough others"},
		{"not one that answers with other data", beside(3).edit(2, foreign).edit(2, unlabelled), Refuse, "replace", facts.ReasonQuorumAtRisk,
			"", ""},
		{"nor where there is no budget", beside(3).budgeting(0).edit(2, started).edit(2, unlabelled), Act, "budget", "", "SetBudget", ""},
	} {
		t.Run(row.name, row.check)
	}
	only := settledWorld(1).edit(0, mayStay).budgeting(1).edit(0, noPod).blind()
	start, isStart := Decide(only.Observation).Change.(changes.StartPods)
	if !isStart || start.Pods[0].Role != facts.RoleCounted {
		t.Errorf("an only member starts in no budget: %+v", start)
	}
	start, isStart = Decide(three.edit(2, noPod).Observation).Change.(changes.StartPods)
	if !isStart || start.Pods[0].Role != "" {
		t.Errorf("one of three starts in the budget, before its copy is compared: %+v", start)
	}
}

// An only member that its kubelet calls ready, and that does not answer, is started anew for its spec. Its own budget must
// not keep it from that.
func TestAnOnlyMemberThatDoesNotAnswerIsStartedAnewPastItsBudget(t *testing.T) {
	silent := settledWorld(1).edit(0, rolled).edit(0, unheard).edit(0, given(settings)).budgeting(1).blind()
	decision := Decide(silent.Observation)
	if evict, ok := decision.Change.(changes.EvictPod); !ok || decision.Rule != "pods" || !evict.PastBudget {
		t.Errorf("%s: %s: %+v", decision.Rule, decision.Message, evict)
	}
}

// The budget of an only member is there for drains. The operator goes past it, for what a person asks of the spec.
func TestARollOfAnOnlyMemberPassesItsBudget(t *testing.T) {
	for bound, isPast := range map[int]bool{0: false, 1: true} {
		only := wanting(settledWorld(1).edit(0, mayStay).edit(0, adopted), other).budgeting(bound)
		only.Desired.HasBudget = bound > 0
		decision := Decide(only.Observation)
		if evict, ok := decision.Change.(changes.EvictPod); !ok || evict.PastBudget != isPast {
			t.Errorf("minAvailable %d: %s: %+v", bound, decision.Message, evict)
		}
	}
}
