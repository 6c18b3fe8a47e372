package world

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// The budget asks for a quorum at each moment: while one is silent, removed, followed by a learner, and by a voter. And the
// drain is not held for longer. The silent member's own node is drained as well.
func TestADrainBesideASilentMemberWaitsForItsSuccessorAndThenGoesOn(t *testing.T) {
	each(t, []int{3, 5}, func(t *testing.T, size int) {
		each(t, moments(20), func(t *testing.T, seed uint64) {
			spec := Spec3(size)
			spec.ReplaceAfter = time.Minute
			w := New(seed, spec)
			w.Settle(1500)
			w.Suffer(Hazards{Drains: true})
			for _, name := range sortedKeys(w.objects.pods) {
				w.drained = append(w.drained, w.objects.pods[name].UID)
			}
			w.CutOff("demo-1")
			w.Freeze("demo-1")
			drained := len(w.drained)
			for range 1500 {
				w.Advance()
				w.Pass()
				w.TryDrain()
			}
			for _, p := range w.objects.pods {
				for _, uid := range w.drained[:drained] {
					if p.UID == uid && !p.Terminating {
						t.Errorf("a drain waits for ever\n%s", firstStory(t, w))
					}
				}
			}
			w.Reconnect()
			w.Cure()
			if d, rests := w.Settle(3000); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
				t.Errorf("size %d: %+v %v\n%s", size, d, w.Violations, firstStory(t, w))
			}
		})
	})
}
