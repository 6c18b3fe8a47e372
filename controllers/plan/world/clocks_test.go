package world

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// kept are the volumes that are put aside.
func (w *World) kept() (names []string) {
	for _, name := range sortedKeys(w.objects.volumes) {
		if w.objects.volumes[name].kept != facts.NoCause {
			names = append(names, name)
		}
	}
	return names
}

func TestAnswersOfAnotherDayCostNeitherAMemberNorWhatIsKept(t *testing.T) {
	w := New(3, Spec3(3))
	w.Settle(1500)
	w.WipeDisk("demo-1")
	w.KillContainer("demo-1")
	if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled || len(w.kept()) != 1 {
		t.Fatalf("%v are kept: %+v\n%s", w.kept(), d, firstStory(t, w))
	}
	w.Freeze("demo-2")
	for range 60 {
		w.trouble.date = 25 * time.Hour // for one answer after another
		w.Advance()
		w.Pass()
	}
	if len(w.Violations) > 0 || len(w.kept()) != 1 {
		t.Fatalf("%v are kept: %v\n%s", w.kept(), w.Violations, firstStory(t, w))
	}
}
