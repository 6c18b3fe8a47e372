package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestVolumesGetAnotherClassOneAfterTheOtherAndAWrongOneIsTakenBack(t *testing.T) {
	each(t, seeds(12), func(t *testing.T, seed uint64) {
		w := New(seed, Spec3([]int{1, 3, 5}[seed%3]))
		if seed%2 == 0 {
			w.Spec.WAL = facts.WAL{Bytes: 4 << 30}
		}
		w.Settle(600)
		ask := func(class string) {
			w.Spec.Attributes = class
			if !w.Spec.WAL.IsZero() {
				w.Spec.WAL.Attributes = class
			}
		}
		ask(noSuchSpeed)
		if d, _ := w.Settle(200); d.Rule != "modify-volume" || count(w.Log, "ModifyVolume") != 1 {
			t.Fatalf("seed %d: %d were tried, %+v\n%s", seed, count(w.Log, "ModifyVolume"), d, firstStory(t, w))
		}
		ask("fast")
		w.expectMoved(t, seed)
		for _, v := range w.objects.volumes {
			if v.Attributes.Has != "fast" || v.Half.Attributes.Has != w.Spec.WAL.Attributes {
				t.Fatalf("seed %d: %+v and %+v\n%s", seed, v.Attributes, v.Half.Attributes, firstStory(t, w))
			}
		}
		if count(w.Log, "RemoveMember")+count(w.Log, "EvictPod") > 0 {
			t.Fatalf("seed %d: a member was stopped\n%s", seed, firstStory(t, w))
		}
	})
}
