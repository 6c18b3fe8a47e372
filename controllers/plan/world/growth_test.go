package world

import "testing"

func TestFullDisksThatTookTheQuorumAreCuredByALargerSize(t *testing.T) {
	each(t, seeds(12), func(t *testing.T, seed uint64) {
		w := New(seed, Spec3([]int{1, 3, 5}[seed%3]))
		w.Settle(600)
		names := sortedKeys(w.objects.pods)
		full := names[:len(names)/2+1]
		if seed%2 == 0 {
			full = names
		}
		for _, name := range full {
			w.FillDisk(name)
		}
		if d, _ := w.Settle(200); d.Verdict != "Refuse" || w.hasQuorum(w.written()) {
			t.Fatalf("seed %d: it serves with full disks, %+v\n%s", seed, d, firstStory(t, w))
		}
		w.Spec.StorageBytes = 12 << 30
		w.expectMoved(t, seed)
		if count(w.Log, "RemoveMember") > 0 {
			t.Fatalf("seed %d: a member was removed\n%s", seed, firstStory(t, w))
		}
	})
}
