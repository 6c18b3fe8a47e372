package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// beganFor is a process of 3.7 that began so long ago, and does not answer.
func beganFor(d time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) {
		inNewer(newer.Version)(r)
		silent(r)
		r.Pod.Created, r.Pod.RunningSince = now.Add(-d), now.Add(-d)
	}
}

// withStarted is a cluster to which a learner of 3.7 was added, whose process began so long ago.
func withStarted(d time.Duration) scene {
	return wanting(desire(settledWorld(3).edit(0, inNewer(newer.Version)).edit(1, inNewer(newer.Version)).
		edit(2, inNewer(newer.Version)).with(learner(3)), func(d *facts.Desired) { d.Size = 4 }), newer).
		edit(3, beganFor(d))
}

// withBehind is a cluster of 3.7 whose last voter, of this version, answers and has applied so many entries less.
func withBehind(entries uint64, version etcdutil.Version) scene {
	return wanting(settledWorld(3).edit(0, inNewer(newer.Version)).edit(1, inNewer(newer.Version)), newer).
		edit(0, further).edit(1, further).
		edit(2, func(r *facts.Replica) {
			inNewer(newer.Version)(r)
			r.Pod.Settings.Version = version
			r.Answer.Applied += 1001 - entries
		})
}

func further(r *facts.Replica) { r.Answer.Applied += 1001 }

func TestAnEntryIsAddedForAMemberOf37ThatMayWaitForOne(t *testing.T) {
	for _, row := range []struct {
		name  string
		world scene
		adds  bool
	}{
		{"not before it had time to start", withStarted(1900 * time.Millisecond), false},
		{"then one", withStarted(2 * time.Second), true},
		{"and one in the next pass", withStarted(3 * time.Second), true},
		{"and after twice as long", withStarted(5 * time.Second), true},
		{"and not without a pause", withStarted(7 * time.Second), false},
		{"and after twice as long again", withStarted(9 * time.Second), true},
		{"as long as it may take to join", withStarted(513 * time.Second), true},
		{"and not one that takes longer", withStarted(1025 * time.Second), false},
		{"nor one of 3.6", withStarted(3*time.Second).edit(3, func(r *facts.Replica) {
			r.Pod.Settings.Version = etcdutil.Version{Major: 3, Minor: 6, Patch: 16}
		}), false},
		{"nor one that does not run", withStarted(3*time.Second).edit(3, func(r *facts.Replica) {
			r.Pod.Running = false
		}), false},
		{"nor where no member leads", withStarted(3 * time.Second).blind(), false},
		{"also for a voter that starts again, far behind",
			wanting(settledWorld(3).edit(0, inNewer(newer.Version)).edit(1, inNewer(newer.Version)), newer).
				edit(2, beganFor(3*time.Second)), true},
		{"and for one that answers and stays far behind", withBehind(1001, newer.Version), true},
		{"and not for one that is close", withBehind(1000, newer.Version), false},
		{"nor for one of 3.6 that is far behind", withBehind(1001, settings.Version), false},
	} {
		d := Decide(row.world.Observation)
		change, adds := d.Change.(changes.AppendEntries)
		if adds != row.adds || adds && change.Until != 0 {
			t.Errorf("%s: %s by %s: %s", row.name, changes.KindOf(d.Change), d.Rule, d.Message)
		}
	}
}
