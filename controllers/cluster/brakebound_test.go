package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// livelocks are changes that are made again and again, each by its number.
var livelocks = map[string]func(n int) changes.Change{
	"the same change":     func(int) changes.Change { return changes.SetBudget{MinAvailable: 2} },
	"two changes in turn": func(n int) changes.Change { return changes.SetBudget{MinAvailable: 1 + n%2} },
	"a new name at each time": func(n int) changes.Change {
		return changes.AddLearner{Name: fmt.Sprintf("demo-%d",
			n)}
	},
}

// TestEveryLivelockIsBraked plays what an operator does that is asked for a change in each pass, for an hour.
func TestEveryLivelockIsBraked(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "demo"}
	for name, change := range livelocks {
		for _, size := range []int{1, 3, 7} {
			var (
				b       brake
				now     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
				end     = now.Add(time.Hour)
				o       = facts.Observation{Desired: facts.Desired{Size: size}}
				effects int
				longest time.Duration
			)
			for ; now.Before(end); now = now.Add(50 * time.Millisecond) {
				decision := plan.Decision{Verdict: plan.Act, Rule: "r", Change: change(effects)}
				if rest, _ := b.rest(key, decision.Change, now); rest > 0 {
					longest = max(longest, rest)
					continue
				}
				effects++
				b.applied(key, decision, o, now)
			}
			if most := boundOf(o) + 6 + int(time.Hour/lastBrake); effects > most || longest > lastBrake ||
				longest < lastBrake-time.Second {
				t.Errorf("%s, size %d: %d effects in an hour, more than %d; it waits %s", name, size, effects, most,
					longest)
			}
			b.applied(key, plan.Decision{Verdict: plan.Act, Rule: "r", Change: change(effects)}, o, now)
			b.paused(key, plan.Wait)
			if rest, _ := b.rest(key, changes.Promote{}, now); name != "the same change" && rest == 0 {
				t.Errorf("%s, size %d: a pass that waits lets it go on", name, size)
			}
			b.paused(key, plan.Settled)
			if rest, _ := b.rest(key, change(0), now); rest > 0 {
				t.Errorf("%s, size %d: a cluster at rest waits %s", name, size, rest)
			}
		}
	}
}

func TestACreationARollAndARestoreInARowAreNotBraked(t *testing.T) {
	for _, size := range []int32{1, 3, 7} {
		w := newWorld(t, demo(size))
		key := w.key
		settled := func() bool { // without the pass that finds the cluster at rest, which would end the count
			return w.status().ReadyMembers == size && w.status().UpdatedMembers == size && w.isSettled()
		}
		w.until("it serves", settled)
		w.saved("nightly", 7)
		cluster := w.cluster()
		cluster.Spec.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))}
		cluster.Generation++
		if err := w.kube.Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		w.until("it is rolled", settled)
		w.ask("back", backupNamed("nightly"))
		w.approve("back")
		done, _ := w.operator.brake.Get(key)
		w.until("it is restored", func() bool {
			if now, _ := w.operator.brake.Get(key); now.count > 0 { // the pass that finds it at rest ends the count
				done = now
			}
			return w.isComplete("back")
		})
		bound := boundOf(facts.Observation{Desired: facts.Desired{Size: int(size)}})
		if int(done.count) < 10 || int(done.count) > bound/2 || !done.slowUntil.IsZero() {
			t.Errorf("size %d: %.0f effects of %d", size, done.count, bound)
		}
	}
}

func TestAClusterThatIsBrakedSaysSoUntilItIsAtRest(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.told()
	w.operator.brake.Set(w.key, effects{count: float64(boundOf(facts.Observation{Desired: facts.Desired{Size: 3}})),
		last: w.now})
	w.resize(1)
	w.look()
	if next := w.status().NextStep; next.Rule != report.RuleBrake || next.Reason != report.ReasonTooManyChanges ||
		next.Verdict != string(plan.Wait) {
		t.Fatalf("the next step is %+v", next)
	}
	since := w.status().NextStep.Since
	w.now = w.now.Add(500 * time.Millisecond)
	before := len(w.writes)
	if result := w.look(); len(w.writes) > before || result.RequeueAfter > time.Second {
		t.Errorf("it wrote %q, and looks again in %s", w.writes[before:], result.RequeueAfter)
	}
	for range 3 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if next := w.status().NextStep; next.Rule != report.RuleBrake || next.Since != since {
		t.Errorf("the next step is %+v", next)
	}
	if told := strings.Join(w.told(), "\n"); strings.Count(told, report.ReasonTooManyChanges) != 1 {
		t.Errorf("it told\n%s", told)
	}
	w.settle()
	w.resize(3)
	if w.look(); w.status().NextStep.Rule == report.RuleBrake {
		t.Error("once at rest it is braked still")
	}
}
