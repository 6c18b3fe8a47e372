package world

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// settledAt is a cluster that serves, with volumes of its own.
func settledAt(t *testing.T, seed uint64, size int) *World {
	t.Helper()
	w := New(seed, Spec3(size))
	if d, rests := w.Settle(600); !rests || d.Verdict != plan.Settled {
		t.Fatalf("seed %d, size %d: %+v", seed, size, d)
	}
	return w
}

// mustSettle lets the world come to rest, serving.
func mustSettle(t *testing.T, w *World, what string) {
	t.Helper()
	d, rests := w.Settle(2000)
	if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 ||
		len(w.Observe().Current.HealthyVoters()) != w.Spec.Size {
		t.Fatalf("%s: rests=%v %+v %v\n%s", what, rests, d, w.Violations, firstStory(t, w))
	}
}

func TestAClusterOfEachSizeIsRestoredInPlaceAndKeepsItsOldVolumes(t *testing.T) {
	each(t, []int{1, 3, 5}, func(t *testing.T, size int) {
		w := settledAt(t, uint64(size), size)
		w.Ask(record.SourceBackup, "", true)
		mustSettle(t, w, fmt.Sprintf("size %d", size))
		if c := w.clusters[w.bootstrapped]; c == nil || !strings.HasPrefix(c.from, "sha of ") {
			t.Fatalf("size %d: the cluster does not hold the backup\n%s", size, firstStory(t, w))
		}
		if o := w.Observe(); len(o.FormerMembers()) != size || len(w.objects.restores) > 0 ||
			w.objects.preflight != nil {
			t.Fatalf("size %d: %d old volumes\n%s", size, len(o.FormerMembers()), firstStory(t, w))
		}
		w.GiveUpOld()
		mustSettle(t, w, fmt.Sprintf("size %d, the old volumes given up", size))
		if o := w.Observe(); len(o.FormerMembers()) != 0 {
			t.Fatalf("size %d: old volumes are left\n%s", size, firstStory(t, w))
		}
	})
}

func TestNoMemberIsStoppedForARestoreWhileOneIsSaidToBeOfAnotherIncarnation(t *testing.T) {
	w := settledAt(t, 1, 3)
	incarnation := w.objects.volumes["demo-1"].Incarnation
	w.EditIncarnation("demo-1")
	w.Ask(record.SourceBackup, "", true)
	if d, _ := w.Settle(600); d.Reason != facts.ReasonRestoreHeld || w.health().up != 3 {
		t.Fatalf("%s: %s\n%s", d.Rule, d.Message, firstStory(t, w))
	}
	v := w.objects.volumes["demo-1"]
	v.Incarnation = incarnation
	w.objects.volumes["demo-1"] = v
	mustSettle(t, w, "a cluster whose label was put back")
	if w.objects.bootstrap.Incarnation == incarnation {
		t.Errorf("it was not restored\n%s", firstStory(t, w))
	}
}

func TestAClusterCanBeRestoredAgainAndAgain(t *testing.T) {
	w := settledAt(t, 5, 3)
	for i := range 4 {
		w.Ask(record.SourceBackup, "", true)
		mustSettle(t, w, fmt.Sprintf("restore %d", i))
	}
	if n := len(w.Observe().Current.Bootstrap.Former); n != 4 {
		t.Fatalf("%d lives ended", n)
	}
}

func TestALostQuorumIsRebuiltFromASurvivorAndGrowsBack(t *testing.T) {
	each(t, []int{3, 5}, func(t *testing.T, size int) {
		w := settledAt(t, uint64(size), size)
		w.write()
		w.loseMajority()
		for range 200 {
			w.Advance()
			w.Pass()
		}
		survivor := plan.EvidenceOf(w.Observe())
		last := survivor.Members[len(survivor.Members)-1]
		if survivor.Quorum != plan.QuorumLost || last.State != plan.MemberAnswers {
			t.Fatalf("%+v", survivor)
		}
		w.Ask(record.SourceSurvivor, last.Name, true)
		mustSettle(t, w, fmt.Sprintf("size %d", size))
		if c := w.clusters[w.bootstrapped]; !strings.HasPrefix(c.from, "survivor ") {
			t.Fatalf("the cluster holds %q", c.from)
		}
	})
}

func TestASurvivorThatWasRestartedIsReadOnItsVolume(t *testing.T) {
	each(t, seeds(10), func(t *testing.T, seed uint64) {
		w := settledAt(t, seed+1, 3)
		w.write()
		if seed%2 == 0 {
			w.loseMajority()
		} else {
			w.loseMember("demo-0")
			w.loseMember("demo-1")
			for len(w.objects.pods) > 1 {
				w.Advance()
			}
		}
		w.KillContainer("demo-2")
		for range 30 {
			w.Advance()
			w.Pass()
		}
		if e := plan.EvidenceOf(w.Observe()); e.Quorum != plan.QuorumLost || e.Members[2].State != plan.MemberSilent {
			t.Fatalf("%+v", e)
		}
		writes := w.clusters[w.bootstrapped].writes
		w.Ask(record.SourceSurvivor, "demo-2", true)
		mustSettle(t, w, fmt.Sprintf("seed %d", seed))
		if c := w.clusters[w.bootstrapped]; !strings.HasPrefix(c.from, "survivor ") ||
			!strings.HasSuffix(c.from, fmt.Sprintf("/%d", writes)) || count(w.Log, "MarkFlushed") != 1 {
			t.Fatalf("seed %d: the cluster holds %q, and there were %d writes\n%s", seed, c.from, writes,
				firstStory(t, w))
		}
	})
}

func TestWhereEverythingIsLostTheClusterBeginsEmptyOnApproval(t *testing.T) {
	each(t, []bool{false, true}, func(t *testing.T, ephemeral bool) {
		spec := Spec3(3)
		spec.Ephemeral = ephemeral
		w := New(3, spec)
		w.Settle(600)
		for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
			w.loseMember(name)
		}
		for range 100 {
			w.Advance()
			w.Pass()
		}
		if d := w.Pass(); d.Rule != "quorum-lost" {
			t.Fatalf("%+v", d)
		}
		w.Ask(record.SourceEmpty, "", true)
		mustSettle(t, w, fmt.Sprintf("ephemeral %v", ephemeral))
	})
}

func TestARestoreIsCalledOffAtAnyMomentBeforeTheMoveAndNothingIsLost(t *testing.T) {
	calledOff := 0
	each(t, moments(60), func(t *testing.T, seed uint64) {
		w := settledAt(t, seed+1, 3)
		before, bootstrapped := len(w.Observe().Current.Members), w.bootstrapped
		w.Ask(record.SourceBackup, "", true)
		for range seed / 2 {
			w.Advance()
			w.Pass()
		}
		if len(w.moves) > 0 {
			return
		}
		calledOff++
		if seed%2 == 0 {
			w.Withdraw()
		} else {
			w.TakeBack()
		}
		mustSettle(t, w, fmt.Sprintf("seed %d", seed))
		if o := w.Observe(); w.bootstrapped != bootstrapped || len(o.Current.Members) != before || len(o.Next.Members)+
			len(o.FormerMembers()) > 0 || len(w.objects.volumes) != 3 {
			t.Fatalf("seed %d: something is left\n%s", seed, firstStory(t, w))
		}
	})
	if *every == 1 && calledOff < 20 {
		t.Fatalf("%d were called off, which proves nothing", calledOff)
	}
}

// Whoever deletes the cluster and makes it again finds the old incarnation, or the new one, or a refusal that names
// what is there; never an empty cluster. The EtcdRestore that was approved is not carried out on it.
func TestAClusterThatIsMadeAgainInTheMiddleOfARestoreLosesNothing(t *testing.T) {
	found := map[string]int{}
	each(t, moments(120), func(t *testing.T, seed uint64) {
		w := settledAt(t, seed+1, 3)
		old := w.bootstrapped
		w.Ask(record.SourceBackup, "", true)
		for range seed {
			w.Advance()
			w.take(w.ObserveStale(), 1+int(seed%3))
		}
		w.Recreate()
		request := w.objects.requests[0].ID
		moves := w.moves[request]
		d, rests := w.Settle(2000)
		switch {
		case !rests || len(w.Violations) > 0 || w.moves[request] != moves:
			t.Fatalf("seed %d: rests=%v %+v %v\n%s", seed, rests, d, w.Violations, firstStory(t, w))
		case d.Reason == facts.ReasonRetainedData:
			found["refused"]++
			w.unmark(seed%2 == 0)
			mustSettle(t, w, fmt.Sprintf("seed %d, the marks taken off", seed))
			if w.bootstrapped != old {
				t.Fatalf("seed %d: another cluster came of it\n%s", seed, firstStory(t, w))
			}
		case d.Verdict == plan.Settled && w.bootstrapped == old:
			found["old"]++
		case d.Verdict == plan.Settled && strings.HasPrefix(w.clusters[w.bootstrapped].from, "sha of "):
			found["new"]++
		default:
			t.Fatalf("seed %d: %+v\n%s", seed, d, firstStory(t, w))
		}
	})
	if *every == 1 && (found["refused"] == 0 || found["old"] == 0 || found["new"] == 0) {
		t.Fatalf("%v", found)
	}
}

// unmark is somebody who goes on with what a restore had switched over from, and deletes what it moved to, or leaves
// it.
func (w *World) unmark(deletes bool) {
	for name, v := range w.objects.volumes {
		v.Terminating = v.Terminating || deletes && v.Superseded == ""
		v.Superseded = ""
		w.objects.volumes[name] = v
	}
}

func TestAMajorityThatCannotBeReachedKeepsTheNextIncarnationFromStarting(t *testing.T) {
	w := settledAt(t, 8, 3)
	w.Ask(record.SourceBackup, "", true)
	for len(w.moves) == 0 {
		w.Advance()
		w.Pass()
	}
	w.CutOff("demo-0")
	w.CutOff("demo-1")
	var d plan.Decision
	for range 600 {
		w.Advance()
		d = w.Pass()
	}
	if d.Rule != "restore-fence" || d.Verdict != plan.Refuse || !d.NeedsHuman || len(w.Violations) > 0 {
		t.Fatalf("%+v %v\n%s", d, w.Violations, firstStory(t, w))
	}
	w.Reconnect()
	mustSettle(t, w, "the nodes are back")
}

// The operator dies after each number of effects in turn, in every pass.
func TestARestoreInPlaceGoesOnWhereverTheOperatorDies(t *testing.T) {
	each(t, []int{1, 3}, func(t *testing.T, size int) {
		each(t, []int{1, 2, 3, 4}, func(t *testing.T, effects int) {
			w := settledAt(t, uint64(10*size+effects), size)
			w.Ask(record.SourceBackup, "", true)
			for range 600 {
				w.Advance()
				w.take(w.ObserveStale(), effects)
			}
			mustSettle(t, w, fmt.Sprintf("size %d, %d effects", size, effects))
			if len(w.moves) != 1 {
				t.Fatalf("size %d, %d effects: %v\n%s", size, effects, w.moves, firstStory(t, w))
			}
		})
	})
}
