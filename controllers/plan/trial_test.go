package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/guard"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func refusedFlag(t *facts.Trial) {
	t.Phase, t.Started, t.Finished = facts.PodFailed, true, now
	t.Failure = "flag provided but not defined: -enable-v2"
}

func evicted(t *facts.Trial)      { t.Phase, t.Started, t.Finished = facts.PodFailed, true, now }
func beingDeleted(t *facts.Trial) { t.Terminating, t.GoneBy = true, now.Add(time.Minute) }
func injected(t *facts.Trial)     { passed(t); t.GoesOn = true }
func unmade(t *facts.Trial) {
	t.Waiting, t.Message = "FailedCreatePodSandBox", "no address is left"
	t.Created = now.Add(-3 * time.Minute)
}
func notTaken(t *facts.Trial)   { t.Phase, t.Message, t.Finished = facts.PodFailed, "OutOfpods", now }
func inProgress(t *facts.Trial) { t.Phase, t.Started = facts.PodRunning, true }
func passed(t *facts.Trial)     { t.Phase = facts.PodSucceeded }
func imageless(t *facts.Trial) {
	t.Waiting, t.Message = "ImagePullBackOff", "not found"
}

// trials are worlds in which members are to run another version of etcd.
func trials() []row {
	patching := func(size int) scene { return wanting(settledWorld(size), patched) }
	made := func(c facts.Choices) func(*facts.Trial) { return func(t *facts.Trial) { passed(t); t.Choices = c } }
	elsewhere := func(t *facts.Trial) { passed(t); t.Node = "node-of-before" }
	return []row{
		{"another version is tried beside every member before one is stopped for it", patching(3), Act, "try-version",
			facts.ReasonTryVersion, "StartTrials", "etcd 3.6.17 is tried on the nodes of demo-0, demo-1, demo-2"},
		{"also beside the only one", patching(1), Act, "try-version", facts.ReasonTryVersion, "StartTrials", "demo-0"},
		{"and where its trial Pod is missing", patching(3).trying(0, passed).trying(2, inProgress), Act, "try-version",
			facts.ReasonTryVersion, "StartTrials", "the nodes of demo-1,"},
		{"no member is stopped while a trial is under way", patching(2).trying(0, passed).trying(1, inProgress), Wait,
			"try-version", facts.ReasonTryVersion, "", "the node of demo-1. No further member is stopped"},
		{"nor while the image cannot be pulled", patching(2).trying(0, passed).trying(1, imageless), Wait,
			"try-version", facts.ReasonImagePull, "", "not found. Put spec.version or spec.image right, or back."},
		{"nor where etcd does not take the member's flags", patching(2).trying(0, inProgress).trying(1, refusedFlag),
			Refuse, "try-version", facts.ReasonVersionFails, "",
			"settings of demo-1: flag provided but not defined: -enable-v2. No further member is stopped"},
		{"a trial that failed is made anew after a while",
			at(patching(2).trying(0, passed).trying(1, evicted), 6*time.Minute), Act, "try-version",
			facts.ReasonTryVersion, "DeleteTrials", "demo-1"},
		{"a trial that ended on another node says nothing", patching(2).trying(0, passed).trying(1, elsewhere), Act,
			"try-version", facts.ReasonTryVersion, "DeleteTrials", "demo-1"},
		{"a trial that the node does not take holds nothing up", patching(2).trying(0, passed).trying(1, notTaken),
			Act, "roll", facts.ReasonRoll, "SetChoices", "demo-1"},
		{"nor does one that Kubernetes refuses", rejecting(patching(2), "try-version"), Act, "roll",
			facts.ReasonRoll, "SetChoices", "demo-1"},
		{"but what the others show does", rejecting(patching(2).trying(0, refusedFlag), "try-version"), Refuse, "roll",
			facts.ReasonVersionFails, "", "settings of demo-0"},
		{"and so do trial Pods that are not seen yet", unseen(patching(2)), Wait, "roll", facts.ReasonTryVersion, "",
			"not seen yet"},
		{"a trial that has not ended goes with its member's process",
			patching(3).trying(0, imageless).trying(1, imageless).edit(1, waitingFor("Unschedulable")), Act,
			"trial-leftover", facts.ReasonLeftover, "DeleteTrials", "demo-1"},
		{"so does one whose injected container goes on",
			patching(3).trying(0, injected).trying(1, injected).edit(1, waitingFor("Unschedulable")), Act,
			"trial-leftover", facts.ReasonLeftover, "DeleteTrials", "demo-1"},
		{"also while no list is known", patching(3).trying(1, imageless).blind(), Act, "trial-leftover",
			facts.ReasonLeftover, "DeleteTrials", "demo-1"},
		{"a member that cannot start is not given a version that was shown not to start",
			patching(3).trying(0, refusedFlag).edit(1, waitingFor("Unschedulable")), Refuse, "member-health",
			facts.ReasonUnschedulable, "", "demo-1"},
		{"a trial of other settings is deleted", patching(2).trying(0, passed).trying(1, made(other)), Act,
			"trial-leftover", facts.ReasonLeftover, "DeleteTrials", "demo-1"},
		{"and kept while the way to what they tried is held for a moment",
			desire(settledWorld(2).trying(0, made(newer)).trying(1, made(newer)), func(d *facts.Desired) {
				d.Held = facts.Hold{Why: "demo-1 does not answer", Passes: true}
			}), Wait, "check-minor", facts.ReasonMinorHeld, "", "at etcd 3.6 for now: demo-1 does not answer"},
		{"once every trial ended well the members are rolled", tried(patching(3)), Act, "roll", facts.ReasonRoll,
			"SetChoices", "demo-2"},
		{"once no member waits for it a trial is deleted", tried(settledWorld(2)), Act, "trial-leftover",
			facts.ReasonLeftover, "DeleteTrials", "demo-0, demo-1"},
		{"other settings of the same version are not tried", wanting(settledWorld(3), other), Act, "roll",
			facts.ReasonRoll, "SetChoices", "demo-2"},
		{"a sick member does not wait for a trial: its restart may cure it", patching(3).edit(1, silent), Act, "roll",
			facts.ReasonRoll, "SetChoices", "demo-1"},
		{"unless a trial has shown that it would not come back", patching(3).trying(0, refusedFlag).edit(1, silent),
			Refuse, "try-version", facts.ReasonVersionFails, "", "settings of demo-0"},
		{"or that its image cannot be pulled", patching(3).trying(0, imageless).edit(1, silent), Wait, "try-version",
			facts.ReasonImagePull, "", "not found"},
		{"a trial for which its node makes no Pod holds nothing up for long",
			patching(2).trying(0, passed).trying(1, unmade), Act, "roll", facts.ReasonRoll, "SetChoices", "demo-1"},
		{"a trial that terminates is waited for, also one that ended well",
			patching(2).trying(0, passed).trying(1, made(other), beingDeleted), Wait, "try-version",
			facts.ReasonTryVersion, "", "terminating"},
		{"a member that answers with another version than its image is named for ends the roll",
			wanting(settledWorld(3).edit(2, rolled).edit(2, answersPatched), other), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-2 was made to run etcd 3.6.16 and answers as etcd 3.6.17"},
		{"also of ephemeral members, whose successors would be of it too",
			wanting(inMemory(settledWorld(3).edit(2, rolled).edit(2, answersPatched)), other), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-2"},
		{"but a sick member is restarted: that may be its cure",
			wanting(settledWorld(3).edit(2, rolled).edit(2, answersPatched).edit(1, silent), other), Act, "roll",
			facts.ReasonRoll, "SetChoices", "demo-1"},
		{"also the only one, that was born so", settledWorld(1).edit(0, answersPatched), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-0"},
		{"also one of another minor, that makes the cluster look as if it had to go down",
			desire(settledWorld(1).edit(0, answersNewer), bornAs(choices)), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-0 was made to run etcd 3.6.16 and answers as etcd 3.7.3"},
		{"and is restarted once the spec names another image",
			wanting(settledWorld(3).edit(2, answersPatched), other).trying(2, passed), Act, "roll", facts.ReasonRoll,
			"SetChoices", "demo-2"},
		{"an ephemeral member is succeeded, and its successor tries the version", inMemory(patching(3)), Act, "grow",
			facts.ReasonGrow, "PrepareMember", "demo-3"},
	}
}

func answersNewer(r *facts.Replica) {
	r.Answer.Version, r.Volume.Record.Version = newer.Version, newer.Version
}

// bornAs is a wish for these choices, of a cluster whose members answer with a newer minor.
func bornAs(c facts.Choices) func(*facts.Desired) {
	return func(d *facts.Desired) {
		d.Choices, d.AtTarget, d.Target, d.Needs = newer, c, c.Version, etcdutil.NeedDowngrade
	}
}

// unseen is a world in which the trials were made, and the cache does not show them yet.
func unseen(o scene) scene {
	o.Refused = append(o.Refused, facts.Note{Rule: "try-version", Reason: facts.ReasonNoEffect})
	return o
}

// at is a world seen so much later.
func at(o scene, later time.Duration) scene {
	o.Now = o.Now.Add(later)
	return o
}

func TestATrialIsMadeOnlyBesideAMemberThatRunsThereAndDeletedOnlyAsItWasSeen(t *testing.T) {
	start := func(member, node string) changes.Change {
		return changes.StartTrials{Choices: patched, Beside: []changes.Place{{Member: member, Node: node}}}
	}
	remove := func(uid string) changes.Change {
		return changes.DeleteTrials{Pods: []facts.PodRef{{Name: "demo-1", UID: uid}}}
	}
	world := wanting(settledWorld(3), patched)
	node := world.Current.Members[1].Pod.Node
	for _, row := range []struct {
		name   string
		world  scene
		change changes.Change
		veto   string
	}{
		{"beside a member", world, start("demo-1", node), ""},
		{"on another node", world, start("demo-1", "another"), "does not run on another"},
		{"beside none", world, start("demo-9", node), "does not run on"},
		{"beside one that does not run", world.edit(1, noPod), start("demo-1", node), "does not run on"},
		{"twice", world.trying(1), start("demo-1", node), "another trial Pod of demo-1 is there"},
		{"deleted", world.trying(1), remove("trial-demo-1"), ""},
		{"deleted as another one", world.trying(1), remove("that of before"), "another one by now"},
		{"deleted once more", world, remove("trial-demo-1"), "another one by now"},
	} {
		veto := guard.Veto(current(row.world.Observation).View, row.change)
		if (veto == "") != (row.veto == "") || !strings.Contains(veto, row.veto) {
			t.Errorf("%s: %q", row.name, veto)
		}
	}
}
