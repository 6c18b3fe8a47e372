package world

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// logged is a settled cluster whose logs lie on volumes of their own.
func logged(seed uint64) *World {
	spec := Spec3([]int{1, 3, 5}[seed%3])
	spec.WAL = facts.WAL{Bytes: 1 << 30, StorageClass: "a"}
	w := New(seed, spec)
	w.Settle(600)
	return w
}

func TestMembersMoveToAnotherVolumeOfTheLogOrToNoneAndNoVoteIsAwayMeanwhile(t *testing.T) {
	asked := []facts.WAL{{}, {Bytes: 1 << 30, StorageClass: "b"}, {Bytes: 1 << 29, StorageClass: "a"}}
	each(t, seeds(6), func(t *testing.T, seed uint64) {
		w := logged(seed)
		w.Spec.WAL = asked[seed%3]
		w.expectMovedWithoutAStop(t, seed)
	})
}

func TestVolumesOfLogsGrowOneAtATimeAndNoMemberMoves(t *testing.T) {
	each(t, seeds(6), func(t *testing.T, seed uint64) {
		w := logged(seed)
		w.Spec.WAL.Bytes = 2 << 30
		w.expectMoved(t, seed)
		if count(w.Log, "ExpandVolume") != w.Spec.Size || count(w.Log, "RemoveMember") > 0 {
			t.Fatalf("seed %d: %d grew\n%s", seed, count(w.Log, "ExpandVolume"), firstStory(t, w))
		}
	})
}

func TestMembersGetVolumesForTheirLogsAndWhatIsPutBackMidwayLeadsBack(t *testing.T) {
	each(t, seeds(12), func(t *testing.T, seed uint64) {
		w := New(seed, Spec3([]int{1, 3, 5}[seed%3]))
		w.Settle(600)
		was := w.Spec
		w.Spec.WAL = facts.WAL{Bytes: 1 << 30}
		for range 17 * seed {
			w.Advance()
			w.Pass()
		}
		if seed%2 == 0 {
			w.Spec = was
		}
		w.expectMoved(t, seed)
	})
}

func TestAMemberWhoseLogIsGoneIsReplacedAndNothingIsLost(t *testing.T) {
	each(t, seeds(12), func(t *testing.T, seed uint64) {
		w := logged(3*seed + 1) // of three members
		name := w.oneOf("member", sortedKeys(w.objects.pods))
		w.LoseWAL(name)
		if seed%2 == 0 { // its Pod stops, and the claim goes
			w.DeletePod(name)
			for w.objects.volumes[name].Torn == "" {
				w.Advance()
			}
			w.RemakeWAL(name)
		}
		d, rests := w.Settle(4000)
		isMember := w.written().hasVoter(name)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || isMember {
			t.Fatalf("seed %d: %+v %v, %s is a member: %v\n%s", seed, d, w.Violations, name, isMember, firstStory(t, w))
		}
		if slices.ContainsFunc(w.Log, func(line string) bool {
			return strings.Contains(line, "StartPods") && strings.Contains(line, name+" ") && strings.Contains(line, "an empty log")
		}) {
			t.Fatalf("seed %d: %s was started on half of its volume\n%s", seed, name, firstStory(t, w))
		}
	})
}
