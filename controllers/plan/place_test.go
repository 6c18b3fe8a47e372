package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// apart are the scheduler's words where a rule keeps a Pod from so many nodes, and nothing else does.
func apart(nodes int) string {
	return fmt.Sprintf("0/9 nodes are available: 1 node(s) had untolerated taint(s), %d node(s) didn't match pod "+
		"anti-affinity rules.", nodes)
}

// crowdedOut is a cluster of this size, each member on a node of its own, in which the volume of demo-1 is going. For
// so long no node has taken its successor, by these words of the scheduler.
func crowdedOut(size int, lasted time.Duration, says string) scene {
	o := settledWorld(size).edit(1, doomed)
	for i := range size {
		o = o.edit(i, func(r *facts.Replica) { r.Pod.Node = fmt.Sprint("node-", i) })
	}
	return o.with(starting(size)).edit(size, func(r *facts.Replica) {
		tied(says)(r)
		r.Pod.Created, r.Pod.UnplacedFrom, r.Pod.Scheduled = now.Add(-lasted-time.Second), now.Add(-lasted), false
	})
}

// nowhere is the same where no node takes the successor by its own settings, which are other.
func nowhere(lasted time.Duration) scene {
	return crowdedOut(3, lasted, "3 node(s) didn't match Pod's node affinity/selector").edit(3, rolled)
}

func otherScheduler(r *facts.Replica) { r.Pod.OtherScheduler = true }

func TestARefusedSpecPromisesNoRemoval(t *testing.T) {
	const promise = "the operator removes demo-1 first"
	waits := crowdedOut(3, 4*time.Minute, apart(3))
	if d := Decide(waits.Observation); !strings.Contains(d.Message, promise) {
		t.Errorf("%s: %s", d.Rule, d.Message)
	}
	refused := desire(waits, func(d *facts.Desired) { d.Fault = "no" })
	notes := Decide(refused.Observation).Trace.Yielded()
	if len(notes) == 0 || slices.ContainsFunc(notes, func(n facts.Note) bool { return strings.Contains(n.Message, promise) }) {
		t.Errorf("%+v", notes)
	}
}

func TestWhereNoNodeTakesASuccessor(t *testing.T) {
	three := crowdedOut(3, 6*time.Minute, apart(3))
	full := crowdedOut(3, 6*time.Minute, "0/3 nodes are available: 3 Insufficient cpu.")
	amounts := full.edit(3, madeFrom(many))
	for i := range 3 {
		amounts = amounts.edit(i, madeFrom(few))
	}
	leads := three.edit(1, unlabelledOld)
	leads.Current.Membership.Leader = 2
	for i := range 4 {
		leads = leads.edit(i, func(r *facts.Replica) {
			if r.Answer != nil {
				r.Answer.Leader = 2
			}
		})
	}
	behind := three
	behind.Ahead = 2 * time.Minute
	late := three.edit(3, func(r *facts.Replica) { r.Pod.Created = now.Add(-time.Hour) }).edit(3,
		func(r *facts.Replica) { r.Pod.UnplacedFrom = now.Add(-4 * time.Minute) })
	surging := inMemory(wanting(settledWorld(3), other)).with(starting(3)).edit(3, ofMemory).edit(3, tied("no room")).
		edit(3, func(r *facts.Replica) { r.Pod.Created, r.Pod.Settings = now.Add(-6*time.Minute), other })
	growing := settledWorld(3).sized(5).with(starting(3)).edit(3, tied("no room")).edit(3,
		func(r *facts.Replica) { r.Pod.Created = now.Add(-6 * time.Minute) })
	const refused, why = facts.ReasonUnschedulable, "only its Pod keeps its successor demo-3 from every node"
	for _, row := range []row{
		{"the doomed member that keeps it from every node loses its clients", three, Act, "shrink",
			"", "LabelRole", "demo-1"},
		{"then its vote", three.edit(1, unlabelledOld), Act, "shrink", "", "RemoveMember", why},
		{"the leader hands over first", leads, Act, "shrink", "", "MoveLeader", "demo-1"},
		{"not before five minutes, and it is told when", crowdedOut(3, 4*time.Minute, apart(3)), Refuse, "promote", refused,
			"", "If no node takes demo-3 by 2030-01-01T12:01:00Z, the operator removes demo-1 first"},
		{"nor by one clock alone", behind, Refuse, "promote", refused, "", "demo-3"},
		{"nor by the age of its Pod, where a scheduler came late", late, Refuse, "promote", refused, "", "demo-3"},
		{"nor where fewer nodes have that reason: the one of the doomed member may have another",
			crowdedOut(3, 6*time.Minute, apart(2)), Refuse, "promote", refused, "", "Or delete Pod demo-1"},
		{"nor where more have it", crowdedOut(3, 6*time.Minute, apart(13)), Refuse, "promote", refused, "",
			"Or delete Pod demo-1"},
		{"nor where two members share a node: it does not get free",
			three.edit(2, func(r *facts.Replica) { r.Pod.Node = "node-1" }).edit(3, tied(apart(2))), Refuse, "promote", refused,
			"", "Or delete Pod demo-1"},
		{"nor by the words of a scheduler that is not Kubernetes' own", three.edit(3, otherScheduler), Refuse, "promote",
			refused, "", "Or delete Pod demo-1"},
		{"nor for want of room, which others may take", full, Refuse, "promote", refused, "",
			"No node has taken it for 5m0s. Add a node, or have spec.pod ask less of nodes. Or delete Pod demo-1, " +
				"if it would find room on node node-1 then: that costs this one copy, and the others serve on. Until then " +
				"no other member is restarted"},
		{"nor where nothing says that its going makes room",
			nowhere(6*time.Minute).edit(3, madeFrom(settings)), Refuse, "promote",
			refused, "", "selector. No node has taken it for 5m0s. Add a node, or have spec.pod ask less of nodes."},
		{"nor beside one that is not ready, and then no one is told to stop it", three.edit(2, unready), Refuse,
			"promote", refused, "", "or have spec.pod ask less of nodes."},
		{"nor beside another doomed one", three.edit(2, doomed), Refuse, "promote", refused, "",
			"or have spec.pod ask less of nodes."},
		{"nor in a cluster of two", crowdedOut(2, 6*time.Minute, apart(2)), Refuse, "promote", refused, "",
			"or have spec.pod ask less of nodes."},
		{"nor while the spec is refused", desire(three, func(d *facts.Desired) { d.Fault = "no" }), Refuse,
			"spec-refused", facts.ReasonSpecRefused, "", "no"},
		{"of five, too", crowdedOut(5, 6*time.Minute, apart(5)).edit(1, unlabelledOld), Act, "shrink",
			"", "RemoveMember", "its successor demo-5"},
		{"other settings are not held back for it", wanting(nowhere(6*time.Minute), other), Act, "roll",
			"", "WriteSettings", "demo-2"},
		{"but for five minutes they are", wanting(nowhere(4*time.Minute), other), Refuse, "promote", refused, "",
			"demo-3"},
		{"and as long as the doomed member does not serve", wanting(nowhere(6*time.Minute).edit(1, unready), other),
			Refuse, "promote", refused, "", "demo-3"},
		{"and where it would take the room of the one that is restarted",
			wanting(full.edit(3, rolled), other), Refuse, "promote", refused, "",
			"Until then no other member is restarted: demo-3 would take its room."},
		{"so does what a rule of spread keeps apart", wanting(nowhere(6*time.Minute).edit(3, tied("0/4 nodes are "+
			"available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match pod topology spread constraints. "+
			"preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.")), other), Refuse, "promote",
			refused, "", "Until then no other member is restarted"},
		{"and what another scheduler says", wanting(nowhere(6*time.Minute).edit(3, otherScheduler), other), Refuse,
			"promote", refused, "", "Until then no other member is restarted"},
		{"but other amounts come to members that run on",
			wanting(amounts, many), Act, "resize", "",
			"WriteSettings", "demo-2"},
		{"a roll of ephemeral members tells the way back", surging, Refuse, "promote", refused, "",
			"or put the spec back. Nothing is stopped until then."},
		{"a larger size tells the way on", growing, Refuse, "promote", refused, "",
			"Add a node, or have spec.pod ask less of nodes."},
	} {
		t.Run(row.name, row.check)
	}
}

func TestTheGuardLetsADoomedMemberGoBeforeItsSuccessorVotesOnlyWhileAllOthersServe(t *testing.T) {
	three, removal := crowdedOut(3, 6*time.Minute, apart(3)), changes.RemoveMember{Name: "demo-1", ID: 2}
	five := crowdedOut(5, 6*time.Minute, apart(5))
	const why = "demo-1 serves, and of the other voters only"
	for _, row := range []guardRow{
		{"one does not serve", three, removal, three.edit(2, unready), removal, why},
		{"one of five does not answer", five, removal, five.edit(4, silent), removal, why},
		{"another one is doomed as well", five, removal, five.edit(4, doomed), removal, why},
		{"one would be left", three, removal, crowdedOut(2, 6*time.Minute, apart(2)), removal, why},
	} {
		t.Run(row.name, row.check)
	}
}

func TestAMemberThatLeavesKeepsItsSuccessorFromNoNode(t *testing.T) {
	unwanted := func(r *facts.Replica) { r.IsUnwanted = true }
	removed := func(r *facts.Replica) { r.Member, r.Pod.Terminating = nil, true }
	for name, row := range map[string]struct {
		world scene
		want  string
	}{
		"a volume is being deleted":         {settledWorld(3).edit(1, doomed), "demo-1"},
		"a person wants it replaced":        {settledWorld(3).edit(1, unwanted), "demo-1"},
		"it was removed":                    {settledWorld(3).edit(1, removed), "demo-1"},
		"the size was raised":               {desire(settledWorld(3), func(d *facts.Desired) { d.Size = 5 }), ""},
		"it is gone":                        {settledWorld(2), ""},
		"it leaves, and its Pod is no more": {settledWorld(3).edit(1, doomed).edit(1, noPod), ""},
	} {
		d := Decide(desire(row.world.with(added(3)), func(d *facts.Desired) { d.Size = max(d.Size, 3) }).Observation)
		start, ok := d.Change.(changes.StartPods)
		if !ok || len(start.Pods) != 1 || strings.Join(start.Pods[0].Leaving, ", ") != row.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
