package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// closed is a cluster whose next window of maintenance opens in an hour.
func closed(o scene) scene {
	return desire(o, func(d *facts.Desired) {
		d.Window = facts.Window{IsClosed: true, Next: now.Add(time.Hour)}
	})
}

// opened is the same cluster while one is open.
func opened(o scene) scene {
	return desire(o, func(d *facts.Desired) {
		d.Window = facts.Window{Until: now.Add(time.Hour), Next: now.Add(24 * time.Hour)}
	})
}

const opensAt = "once the next window of maintenance opens, Tuesday 2030-01-01 13:00 UTC: "

// windowRows are clusters with spec.maintenance.window: what waits for it, and what never does.
func windowRows() []row {
	rows := append(windowsOfRolls(), windowsOfRepairs()...)
	return append(rows, windowsOfUpkeep()...)
}

func windowsOfRolls() []row {
	three := settledWorld(3)
	changed := wanting(three, other)
	wide := few
	wide.MemoryBytes = 1 << 30
	narrow := many
	narrow.MemoryBytes = 1 << 29
	withAmounts := func(has, asked facts.Settings) scene {
		o := wanting(three, asked)
		for i := range 3 {
			o = o.edit(i, func(r *facts.Replica) { r.Pod.Settings, r.Volume.Settings = has, has })
		}
		return o
	}
	return []row{
		{"a settled cluster waits for no window", closed(three), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a change of the spec waits for the window", closed(changed), Wait, "maintenance-window", facts.ReasonWindow, "",
			opensAt + "demo-0, demo-1, demo-2. To open one now, set the annotation etcdsteward.dev/maintenance"},
		{"and begins while one is open", opened(changed), Act, "roll", "", "WriteSettings", "demo-2"},
		{"a member that is to be restarted, and was not, waits for the next window",
			closed(changed.edit(2, func(r *facts.Replica) { r.Volume.Settings = other })), Wait, "maintenance-window",
			facts.ReasonWindow, "", opensAt + "demo-0, demo-1, demo-2"},
		{"one that stopped starts with what it stopped for",
			closed(changed.edit(2, func(r *facts.Replica) { r.Volume.Settings, r.Pod = other, nil })), Act, "pods", "",
			"StartPods", "demo-2"},
		{"then the next member waits", closed(changed.edit(2, rolled)), Wait, "maintenance-window", facts.ReasonWindow, "",
			opensAt + "demo-0, demo-1."},
		{"another version waits as well, where minors are mixed", closed(wanting(three.edit(2, inNewer(settings.Version)),
			newer)), Wait, "maintenance-window", facts.ReasonWindow, "", opensAt + "demo-0, demo-1."},
		{"a downgrade is not enabled before the window", closed(needing(etcdutil.NeedDowngrade, settings.Version)), Wait,
			"maintenance-window", facts.ReasonWindow, "", "on the way to etcd"},
		{"nor are entries added for the next minor", closed(covered(needing(etcdutil.NeedCover, settings.Version))), Wait,
			"maintenance-window", facts.ReasonWindow, "", "on the way to etcd"},
		{"more memory comes at once, where no process ends for it", closed(withAmounts(narrow, wide)), Act, "resize", "",
			"WriteSettings", "demo-2"},
		{"less memory may end one, and waits", closed(withAmounts(wide, narrow)), Wait, "maintenance-window", facts.ReasonWindow, "",
			opensAt + "demo-0, demo-1, demo-2"},
		{"so does a first limit of memory", closed(withAmounts(few, narrow)), Wait, "maintenance-window", facts.ReasonWindow, "", opensAt},
		{"an ephemeral member gets no successor before the window", closed(inMemory(changed)), Wait, "maintenance-window",
			facts.ReasonWindow, "", opensAt},
		{"a successor that came takes the place of its ephemeral member", closed(inMemory(changed.with(newcomer(3)))).budgeting(3), Act,
			"shrink", "", "LabelRole", "demo-2"},
	}
}

// withSidecar gives a member a sidecar that is not ready, and that the spec does not ask for.
func withSidecar(waiting string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Pod.Settings.Sidecars, r.Volume.Settings.Sidecars = "bad", "bad"
		r.Pod.HeldUnready, r.Pod.Sidecars = true, []facts.Sidecar{{Name: "proxy", Waiting: waiting}}
	}
}

func windowsOfRepairs() []row {
	three := settledWorld(3)
	changed := wanting(three, other)
	return []row{
		{"the bootstrap waits for no window", closed(notBootstrapped(3)), Act, "birth-record", "", "BeginBootstrap", ""},
		{"a member that lost its data is replaced at once", closed(changed.edit(1, noData)), Act, "replace", "",
			"RemoveMember", "demo-1"},
		{"a Pod that is gone comes back", closed(three.edit(1, func(r *facts.Replica) { r.Pod, r.Answer = nil, nil })), Act, "pods", "", "StartPods", "demo-1"},
		{"so does that of a member whose successor is on its way", closed(three.edit(1, askedToGo).with(learner(3)).promising(3).edit(1, noPod)),
			Act, "pods", "", "StartPods", "demo-1"},
		{"another size waits for no window", closed(desire(three, func(d *facts.Desired) { d.Size = 5 })), Act, "grow", "",
			"PrepareMember", "spec.size is 5"},
		{"nor does a smaller one, with its leader", closed(desire(settledWorld(5), func(d *facts.Desired) { d.Size = 3 })),
			Act, "shrink", "", "LabelRole", "demo-4"},
		{"a corrected spec waits for no window, where a member does not serve",
			closed(wanting(three.edit(2, rolled).edit(2, deadFor(3*time.Minute)), settings)), Act, "roll", "",
			"WriteSettings", "demo-2"},
		{"but one that was silent for a moment keeps what it has",
			closed(changed.edit(2, deadFor(time.Second))), Wait, "member-health", facts.ReasonNotReady, "", "it is starting"},
		{"and so does one that only the operator does not reach",
			closed(changed.edit(2, ledAway).edit(2, func(r *facts.Replica) { r.Answer, r.Pod.ReadySince = nil, now.Add(-time.Hour) })),
			Refuse, "member-health", facts.ReasonNotReady, "", "Look for what keeps the operator from its client port"},
		{"nor do other sidecars, where one cannot run and keeps its member unready",
			closed(changed.edit(2, withSidecar("CrashLoopBackOff"))), Act, "roll", "", "WriteSettings", "demo-2"},
		{"but where one is unready for a moment its member keeps what it has", closed(changed.edit(2, withSidecar(""))), Wait,
			"member-health", facts.ReasonSidecar, "", "demo-2"},
		{"while an alarm stands, a larger quota waits for no window",
			closed(wanting(raising(three, 90, noSpace), larger)), Act, "roll", "", "WriteSettings", "demo-2"},
	}
}

func windowsOfUpkeep() []row {
	three := storing(settledWorld(3), 400, 100)
	scheduled := desire(three, func(d *facts.Desired) { d.Upkeep.Scheduled = now.Add(-time.Hour) })
	share := desire(three, func(d *facts.Desired) { d.Upkeep.Reclaimable = 75 })
	asked := askingToDefrag(three, time.Minute)
	return []row{
		{"a defragmentation by the schedule waits for the window", closed(scheduled), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"and begins once one is open", opened(scheduled), Act, "defragment", "", "LabelRole", "demo-2"},
		{"one by a share waits as well", closed(share), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"one that a person asked for does not", closed(asked), Act, "defragment", "", "LabelRole", "demo-2"},
		{"nor does one that ends an alarm", closed(storing(raising(three, 90, noSpace), 2048, 100)), Act, "defragment", "",
			"LabelRole", "demo-2"},
		{"one that is under way ends", closed(scheduled.edit(2, ledAway).edit(2, busy)), Wait, "defragment",
			facts.ReasonDefragment, "", "answers nothing meanwhile"},
	}
}

// Nothing looks at a cluster each second for a week, and it goes on when the window opens.
func TestWhatWaitsForAWindowIsLookedAtWhenItOpensAndNoMoreThanASettledCluster(t *testing.T) {
	for until, want := range map[time.Duration]time.Duration{
		time.Hour: recheckSettled, 7 * time.Second: 7 * time.Second, time.Millisecond: recheckWait,
	} {
		o := closed(wanting(settledWorld(3), other))
		o.Desired.Window.Next = now.Add(until)
		if d := Decide(o.Observation); d.Recheck != want {
			t.Errorf("%s before it opens: %s", until, d.Recheck)
		}
	}
	beside := closed(wanting(settledWorld(3).edit(1, deadFor(time.Second)), other))
	if d := Decide(beside.Observation); d.Recheck != recheckWait {
		t.Errorf("beside a member that is not well: %s", d.Recheck)
	}
}

// While members wait nothing is overdue, however long that is: no condition and no alert tells of a fault.
func TestWhatWaitsForAWindowIsNoFault(t *testing.T) {
	down := needing(etcdutil.NeedDowngrade, settings.Version).edit(2, readyFor(time.Hour))
	down.Desired.Target = older.Version
	if d := Decide(down.Observation); d.Verdict != Act {
		t.Errorf("without a window: %s", d.Message)
	}
	if d := Decide(closed(down).Observation); d.Overdue || d.NeedsHuman || d.Verdict != Wait || len(d.Trace.Yielded()) != 1 {
		t.Errorf("%s\n%s", d.Verdict, d.Trace)
	}
}

// A member that is not well, and what else is left to do, is told before what waits for its window.
func TestAWindowHidesNothing(t *testing.T) {
	o := closed(wanting(settledWorld(3).edit(1, deadFor(time.Second)), other))
	if d := Decide(o.Observation); d.Rule != "member-health" || len(d.Trace.Yielded()) != 2 {
		t.Errorf("%s: %s\n%s", d.Rule, d.Message, d.Trace)
	}
}
