package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// startedAnew is a member whose kubelet started etcd again a moment ago: it serves, from data that it had.
func startedAnew(r *facts.Replica) {
	r.Pod.Uncompared, r.Pod.RunningSince, r.Pod.Process = true, now.Add(-3*time.Second), "process-again-"+r.Name
	r.Pod.Exit = &facts.Exit{Reason: etcdutil.ExitOutOfMemory, Code: 137, At: now.Add(-5 * time.Second)}
}

func longAgo(r *facts.Replica) { r.Pod.RunningSince = now.Add(-time.Hour) }

// allStarted is a cluster of which all members were killed at once.
func allStarted(size int, edits ...func(*facts.Replica)) scene {
	o := settledWorld(size)
	for ordinal := range size {
		for _, edit := range append([]func(*facts.Replica){startedAnew}, edits...) {
			o = o.edit(ordinal, edit)
		}
	}
	return o
}

// joinedJustNow is a cluster whose new member is ready for its vote since a moment ago.
func joinedJustNow(voters int) scene {
	o := desire(settledWorld(voters), func(d *facts.Desired) { d.Size = voters + 1 }).with(learner(voters))
	return o.edit(voters, readyFor(time.Second)).budgeting(etcdutil.Quorum(voters + 1))
}

// leftAlone are five, of which the copy of demo-1 is known to stand alone, and another one is not as it should be.
func leftAlone(ordinal int, edits ...func(*facts.Replica)) scene {
	o := settledWorld(5).edit(1, unlabelledOld).edit(1, marked)
	for _, edit := range append([]func(*facts.Replica){unlabelledOld}, edits...) {
		o = o.edit(ordinal, edit)
	}
	return o
}

func compareRows() []row {
	three := settledWorld(3)
	again := three.edit(1, startedAnew)
	unled := again.edit(1, unlabelledOld)
	all := allStarted(3)
	joined := joinedJustNow(3)
	return []row{
		{"clients are led away from a member that started beside a quorum", again, Act, nameLeadAway,
			"", "LabelRole", "Take demo-1 out of the client Service: it started anew, and its copy of the data is not"},
		{"also before it answers", again.edit(1, stopped), Act, nameLeadAway, "", "LabelRole",
			"Take demo-1 out of the client Service: it started anew, and its copy of the data is not"},
		{"then it is asked for its hash", unled, Wait, "corruption", facts.ReasonCompare, "", "demo-1 started"},
		{"and clients come back once it holds what a majority does", hashing(unled, 7, 7, 0), Act, "compare",
			"", "SealPods", "Record on the Pod of demo-1: etcd started from the same data as a majority of the"},
		{"a copy that stands alone is removed", hashing(unled.edit(1, marked), 7, 6, 7), Act, "corruption",
			"", "RemoveMember", "demo-1"},
		{"not while another voter starts", hashing(leftAlone(4, startedAnew, startingUp), 7, 6, 7, 7), Wait, "corruption",
			facts.ReasonCorruption, "", "once demo-4 has started"},
		{"nor while its Pod leaves", hashing(leftAlone(4, leaving), 7, 6, 7, 7), Wait,
			"corruption", facts.ReasonCorruption, "", "once demo-4 has started"},
		{"but after the time of a start", hashing(leftAlone(4, startingUp, longAgo), 7, 6, 7, 7), Act, "corruption", "",
			"RemoveMember", "demo-1"},
		{"where all started clients are led on meanwhile", all, Wait, "corruption", facts.ReasonCompare, "", ""},
		{"all are called compared at once", hashing(all, 7, 7, 7), Act, "compare", "", "SealPods",
			"demo-0, demo-1, demo-2"},
		{"two of three are enough", hashing(all.edit(2, unanswered), 7, 7, 0), Act, "compare", "",
			"SealPods", "demo-0, demo-1"},
		{"where one of them differs it loses its clients", hashing(all, 7, 7, 6), Act, "corruption",
			"", "LabelRole", "demo-2"},
		{"a leader that differs hands over", hashing(all, 6, 7, 7), Act, "corruption", "",
			"MoveLeader", "demo-0"},
		{"two that differ are a person's", hashing(allStarted(2), 6, 7), Refuse, "corruption", facts.ReasonCorruption,
			"", "demo-0 00000006"},
		{"a third that starts is waited for", hashing(all.edit(2, startingUp), 6, 7, 0), Wait, "corruption",
			facts.ReasonCorruption, "", "demo-2 starts"},
		{"the only member has no other to be compared with", allStarted(1), Act, "compare", "",
			"SealPods", "demo-0"},
		{"what takes too long to be read serves as it is", allStarted(3, longAgo), Act, "compare", "",
			"SealPods", "could not be compared within 2m0s: demo-0 unknown"},
		{"and not where copies differ", hashing(allStarted(3, longAgo), 5, 6, 7), Refuse, "corruption",
			facts.ReasonCorruption, "", ""},
		{"one that has not caught up is asked later", unled.edit(1, behind), Refuse, "member-health", facts.ReasonNotReady,
			"", ""},
		{"a roll waits for it", wanting(unled, other), Wait, "corruption", facts.ReasonCompare, "", ""},
		{"a learner votes only once the leader's copy is that of a majority", joined, Wait, "promote",
			facts.ReasonCompare, "", "has copied the leader's data"},
		{"then it votes", hashing(joined, 7, 7, 7), Act, "promote", "", "Promote", "demo-3"},
		{"two of three with the leader are enough", hashing(joined.edit(2, unanswered).edit(2, withRole(facts.RoleCounted)), 7, 7, 0),
			Act, "promote", "", "Promote", "demo-3"},
		{"not two without it", hashing(joined, 0, 7, 7), Wait, "promote", facts.ReasonCompare, "", ""},
		{"one that copied from one of two that differ gets no vote", hashing(joinedJustNow(2), 7, 6), Refuse, "corruption",
			facts.ReasonCorruption, "", "demo-0 00000007"},
		{"where that takes too long it votes as it is", joined.edit(3, readyFor(time.Hour)), Act, "promote", "",
			"Promote", "demo-3"},
		{"one of an earlier release stays as it is: there etcd itself compares",
			three.edit(1, func(r *facts.Replica) { r.Pod.Flags = facts.FlagsComparing }), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
	}
}

// stopped is one whose process was killed, and that its kubelet is about to start again.
func stopped(r *facts.Replica) {
	r.Answer, r.Pod.Ready, r.Pod.Running, r.Pod.Process, r.Pod.RunningSince = nil, false, false, "", time.Time{}
}

// startingUp is a member whose process began a moment ago.
func startingUp(r *facts.Replica) { r.Answer, r.Pod.Ready = nil, false }

func TestHashesAreAskedOnlyWhereACopyHasToBeCompared(t *testing.T) {
	again := settledWorld(3).edit(1, startedAnew).edit(1, unlabelledOld)
	for _, row := range []struct {
		name  string
		world scene
		want  bool
	}{
		{"nothing started", settledWorld(3), false},
		{"one started, and clients were led away", again, true},
		{"clients are still led there", settledWorld(3).edit(1, startedAnew), false},
		{"all started", allStarted(3), true},
		{"no list is known", again.blind(), false},
		{"it has not caught up", again.edit(1, behind), false},
		{"it does not answer", again.edit(1, unanswered), false},
		{"there is no other member", allStarted(1), false},
		{"the cluster is paused", desire(again, func(d *facts.Desired) { d.Paused = true }), false},
		{"it is being deleted", desire(again, func(d *facts.Desired) { d.Deleting = true }), false},
		{"a learner may vote", joinedJustNow(3), true},
		{"one that joins the only voter", joinedJustNow(1), false},
		{"a learner started, and has not caught up", joinedJustNow(3).edit(3, behind), false},
	} {
		if got := AsksForHashes(row.world.Observation); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
	another := again
	another.ClaimedBy = "elsewhere/steward"
	if AsksForHashes(another.Observation) {
		t.Error("another install looks after it")
	}
}

func TestWhatIsSealedFirstIsCalledComparedOnlyWhereItBeganEmpty(t *testing.T) {
	flagged := func(flags facts.Flags, edits ...func(*facts.Replica)) changes.Seal {
		o := settledWorld(3).edit(1, func(r *facts.Replica) { r.Pod.Flags, r.Pod.Role = flags, "" })
		for _, edit := range edits {
			o = o.edit(1, edit)
		}
		seals, ok := Decide(o.Observation).Change.(changes.SealPods)
		if !ok {
			t.Fatalf("%s: %+v", flags, Decide(o.Observation))
		}
		return seals.Pods[0]
	}
	began := changes.Seal{Pod: facts.PodRef{Name: "demo-1", UID: "pod-demo-1"}, Role: facts.RoleVoter,
		Process: "process-demo-1"}
	again := changes.Seal{Pod: began.Pod}
	late := func(r *facts.Replica) { r.Pod.Created = r.Volume.Created.Add(time.Minute) }
	restoredThere := func(r *facts.Replica) { r.Volume.Restored = r.Volume.Incarnation }
	exited := func(r *facts.Replica) { r.Pod.Exit = &facts.Exit{Reason: etcdutil.ExitOutOfMemory} }
	for _, row := range []struct{ got, want changes.Seal }{
		{flagged(facts.FlagsBootstrap), began}, {flagged(facts.FlagsJoin), again},
		{flagged(facts.FlagsBootstrap, exited), again}, {flagged(facts.FlagsBootstrap, late), again},
		{flagged(facts.FlagsBootstrap, late, restoredThere), began},
		{flagged(facts.FlagsNone), again},
	} {
		if row.got != row.want {
			t.Errorf("%+v, want %+v", row.got, row.want)
		}
	}
}

func TestAReplicaThatStandsByLeadsClientsAwayFromWhatStarted(t *testing.T) {
	d := StandBy(settledWorld(3).edit(1, startedAnew).Observation)
	if label, ok := d.Change.(changes.LabelRole); !ok || label.Pod.Name != "demo-1" || label.Role != "" {
		t.Errorf("%+v", d)
	}
}

// guardedSeals are rows of processes that are called compared.
func guardedSeals() []guardRow {
	const unknown, first = "nothing shows that the copy of demo-1 is that of a majority", "was not compared"
	again := settledWorld(3).edit(1, startedAnew).edit(1, unlabelledOld)
	same := hashing(again, 7, 7, 7)
	seal := func(process string) changes.Change {
		return changes.SealPods{Pods: []changes.Seal{{Pod: facts.PodRef{Name: "demo-1", UID: "pod-demo-1"},
			Role: facts.RoleVoter, Process: process}}}
	}
	call := seal("process-again-demo-1")
	flagged := func(flags facts.Flags, exit *facts.Exit) scene {
		return settledWorld(3).edit(1, func(r *facts.Replica) { r.Pod.Flags, r.Pod.Exit = flags, exit })
	}
	killed := &facts.Exit{Reason: etcdutil.ExitOutOfMemory}
	label := changes.LabelRole{Pod: facts.PodRef{Name: "demo-1", UID: "pod-demo-1"}, Role: facts.RoleVoter}
	away := changes.LabelRole{Pod: label.Pod}
	const leaders = "nothing shows that the leader, whose data demo-3 has copied"
	vote := changes.Promote{Name: "demo-3", ID: settledWorld(3).with(learner(3)).Current.Find("demo-3").Member.ID}
	return []guardRow{
		{"a copy that differs", same, call, hashing(again, 7, 6, 7), call, unknown},
		{"a copy of which nothing is known", same, call, again, call, unknown},
		{"a copy that only one of three has said to hold", hashing(again, 7, 7, 0), call, hashing(again, 0, 7, 0), call,
			unknown},
		{"a copy while another one differs", same, call, hashing(again, 6, 7, 7), call, unknown},
		{"a copy while one is said to differ", hashing(again, 7, 7, 0), call,
			hashing(raising(again, 10, corrupt), 7, 7, 0), call, unknown},
		{"a member that does not answer", same, call, same.edit(1, unanswered), call, unknown},
		{"what takes too long to be read, and differs", again.edit(1, longAgo), call,
			hashing(again.edit(1, longAgo), 7, 6, 0), call, unknown},
		{"another process", same, call, same, seal("process-demo-1"), "demo-1 runs another process by now"},
		{"a voter whose process is not named", same, call, same, seal(""), "demo-1 runs another process by now"},
		{"a first process that is not the first", flagged(facts.FlagsBootstrap, nil), seal("process-demo-1"),
			flagged(facts.FlagsBootstrap, killed), seal("process-demo-1"), first},
		{"one whose Pod came after another one on its volume", flagged(facts.FlagsBootstrap, nil), seal("process-demo-1"),
			flagged(facts.FlagsBootstrap, nil).edit(1, func(r *facts.Replica) { r.Volume.Created = now.Add(-2 * time.Hour) }),
			seal("process-demo-1"), first},
		{"one that joined, and copied", flagged(facts.FlagsBootstrap, nil), seal("process-demo-1"),
			flagged(facts.FlagsJoin, nil), seal("process-demo-1"), first},
		{"one of which nothing says how it started", flagged(facts.FlagsBootstrap, nil), seal("process-demo-1"),
			flagged(facts.FlagsNone, nil), seal("process-demo-1"), first},
		{"the one member that is left of two", allStarted(1).edit(0, as("demo-1")), call,
			settledWorld(2).edit(1, startedAnew), call, unknown},
		{"a vote for a copy of what only the leader holds", hashing(joinedJustNow(3), 7, 7, 0), vote,
			hashing(joinedJustNow(3), 7, 0, 0), vote, leaders},
		{"a vote for a copy of the leader's, which nothing is known of", joinedJustNow(3).edit(3, readyFor(time.Hour)), vote,
			hashing(joinedJustNow(3), 0, 7, 7), vote, leaders},
		{"a label before that", settledWorld(3).edit(1, unlabelledOld), label, again, label,
			"the copy of demo-1 was not compared"},
		{"clients that are led away while all others are not compared either", settledWorld(3).edit(1, startedAnew),
			away, allStarted(3), away, "the copy of demo-1 is not compared yet"},
	}
}

// as gives the only member another name, for a change that names it.
func as(name string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Name, r.Pod.UID, r.Pod.Process = name, "pod-"+name, "process-again-"+name
	}
}

func TestNoClientIsLedToWhatIsNotCompared(t *testing.T) {
	for _, row := range compareRows() {
		for _, seal := range sealsOf(row) {
			r := row.world.Current.Find(seal.Pod.Name)
			if seal.Role == facts.RoleVoter && seal.Process != r.Pod.Process {
				t.Errorf("%s: %+v", row.name, seal)
			}
		}
	}
}

func sealsOf(r row) []changes.Seal {
	seals, _ := Decide(r.world.Observation).Change.(changes.SealPods)
	return slices.Clone(seals.Pods)
}
