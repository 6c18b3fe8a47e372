package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// onClass puts a member on a volume of this StorageClass.
func onClass(class string) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.MadeFor = class }
}

// reclassed is a cluster of this size on volumes of the class "a", whose spec names "b".
func reclassed(size int) scene {
	o := settledWorld(size).ofClass("b")
	for i := range size {
		o = o.edit(i, onClass("a"))
	}
	return o
}

// misplaced is a member on a node that would not take it with the settings of the spec.
func misplaced(r *facts.Replica) {
	r.Volume.Misplaced = "only node node-1 can use its volume, and spec.pod asks for others"
}

// leavingPool is a cluster whose spec asks for other nodes than those that its volumes are on.
func leavingPool(size int) scene {
	o := wanting(settledWorld(size), other)
	for i := range size {
		o = o.edit(i, misplaced)
	}
	return o
}

// ledBy makes the member of an ordinal the leader.
func (o scene) ledBy(ordinal int) scene {
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, func(r *facts.Replica) {
			if r.Answer != nil {
				r.Answer.Leader = o.Find(ordinal).Member.ID
			}
		})
	}
	o.Current.Membership.Leader = o.Find(ordinal).Member.ID
	return o
}

// Find is the replica of an ordinal.
func (o scene) Find(ordinal int) facts.Replica { return o.Current.Members[ordinal] }

func TestAMemberThatNoRestartBringsToTheSpecIsSucceeded(t *testing.T) {
	joined := reclassed(3).with(voter(3)).edit(3, onClass("b")).budgeting(3)
	moved := settledWorld(4).sized(3).ofClass("b").edit(0, onClass("a")).edit(1, onClass("a")).edit(3, onClass("b")).
		edit(2, gone).budgeting(2)
	last := joined.edit(0, onClass("b")).edit(1, onClass("b"))
	bound := func(r *facts.Replica) { r.Volume.Phase, r.Volume.Backing = facts.VolumeBound, "pv" }
	joining := reclassed(3).with(starting(3)).promising(3).edit(3, onClass("b"))
	const why = `its volume is of StorageClass "a", and the spec names "b"`
	mode := desire(settledWorld(3), func(d *facts.Desired) { d.AccessMode = "ReadWriteOncePod" })
	larger := desire(reclassed(3), func(d *facts.Desired) { d.StorageBytes = 20 << 30 })
	madeFor := func(asked, has int64) func(*facts.Replica) {
		return func(r *facts.Replica) { r.Volume.AskedBytes, r.Volume.Bytes = asked, has }
	}
	smaller := settledWorld(3)
	for i := range 3 {
		smaller = smaller.edit(i, madeFor(20<<30, 20<<30))
	}
	grownQuota := desire(smaller, func(d *facts.Desired) { d.Settings.QuotaBytes = 6 << 30 })
	leavingFirst := func(o scene) scene { return desire(o, func(d *facts.Desired) { d.LeavesFirst = true }) }
	noPlace := leavingPool(3).with(starting(3)).promising(3).edit(3, rolled).edit(3,
		tied("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector")).edit(3,
		func(r *facts.Replica) {
			r.Pod.Created = now.Add(-2 * facts.PlaceDeadline)
			r.Pod.UnplacedFrom = r.Pod.Created
		})
	untaken := noPlace.edit(3, func(r *facts.Replica) { r.Pod.UnplacedFrom = now })
	third := facts.Settings{Version: other.Version, Inputs: "c", QuotaBytes: other.QuotaBytes}
	for _, row := range []row{
		{"a spec that names another class gets a new member first", reclassed(3), Act, "grow", "", "PrepareMember",
			"it will take the place of demo-2 (" + why + ")"},
		{"one that names no class moves no member", reclassed(3).ofClass(""), Settled, RuleSettled, facts.ReasonSettled, "",
			""},
		{"another access mode gets one as well", mode, Act, "grow", "", "PrepareMember",
			"and the spec asks for ReadWriteOncePod"},
		{"so does a smaller size", smaller, Act, "grow", "", "PrepareMember",
			"the place of demo-2 (its volume was made for 20Gi, and the spec asks for 8Gi)"},
		{"a larger one too, where the spec asks for moves", desire(settledWorld(3), func(d *facts.Desired) {
			d.StorageBytes, d.ExpandsByMove = 20<<30, true
		}), Act, "grow", "", "PrepareMember", "(its volume has 8Gi, and the spec asks for 20Gi"},
		{"but not volumes that a person made larger", smaller.edit(0, madeFor(8<<30, 20<<30)).edit(1,
			madeFor(8<<30, 20<<30)).edit(2, madeFor(0, 20<<30)), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"nor where a quota has grown beyond it", grownQuota, Refuse, "roll", facts.ReasonNotSupported, "",
			"Members have a quota of 6Gi by now, and volumes of 8Gi have no room for that. Put spec.storage.size back to 20Gi"},
		{"so do nodes that would not take a member where its volume is", leavingPool(3), Act, "grow", "",
			"PrepareMember", "it will take the place of demo-2 (only node node-1 can use its volume"},
		{"one that can stay where it is is restarted", leavingPool(3).edit(2, func(r *facts.Replica) {
			r.Volume.Misplaced = ""
		}), Act, "roll", "", "WriteSettings", "demo-2"},
		{"a larger size comes with the class", larger, Act, "grow", "", "PrepareMember", why},
		{"amounts come with it, too", wanting(running(few), many).ofClass("b"), Act, "grow", "", "PrepareMember", ""},
		{"the old member stays while the new one joins", joining, Wait, "promote", facts.ReasonStarting, "", "demo-3"},
		{"and may stop meanwhile", joining.edit(0, onClass("b")).edit(1, onClass("b")).edit(2, crashing), Refuse,
			"member-health", facts.ReasonCrashing, "", "demo-2"},
		{"then it loses its clients", joined, Act, "shrink", "", "LabelRole", "demo-2"},
		{"and its vote", joined.edit(2, unlabelled), Act, "shrink", "", "RemoveMember",
			"a new member has its place: " + why},
		{"a leader hands over first", last.ledBy(2), Act, "shrink", "", "MoveLeader", "demo-2"},
		{"the second begins when the first serves", moved, Act, "grow", "", "PrepareMember", "the place of demo-1"},
		{"and not before", moved.edit(3, unready), Refuse, "member-health", facts.ReasonNotReady, "", "demo-3"},
		{"nor while another one is not well", reclassed(3).edit(1, unready), Refuse, "member-health", facts.ReasonNotReady, "",
			"demo-1"},
		{"with the spec put back the new member is given up", joining.ofClass("a"), Act, "abandon-learner", "",
			"RemoveMember", "the size does not ask for it"},
		{"and one that votes goes again", joined.ofClass("a"), Act, "shrink", "", "LabelRole", "demo-3"},
		{"no node takes it, and what becomes of it is said", untaken, Refuse, "promote", facts.ReasonUnschedulable, "",
			"demo-3 is to take the place of demo-2. Once spec.pod is put right or put back, the operator makes the Pod of demo-3 " +
				"anew, or removes demo-3."},
		{"it is made anew once the spec is put right", wanting(untaken, third), Act, "settings", "", "WriteSettings",
			"of demo-3"},
		{"with the settings that it has then", wanting(untaken.edit(3, func(r *facts.Replica) {
			r.Volume.Settings = third
		}), third), Act, "pods", "", "DeletePods", "demo-3"},
		{"a third class gives the new member up", joining.edit(3, bound).ofClass("c"), Act, "abandon-learner",
			"", "RemoveMember", `its volume is of StorageClass "b", and the spec names "c"`},
		{"a refused spec does not", desire(joining.edit(3, bound).ofClass("c"), func(d *facts.Desired) { d.Fault = "no" }), Refuse,
			"spec-refused", facts.ReasonSpecRefused, "", ""},
		{"the pool put back gives the new member up",
			wanting(settledWorld(3), settings).with(starting(3)).promising(3).edit(3, rolled), Act, "abandon-learner", "",
			"RemoveMember", "the size does not ask for it"},
		{"a volume that was made of another class is not used", reclassed(3).with(promised(3)).promising(3).edit(3,
			onClass("a")).edit(3, bound), Act, "collect", "", "DeleteSecret", "demo-3"},
		{"the only member is succeeded as well", reclassed(1), Act, "grow", "", "PrepareMember", "demo-0"},
		{"and goes when the other votes", reclassed(1).with(voter(1)).edit(1, onClass("b")).ledBy(1).budgeting(2), Act,
			"shrink", "", "LabelRole", "demo-0"},
		{"of five one at a time", reclassed(5), Act, "grow", "", "PrepareMember", "the place of demo-4 ("},
		{"a cluster that is to be smaller loses these first", settledWorld(5).sized(3).ofClass("b").edit(4, onClass("b")).
			edit(3, onClass("b")), Act, "shrink", "", "LabelRole", "demo-2"},
		{"where no node takes the new one nothing is stopped", noPlace, Refuse, "promote", facts.ReasonUnschedulable, "",
			"Nothing is stopped until then. With spec.storage.replace: InPlace demo-2 goes first"},
		{"where the spec asks for it the old member goes first", leavingFirst(reclassed(3)), Act, "shrink", "",
			"LabelRole", "demo-2"},
		{"also its vote", leavingFirst(reclassed(3).edit(2, unlabelled)), Act, "shrink", "", "RemoveMember",
			"a new member follows it, and spec.storage.replace is InPlace: " + why},
		{"but no one else's", leavingFirst(settledWorld(3)), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"not while a new member is on its way", leavingFirst(joining), Wait, "promote", facts.ReasonStarting, "", "demo-3"},
		{"but where no node takes that one", leavingFirst(noPlace), Act, "shrink", "", "LabelRole", "demo-2"},
		{"not beside one that serves on a volume that is going", leavingFirst(noPlace.edit(1, doomed)), Refuse, "promote",
			facts.ReasonUnschedulable, "", ""},
		{"nor the only member", leavingFirst(reclassed(1)), Act, "grow", "", "PrepareMember", "demo-0"},
		{"nor one of two", leavingFirst(reclassed(2)), Act, "grow", "", "PrepareMember", "demo-1"},
		{"a quota that has no room for it stops nothing", rejecting(reclassed(3), "grow"), Wait, "grow", "QuotaExceeded", "",
			""},
		{"while an alarm stands no member moves", raising(reclassed(3), 90, noSpace), Refuse, "alarms", facts.ReasonAlarm, "", ""},
	} {
		t.Run(row.name, row.check)
	}
}

func TestASuccessorIsMadeFromTheSettingsOfTheSpec(t *testing.T) {
	for name, o := range map[string]scene{"another class": wanting(reclassed(3), other), "another pool": leavingPool(3)} {
		c, isPrepared := Decide(o.Observation).Change.(changes.PrepareMember)
		if !isPrepared || c.Volume.Settings != other {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestAMemberThatGoesFirstIsFollowedByOneAsTheSpecIs(t *testing.T) {
	o := desire(leavingPool(3).edit(2, unlabelled), func(d *facts.Desired) { d.LeavesFirst = true })
	c, isRemoval := Decide(o.Observation).Change.(changes.RemoveMember)
	if !isRemoval || c.Name != "demo-2" || c.Successor.Settings != other || !c.Frees {
		t.Errorf("%+v", c)
	}
	gone := desire(leavingPool(2).sized(3), func(d *facts.Desired) { d.LeavesFirst = true })
	next, isPrepared := Decide(gone.Observation).Change.(changes.PrepareMember)
	if !isPrepared || next.Volume.Settings != other {
		t.Errorf("%+v", next)
	}
}

func TestAMinorIsLeftOnceMembersHaveMoved(t *testing.T) {
	o := reclassed(3)
	if why := o.Current.WhyStay(o.Desired, nil); !why.Passes || why.Why == "" {
		t.Errorf("%+v", why)
	}
}

func TestARunningMemberThatDoesNotAnswerIsNotMovedToWhereNoNodeTakesIt(t *testing.T) {
	alone := wanting(settledWorld(1).edit(0, neverHeard), other).blind()
	row{"it is made anew where it may be", alone, Act, "settings", "", "WriteSettings", "demo-0"}.check(t)
	if d := Decide(alone.edit(0, misplaced).Observation); d.Change != nil {
		t.Errorf("%+v", d)
	}
}

func TestAMemberThatNoNodeTakesAsTheSpecIsServesOnAsItWasUntilItIsSucceeded(t *testing.T) {
	const apart = "0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 2 node(s) had volume node " +
		"affinity conflict."
	here, there, flags := settings, settings, settings
	here.Inputs, there.Inputs = `{"version":"3.6.16"}`, `{"version":"3.6.16","pod":{"affinity":{"podAntiAffinity":{}}}}`
	flags.Inputs = `{"version":"3.6.16","etcd":{"snapshotCount":1}}`
	cluster := func(size int) scene {
		o := wanting(settledWorld(size), there)
		for i := range size {
			o = o.edit(i, madeFrom(here))
		}
		return o
	}
	pending := func(size int, says string, lasted time.Duration) scene {
		return cluster(size).edit(size-1, madeFrom(there)).edit(size-1, tied(says)).edit(size-1,
			func(r *facts.Replica) { r.Pod.Created, r.Pod.UnplacedFrom = now.Add(-lasted), now.Add(-lasted) })
	}
	marked := func(r *facts.Replica) { r.Volume.RemovedFor = facts.CausePlace }
	back := func(r *facts.Replica) { r.Volume.Settings = here }
	three := pending(3, apart, 6*time.Minute)
	serving := cluster(3).edit(2, marked)
	const unschedulable = facts.ReasonUnschedulable
	for _, row := range []row{
		{"its volume is marked first", three, Act, "settings", "", "MarkVolume", "a new member follows it"},
		{"then it gets the settings of the others", three.edit(2, marked), Act, "settings", "", "WriteSettings",
			"It serves on as it was"},
		{"and a Pod with them", three.edit(2, marked).edit(2, back), Act, "pods", "", "DeletePods", "demo-2"},
		{"once it serves again a new member joins", serving, Act, "grow", "", "PrepareMember",
			"the place of demo-2 (no node that can use its volume took it as the spec is)"},
		{"not before five minutes", pending(3, apart, 4*time.Minute), Refuse, "member-health", unschedulable, "", ""},
		{"but at once for reasons that last", pending(3, "0/3 nodes are available: 1 node(s) had untolerated taint(s), "+
			"2 node(s) had volume node affinity conflict.", time.Second), Act, "settings", "", "MarkVolume", ""},
		{"not for want of room alone", pending(3, "0/3 nodes are available: 3 Insufficient cpu.", 6*time.Minute), Refuse,
			"member-health", unschedulable, "", ""},
		{"nor beside one that is not well", three.edit(1, unready), Refuse, "member-health", facts.ReasonNotReady, "", ""},
		{"nor where nodes are asked the same: a cordon ends", wanting(three.edit(2, madeFrom(flags)), flags), Refuse,
			"member-health", unschedulable, "", ""},
		{"nor for a spec that is refused", desire(three, func(d *facts.Desired) { d.Fault = "no" }), Refuse,
			"spec-refused", facts.ReasonSpecRefused, "", ""},
		{"nor where no other one serves as it was", three.edit(0, madeFrom(there)).edit(1, madeFrom(there)).edit(2, func(r *facts.Replica) {
			r.Pod.ReadySince = now
		}), Refuse, "member-health", unschedulable, "", ""},
		{"nor the only member", pending(1, apart, 6*time.Minute).blind(), Refuse, "membership", unschedulable, "", ""},
		{"it takes the spec that is put back before that", wanting(three.edit(2, marked), here), Act, "settings", "",
			"WriteSettings", "These are of the spec"},
		{"the mark goes when the spec is put back", wanting(serving, here), Act, "settings", "", "MarkVolume",
			"as the spec asks"},
	} {
		t.Run(row.name, row.check)
	}
}

func TestWhatBecomesOfALearnerIsPromisedOnlyOfASuccessorThatNoNodeTakes(t *testing.T) {
	starts := leavingPool(3).with(starting(3)).promising(3).edit(3, rolled)
	kept := starts.edit(3, tied("3 node(s) didn't match Pod's node affinity/selector"))
	for name, row := range map[string]struct {
		world scene
		says  bool
	}{
		"one that no node takes": {kept, true}, "one that starts": {starts, false}, "one for a larger size": {kept.sized(5), false},
	} {
		p := promote(current(row.world.Observation))
		if p == nil || strings.Contains(p.Message, "anew, or removes demo-3") != row.says {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestAHoldNamesTheLearnerThatHasNoVoteBeforeAVoterThatIsToGo(t *testing.T) {
	o := leavingPool(3).with(starting(3)).promising(3).edit(3, rolled)
	if hold := o.Current.WhyStay(o.Desired, nil); hold.Member != "demo-3" {
		t.Errorf("%+v", hold)
	}
}
