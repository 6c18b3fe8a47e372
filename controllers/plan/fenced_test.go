package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func toFence(r *facts.Replica) { r.ToFence = true }

// fencing is a cluster of which a person fenced demo-1, and that is down.
func fencing(o scene) scene { return o.edit(1, toFence).edit(1, noPod) }

func fencedRows() []row {
	three, down := settledWorld(3).edit(1, toFence), fencing(settledWorld(3))
	dead := func(r *facts.Replica) { deadFor(10 * time.Minute)(r); r.Pod.Role = "" }
	waits := func(name string, o scene, says string) row {
		return row{name, o, Wait, "fence-member", facts.ReasonFenceWaits, "", "It runs on, because " + says}
	}
	stays := func(name string, o scene) row {
		return row{name, o, Wait, "member-health", facts.ReasonFenced, "", "Member demo-1 is fenced: a person had it stopped, and its volume " +
			"is kept. The others are a quorum. Until it is back no other one that serves is restarted, moved or removed. To have it back, " +
			"take its name out of the annotation etcdsteward.dev/fence, as kubectl etcd-steward unfence demo-1 -n default does."}
	}
	return []row{
		{"a member that a person fences is stopped", three, Act, "fence-member", "", "EvictPod",
			"etcdsteward.dev/fence names it. Its volume stays, and no Pod starts on it before the name is taken out."},
		{"at any time, since it is asked for now", closed(three), Act, "fence-member", "", "EvictPod", "demo-1"},
		{"also while the spec is refused", refusing(three), Act, "fence-member", "", "EvictPod", "demo-1"},
		{"before the next member is restarted", wanting(three, other), Act, "fence-member", "", "EvictPod", "demo-1"},
		{"one that leads hands over first", three.ledBy(1), Act, "fence-member", "", "MoveLeader", "from demo-1 to demo-0"},
		{"and does not get leadership back", three.leading("demo-1"), Act, "fence-member", "", "EvictPod", "demo-1"},
		{"one that crashes is stopped as well", three.edit(1, crashing).edit(1, unlabelled), Act, "fence-member", "", "EvictPod", "demo-1"},
		stays("then it stays stopped", down),
		stays("no other one is restarted beside it", wanting(down, other)),
		stays("nor moved", down.edit(2, askedToGo)),
		stays("nor is it replaced, however long that lasts", patient(down)),
		stays("also where a person wants it replaced", down.edit(1, askedToGo)),
		{"one that the spec moves is stopped where it is", leavingPool(3).edit(0, rolled).edit(2, rolled).edit(1, toFence), Act,
			"fence-member", "", "EvictPod", "demo-1"},
		stays("no voter that serves leaves beside it", fencing(settledWorld(5)).sized(3)),
		{"its Pod that is leaving is not waited for", three.edit(1, leaving), Wait, "member-health", facts.ReasonPodLeaving, "",
			"is terminating; demo-1 stays stopped, since etcdsteward.dev/fence names demo-1."},
		{"it starts once its name is taken out", settledWorld(3).edit(1, noPod), Act, "pods", "", "StartPods", "demo-1"},
		{"and where the others are no quorum", down.edit(2, dead).blind(), Act, "pods", "", "StartPods",
			"etcdsteward.dev/fence names demo-1, and without it the others are no quorum."},
		waits("one of two is not stopped", settledWorld(2).edit(1, toFence), "the cluster has 2 voting members, and no quorum without it. "+
			"Three members can spare one. The operator stops it once that is otherwise."),
		waits("nor is the only one", settledWorld(1).edit(0, toFence), "the cluster has one voting member"),
		waits("nor is a second one", fencing(settledWorld(5)).edit(3, toFence), "demo-1 is fenced already"),
		waits("nor one in memory", inMemory(three), "what it holds is not written down on a volume that stays"),
		{"nor one while another one is down", three.edit(2, dead), Refuse, "member-health", facts.ReasonNotReady, "", "demo-2"},
		{"one whose data is gone is replaced", down.edit(1, noData), Act, "replace", "", "RemoveMember", "demo-1"},
		{"one that is kept down does not keep another one from being replaced", patient(fencing(settledWorld(5)).edit(4, dead)), Act,
			"replace", "", "RemoveMember", "demo-4"},
	}
}

// While members choose a leader none is heard to lead, and Kubernetes goes on calling them ready.
func TestAFencedMemberIsNotStartedForAMomentWithoutALeader(t *testing.T) {
	o := fencing(settledWorld(5))
	for _, i := range []int{0, 2, 3, 4} {
		o = o.edit(i, adrift)
	}
	if d := Decide(o.blind().Observation); d.Change != nil {
		t.Errorf("%s: %s", d.Rule, d.Message)
	}
}

func TestTheGuardKeepsWhatAPersonFenced(t *testing.T) {
	three, down := settledWorld(3).edit(1, toFence), fencing(settledWorld(3))
	evict := changes.EvictPod{Pod: facts.PodRef{Name: "demo-1", UID: "pod-demo-1"}, Fences: true}
	start := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsSealed, Settings: settings}}}
	remove := changes.RemoveMember{Name: "demo-1", ID: 2}
	for _, row := range []struct {
		name   string
		world  scene
		change changes.Change
		isMade bool
	}{
		{"a fenced member is stopped beside two that serve", three, evict, true},
		{"but not without a person", settledWorld(3), evict, false},
		{"nor beside one that does not serve", three.edit(2, unready), evict, false},
		{"nor of five beside one that does not serve", settledWorld(5).edit(1, toFence).edit(4, silent), evict, false},
		{"nor one of two", settledWorld(2).edit(1, toFence), evict, false},
		{"nor the only one", settledWorld(1).edit(0, toFence),
			changes.EvictPod{Pod: facts.PodRef{Name: "demo-0", UID: "pod-demo-0"}, Fences: true}, false},
		{"it is not started while the others are a quorum", down, start, false},
		{"but where they are none", down.edit(2, silent).blind(), start, true},
		{"and without a person", settledWorld(3).edit(1, noPod), start, true},
		{"it is not removed", down, remove, false},
		{"but where its data is gone", down.edit(1, noData), remove, true},
	} {
		if why := Veto(row.world.Observation, row.change); (why == "") != row.isMade {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}
