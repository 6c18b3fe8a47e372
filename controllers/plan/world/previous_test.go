package world

import (
	"fmt"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// failedAt is a cluster that switched over to restored members which lost their volumes before they served, and what it
// was before.
func failedAt(t *testing.T, seed uint64, size int) (*World, *cluster) {
	t.Helper()
	w := settledAt(t, seed, size)
	old := w.clusters[w.bootstrapped]
	w.Ask(record.SourceBackup, "", true)
	for range 600 {
		if w.write(); len(w.moves) > 0 {
			break
		}
		w.Advance()
		w.Pass()
	}
	for _, name := range w.objects.bootstrap.Names[:etcdutil.Quorum(size)] {
		w.DeleteVolume(name)
	}
	for range 600 {
		if w.Advance(); plan.WayBack(w.Observe()) != "" {
			return w, old
		}
		w.Pass()
	}
	t.Fatalf("seed %d: there is no way back\n%s", seed, firstStory(t, w))
	return nil, nil
}

// mustBeBack expects the cluster that there was, with all that clients wrote there, and the volumes that it went back
// from.
func mustBeBack(t *testing.T, w *World, old *cluster, what string) {
	t.Helper()
	writes := old.writes
	mustSettle(t, w, what)
	if w.bootstrapped != old.id || old.writes < writes || w.objects.bootstrap.ClusterID != old.id {
		t.Fatalf("%s: it is the cluster %s with %d writes, and there were %d in %s\n%s", what, w.bootstrapped,
			w.clusters[w.bootstrapped].writes, writes, old.id, firstStory(t, w))
	}
	for name, v := range w.objects.volumes {
		if isOurs := v.Incarnation == w.objects.bootstrap.Incarnation; isOurs != (v.Superseded == "") {
			t.Fatalf("%s: the volume of %s says %q\n%s", what, name, v.Superseded, firstStory(t, w))
		}
	}
}

func TestAClusterOfEachSizeGoesBackFromWhatNeverServedAndLosesNothing(t *testing.T) {
	each(t, []int{1, 3, 5}, func(t *testing.T, size int) {
		w, old := failedAt(t, uint64(size), size)
		w.Ask(record.SourcePrevious, "", true)
		mustBeBack(t, w, old, fmt.Sprintf("size %d", size))
		w.objects.requests = w.objects.requests[1:]
		w.GiveUpOld()
		mustSettle(t, w, fmt.Sprintf("size %d, what it went back from given up", size))
		if o := w.Observe(); len(o.FormerMembers()) != 0 || len(o.Current.Members) != size {
			t.Fatalf("size %d: volumes are left\n%s", size, firstStory(t, w))
		}
		w.Ask(record.SourceBackup, "", true)
		mustSettle(t, w, fmt.Sprintf("size %d, restored once more", size))
		if w.bootstrapped == old.id {
			t.Fatalf("size %d: it was not restored\n%s", size, firstStory(t, w))
		}
	})
}

// An approval from before the switch-over says nothing of what there is after the way back.
func TestNoApprovalFromBeforeAClusterWentBackCounts(t *testing.T) {
	each(t, []bool{false, true}, func(t *testing.T, recordLost bool) {
		w, old := failedAt(t, 7, 3)
		late := w.objects.requests[0] // approved on the same evidence as the one that was carried out
		late.Name, late.ID = "late", "late"
		w.objects.requests = append(w.objects.requests, late)
		w.Ask(record.SourcePrevious, "", true)
		mustBeBack(t, w, old, "late approvals")
		if recordLost {
			w.DeletePeerService()
			mustBeBack(t, w, old, "late approvals, the record lost")
		}
	})
}

// The operator dies after each number of effects in turn, in every pass, and looks at what was.
func TestAClusterGoesBackWhereverTheOperatorDies(t *testing.T) {
	each(t, []int{1, 3}, func(t *testing.T, size int) {
		each(t, []int{1, 2, 3, 4}, func(t *testing.T, effects int) {
			w, old := failedAt(t, uint64(10*size+effects), size)
			w.Ask(record.SourcePrevious, "", true)
			for range 600 {
				w.Advance()
				w.take(w.ObserveStale(), effects)
			}
			mustBeBack(t, w, old, fmt.Sprintf("size %d, %d effects", size, effects))
			if len(w.moves) != 2 {
				t.Fatalf("size %d, %d effects: %v\n%s", size, effects, w.moves, firstStory(t, w))
			}
		})
	})
}

// At any moment of the way back the record is lost, or the cluster is made again: it is one incarnation or the other,
// or a refusal that names what is there.
func TestAClusterThatLosesItsRecordOnTheWayBackLosesNothingElse(t *testing.T) {
	found := map[string]int{}
	each(t, moments(80), func(t *testing.T, seed uint64) {
		w, old := failedAt(t, seed+1, 3)
		w.Ask(record.SourcePrevious, "", true)
		for range seed / 2 {
			w.Advance()
			w.take(w.ObserveStale(), 1+int(seed%3))
		}
		if seed%2 == 0 {
			w.DeletePeerService()
		} else {
			w.Recreate()
		}
		d, rests := w.Settle(2000)
		switch {
		case !rests || len(w.Violations) > 0:
			t.Fatalf("seed %d: rests=%v %+v %v\n%s", seed, rests, d, w.Violations, firstStory(t, w))
		case d.Reason == facts.ReasonRetainedData || d.Reason == facts.ReasonRecordLost:
			found["refused"]++
		case d.Verdict == plan.Settled && w.bootstrapped == old.id:
			found["old"]++
		default:
			t.Fatalf("seed %d: %+v\n%s", seed, d, firstStory(t, w))
		}
	})
	if *every == 1 && (found["refused"] == 0 || found["old"] == 0) {
		t.Fatalf("%v", found)
	}
}

func TestAClusterDoesNotGoBackFromWhatServes(t *testing.T) {
	w := settledAt(t, 9, 3)
	w.Ask(record.SourceBackup, "", true)
	mustSettle(t, w, "restored")
	restored := w.bootstrapped
	w.Ask(record.SourcePrevious, "", true)
	d, rests := w.Settle(600)
	if !rests || !d.NeedsHuman || d.Rule != "restore-go-back" || w.bootstrapped != restored || len(w.Violations) > 0 {
		t.Fatalf("%v %+v %v\n%s", rests, d, w.Violations, firstStory(t, w))
	}
}

func TestAClusterDoesNotGoBackToDataThatItsMemberSaidIsGone(t *testing.T) {
	w := settledAt(t, 9, 1)
	w.Ask(record.SourceBackup, "", true)
	until(t, w, "a cluster that switched over", func() bool { return len(w.moves) > 0 })
	w.WipeDisk("demo-0")
	until(t, w, "a Pod that is gone", func() bool { return w.objects.pods["demo-0"].UID == "" })
	if way := plan.WayBack(w.Observe()); way != "" {
		t.Errorf("it is told: %s", way)
	}
	w.Ask(record.SourcePrevious, "", true)
	if mustSettle(t, w, "restored"); len(w.moves) != 1 {
		t.Errorf("it went back\n%s", firstStory(t, w))
	}
}
