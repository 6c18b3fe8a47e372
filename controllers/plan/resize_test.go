package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Settings that differ in amounts alone, and in more.
var (
	few     = facts.Settings{Version: settings.Version, Inputs: "few", QuotaBytes: 2 << 30, Fixed: "same"}
	many    = facts.Settings{Version: settings.Version, Inputs: "many", QuotaBytes: 2 << 30, Fixed: "same"}
	flagged = facts.Settings{Version: settings.Version, Inputs: "flag", QuotaBytes: 2 << 30, Fixed: "another"}
)

// running is a cluster of three whose members were made from few, and whose spec asks for these.
func running(wanted facts.Settings) scene {
	o := wanting(settledWorld(3), wanted)
	for i := range o.Current.Members {
		o = o.edit(i, madeFrom(few))
	}
	return o
}

// madeFrom is a member whose Pod and volume say that.
func madeFrom(c facts.Settings) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Settings, r.Pod.Settings = c, c }
}

// having is a member that was given those amounts, and what came of that.
func having(c facts.Settings, r facts.Resize) func(*facts.Replica) {
	return func(m *facts.Replica) {
		madeFrom(c)(m)
		m.Pod.Node, m.Pod.Resize = "node-1", r
	}
}

func TestOtherAmountsReachMembersThatRunOneAfterTheOther(t *testing.T) {
	inProgress := facts.Resize{State: facts.ResizeInProgress}
	deferred := facts.Resize{State: facts.ResizeDeferred, Message: "no room", Since: now.Add(-time.Second)}
	infeasible := facts.Resize{State: facts.ResizeInfeasible, Message: "never room"}
	failed := facts.Resize{State: facts.ResizeFailed, Message: "in use", Since: now.Add(-10 * time.Second)}
	failedLong := facts.Resize{State: facts.ResizeFailed, Message: "in use", Since: now.Add(-2 * resizeDeadline)}
	written := func(r *facts.Replica) { r.Volume.Settings = many }
	rest := running(many).edit(0, madeFrom(many)).edit(1, madeFrom(many))
	for _, row := range []struct {
		name               string
		world              scene
		rule, change, says string
	}{
		{"they are written on the volume first", running(many), "resize", "WriteSettings", "demo-2"},
		{"then the Pod gets them", running(many).edit(2, written), "resize", "ResizePod", "without a restart"},
		{"of an ephemeral member at once", inMemory(running(many)), "resize", "ResizePod", "demo-2"},
		{"the next member's turn comes once it has them", running(many).edit(2, having(many, inProgress)), "resize",
			"", "The kubelet changes CPU and memory of demo-2"},
		{"and no sooner than its node has room", running(many).edit(2, having(many, deferred)), "resize", "",
			"Node node-1 has no room now for the CPU and memory of demo-2: no room."},
		{"the leader is the last one, and goes on leading", running(many).edit(2, madeFrom(many)).edit(1, madeFrom(many)).
			edit(0, written), "resize", "ResizePod", "demo-0"},
		{"while another member is not well none gets them", running(many).edit(1, unready), "roll", "", ""},
		{"a sick one is restarted with them", running(many).edit(1, silent), "roll", "WriteSettings", "demo-1"},
		{"what the kubelet never can is a restart", rest.edit(2, having(many, infeasible)), "roll", "EvictPod",
			"Its node cannot change CPU and memory while it runs: never room."},
		{"which comes before any other member gets them", running(many).edit(2, having(many, infeasible)), "roll",
			"EvictPod", "demo-2"},
		{"also where the kubelet only failed", running(many).edit(2, having(many, failedLong)), "roll", "EvictPod", "demo-2"},
		{"and ends there if the member does not come back", running(many).edit(2, having(many, facts.Resize{})).
			edit(2, silent), "", "", ""},
		{"and for an ephemeral member another one", inMemory(rest.edit(2, having(many, infeasible))), "grow",
			"PrepareMember", "demo-3"},
		{"putting them back is none", running(few).edit(2, having(many, infeasible)), "resize", "WriteSettings", "demo-2"},
		{"not even while the kubelet still speaks of those of before", running(few).edit(2, having(many, infeasible)).
			edit(2, func(r *facts.Replica) { r.Volume.Settings = few }), "resize", "ResizePod", "demo-2"},
		{"what fails is tried for a while", rest.edit(2, having(many, failed)), "resize", "", "in use. It tries again"},
		{"and then is a restart", rest.edit(2, having(many, failedLong)), "roll", "EvictPod", "in use"},
		{"what Kubernetes refuses is a restart", rejecting(running(many).edit(2, written), nameResize), "roll",
			"EvictPod", "demo-2"},
		{"what goes with another setting is one too", running(flagged), "roll", "WriteSettings", "demo-2"},
		{"a Pod that does not say what it was made from is not given any", running(many).edit(2, written).
			edit(2, unspoken), "pod-metadata", "RestoreInputs", "demo-2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Decide(row.world.Observation)
			rule, kind, says := d.Rule, "", d.Message
			if d.Change != nil {
				kind = changes.KindOf(d.Change)
			}
			if row.change == "" {
				notes := slices.Concat(d.Trace.Yielded(), []facts.Note{{Rule: d.Rule, Message: d.Message}})
				i := slices.IndexFunc(notes, func(n facts.Note) bool { return n.Rule == row.rule })
				if i >= 0 {
					rule, says = row.rule, notes[i].Message
				}
			}
			if kind != row.change || row.change+row.says != "" && rule != row.rule || !strings.Contains(says, row.says) {
				t.Errorf("%s %s: %s", rule, kind, says)
			}
		})
	}
}

func TestAPodThatOthersGaveOtherAmountsIsLeftAlone(t *testing.T) {
	o := running(few).edit(1, having(few, facts.Resize{}))
	if d := Decide(o.Observation); d.Verdict != Settled {
		t.Errorf("%+v", d)
	}
}

func TestANodeWithoutRoomIsToldAsOverdueAndRestartsNoMember(t *testing.T) {
	deferred := facts.Resize{State: facts.ResizeDeferred, Message: "no room", Since: now.Add(-time.Hour)}
	d := Decide(running(many).edit(2, having(many, deferred)).Observation)
	if d.Verdict != Refuse || d.Rule != nameResize || !d.Overdue || d.NeedsHuman {
		t.Errorf("%+v", d)
	}
}

func TestTheGuardGivesAmountsToNoOtherPodAndOnlyBesideAQuorum(t *testing.T) {
	good := changes.ResizePod{Pod: facts.PodRef{Name: "demo-2", UID: "pod-demo-2"}, Settings: many}
	little := many
	little.MemoryBytes = 1 << 20
	three := running(many)
	holding := three.edit(2, func(r *facts.Replica) { r.Answer.DBSizeInUse = 2 << 20 })
	for _, row := range []guardRow{
		{"another Pod", three, good, three, otherwise(good, func(c *changes.ResizePod) { c.Pod.UID = "another" }),
			"the Pod demo-2 is another one by now"},
		{"other settings", three, good, three, otherwise(good, func(c *changes.ResizePod) { c.Settings = flagged }),
			"was made from other settings"},
		{"less memory than the data has", holding, good, holding,
			otherwise(good, func(c *changes.ResizePod) { c.Settings = little }), "the database of demo-2 has no room"},
		{"beside no quorum", three, good, three.edit(1, silent), good, "which is no quorum"},
	} {
		t.Run(row.name, row.check)
	}
}
