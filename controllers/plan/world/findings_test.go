package world

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// finding is a story that shows something wrong with the planner.
type finding struct {
	name string
	says string                    // what is wrong
	play func(t *testing.T) *World // what it violates is in the world
}

// openFindings are red: the planner is wrong in each of these stories. One that is cured moves to curedFindings.
var openFindings = []finding{
	{"a Pod whose annotation goes in the middle of its roll",
		"it is told the settings of its volume, runs with the old ones, and is never rolled", mistoldInARoll},
}

// curedFindings were open once. None of them violates anything.
var curedFindings = []finding{
	{"a claim without its label, and another policy", "deletion-policy speaks first for ever, and nothing else is done",
		policyStarves},
	{"new claims are refused", "each pass promises another name, and makes and deletes its Secret", claimsRefused},
	{"a policy that was taken back", "FollowPolicy{Retain: false} is not confirmed", policyTakenBack},
	{"a claim that a backup tool put back", "a claim of the old name counts as the member's own disk", claimPutBack},
	{"a node whose clock is six minutes behind", "its member is replaced seconds after a restart", clockBehind},
	{"another etcd at a reused address", "its member is removed at once if its Pod was ready for longer than " +
		"repair.replaceAfter: the time counts from that", impostor},
	{"a sibling at a reused address", "without TLS nothing is repaired while one address leads to another member",
		siblingBlocksRepair},
	{"a voter without a Pod whose incarnation was edited", "it waits for ever, and nothing says why", voterWithoutPod},
	{"a removed member whose Pod comes back, beside one that never serves",
		"a removed member counts as a voter while none answers, and the other one is not restarted", removedCounts},
	{"a corrupt leader beside two good followers, and a roll",
		"a good member that restarts beside a corrupt one is taken for the corrupt one and removed",
		corruptLeaderRolled},
	{"a corrupt follower, and a good member that restarts", "the same, while the alarm CORRUPT names another member",
		corruptFollowerRestarted},
	{"a disk that fails", "a member whose disk returns errors is never replaced", diskFails},
	{"a node that loses power while its member is rolled", "the member is never replaced", nodeDarkWhileRolled},
	{"another etcd at a reused address, where no member will be replaced", "the same with repair.replaceAfter: 0",
		impostorWithoutReplacement},
	{"a spec that is refused, and a node that is deleted", "the member is removed, and none is added in its place",
		refusedSpecShrinks},
	{"a snapshot that is read while history is compacted", "a person is asked for room that is there", readWhileCompacted},
}

func TestEachOpenFindingIsStillThere(t *testing.T) {
	for _, f := range openFindings {
		t.Run(f.name, func(t *testing.T) {
			w := f.play(t)
			if len(w.Violations) == 0 {
				t.Fatalf("it is cured: move it to curedFindings. It was: %s\n%s", f.says, firstStory(t, w))
			}
			t.Logf("%v", w.Violations)
		})
	}
}

func TestNoCuredFindingComesBack(t *testing.T) {
	for _, f := range curedFindings {
		t.Run(f.name, func(t *testing.T) {
			if w := f.play(t); len(w.Violations) > 0 {
				t.Fatalf("%v\n%s", w.Violations, firstStory(t, w))
			}
		})
	}
}

// mustRest lets the world come to rest with all members, or calls it a violation.
func mustRest(w *World) *World {
	d, rests := w.Settle(2000)
	if up := w.health(); len(w.Violations) == 0 && (!rests || d.Verdict != plan.Settled || up.up != w.Spec.Size) {
		w.stall("it does not settle: %d of %d voters serve, rests=%v, %s: %s", up.up, up.voters, rests, d.Rule,
			d.Message)
	}
	return w
}

// until lets passes go by until something is so.
func until(t *testing.T, w *World, what string, isSo func() bool) {
	t.Helper()
	for range 400 {
		if isSo() {
			return
		}
		w.Advance()
		w.Pass()
	}
	t.Fatalf("%s never came to be\n%s", what, firstStory(t, w))
}

func (w *World) leaderName() string {
	c := w.clusters[w.bootstrapped]
	return c.nameOf(c.leader)
}

func corruptLeaderRolled(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.CorruptDisk(w.leaderName())
	w.Spec.Settings.Inputs = "b"
	w.Settle(2000)
	return w
}

func corruptFollowerRestarted(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.clusters[w.bootstrapped].leader = w.disks[w.objects.pods["demo-0"].disk].member
	w.CorruptDisk("demo-2")
	w.Suffer(Hazards{Corruption: true})
	for len(w.clusters[w.bootstrapped].corrupt) == 0 {
		w.Advance()
	}
	w.KillContainer("demo-1")
	w.Settle(2000)
	return w
}

func policyStarves(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.StripLabels("demo-0")
	w.ChangePolicy("")
	w.DeletePod("demo-1")
	return mustRest(w)
}

func claimsRefused(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.Refuse(kindVolume, true)
	w.loseMember("demo-2")
	w.Settle(400)
	if w.objects.bootstrap.NextOrdinal > 8 {
		w.violate("%d names were used up", w.objects.bootstrap.NextOrdinal)
	}
	w.Refuse(kindVolume, false)
	return mustRest(w)
}

func readWhileCompacted(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.Spec.Settings.QuotaBytes, w.Spec.Upkeep.Compacts = 2<<30, true
	mustRest(w)
	c := w.written()
	c.alarm, c.historic, w.trouble.isQuiet = true, true, true // no client writes where space ran out
	until(t, w, "history is compacted", func() bool { return !c.historic })
	c.isRead = true
	w.Pass() // before it is read to its end
	return mustRest(w)
}

func policyTakenBack(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.ChangePolicy("")
	o := w.Observe()
	w.ChangePolicy("")
	w.take(o, immortal)
	return mustRest(w)
}

func claimPutBack(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.CopyVolume("demo-1")
	return mustRest(w)
}

func diskFails(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.FailDisk("demo-1")
	return mustRest(w)
}

func nodeDarkWhileRolled(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.Spec.Settings.Inputs = "b"
	name := ""
	until(t, w, "a member that runs with the new settings", func() bool {
		for candidate, p := range w.objects.pods {
			if p.made == w.Spec.Settings && p.Running {
				name = candidate
			}
		}
		return name != ""
	})
	p := w.objects.pods[name]
	p.Ready, p.ReadySince = false, p.RunningSince.Add(-time.Second)
	w.objects.pods[name] = p
	w.DarkenNode(name)
	return mustRest(w)
}

func clockBehind(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	for range 400 { // the others have been a quorum for long
		w.Advance()
		w.Pass()
	}
	w.SkewNode(w.objects.pods["demo-1"].Node, -6*time.Minute)
	w.KillContainer("demo-1")
	for !w.objects.pods["demo-1"].Running {
		w.Advance()
	}
	w.Freeze("demo-1") // it reads its database
	for range 20 {
		w.Advance()
		w.Pass()
	}
	w.Cure()
	return mustRest(w)
}

func impostor(*testing.T) *World {
	spec := Spec3(3)
	spec.TLS = false
	return underImpostor(spec)
}

func impostorWithoutReplacement(*testing.T) *World {
	spec := Spec3(3)
	spec.TLS, spec.ReplaceAfter = false, 0
	return underImpostor(spec)
}

// underImpostor is a member that is cut off for a while, and whose address another etcd has got by then.
func underImpostor(spec facts.Desired) *World {
	w := New(1, spec)
	w.Settle(600)
	for range 400 { // it served for longer than repair.replaceAfter
		w.Advance()
		w.Pass()
	}
	w.Impersonate("demo-1", "another etcd")
	for range 60 {
		w.Advance()
		w.Pass()
	}
	w.Cure()
	return mustRest(w)
}

func siblingBlocksRepair(*testing.T) *World {
	spec := Spec3(5)
	spec.TLS = false
	w := New(1, spec)
	w.Settle(600)
	w.Impersonate("demo-1", "demo-0")
	w.LoseNode("demo-4")
	for range 600 {
		w.Advance()
		w.Pass()
	}
	if c := w.clusters[w.bootstrapped]; c.has("demo-4") {
		w.violate("demo-4 lost its data, and is still a member")
	}
	w.Cure()
	return mustRest(w)
}

func voterWithoutPod(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.EditIncarnation("demo-1")
	w.DeletePod("demo-1")
	if d, rests := w.Settle(2000); !rests && len(w.Violations) == 0 {
		w.stall("it neither settles nor asks for a person: %s: %s", d.Rule, d.Message)
	}
	return w
}

// removedCounts is a cluster that shrank to one member, and whose Pods were made anew with bad settings before the
// rest was cleared away.
func removedCounts(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	good := w.Spec.Settings
	w.Spec.Size = 1
	until(t, w, "a cluster of one", func() bool { return len(w.clusters[w.bootstrapped].members) == 1 })
	w.ToggleQuota(true)
	for name := range w.objects.pods {
		w.DeletePod(name)
	}
	w.Spec.Settings.Inputs = "never-serves"
	w.NeverServes[w.Spec.Settings] = true
	for range 60 {
		w.Advance()
		w.Pass()
	}
	w.ToggleQuota(false)
	until(t, w, "a process that never serves", func() bool { return len(w.procs) > 0 })
	w.Spec.Settings = good
	return mustRest(w)
}

func refusedSpecShrinks(t *testing.T) *World {
	w := settledAt(t, 1, 3)
	w.Spec.Fault = "spec.version is refused"
	w.LoseNode("demo-2")
	for range 600 {
		w.Advance()
		w.Pass()
	}
	if c := w.clusters[w.bootstrapped]; len(c.voters()) < 3 {
		w.violate("%d voters are left of 3, and none is added", len(c.voters()))
	}
	return w
}

func (c *cluster) has(name string) bool {
	for _, m := range c.members {
		if m.Name == name {
			return true
		}
	}
	return false
}

func mistoldInARoll(*testing.T) *World {
	w := New(1, Spec3(1))
	w.Settle(600)
	w.Spec.Settings.Inputs = "b"
	for range 200 {
		if w.Pass(); count(w.Log, "roll WriteSettings") > 0 {
			break
		}
		w.Advance()
	}
	w.StripInputs("demo-0")
	w.Settle(600)
	if w.isMistold() {
		w.violate("demo-0 says that it runs with other settings than it does")
	}
	return w
}
