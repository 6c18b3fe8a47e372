package world

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// TLS is turned on and off again while clients write. The operator dies after each effect in its turn.
func TestTLSIsTurnedOnAndOffAndMembersReachEachOther(t *testing.T) {
	for _, size := range []int{1, 3, 5} {
		for _, ephemeral := range []bool{false, true} {
			spec := Spec3(size)
			spec.Ephemeral, spec.TLS = ephemeral, false
			w := settledWorld(t, spec)
			for _, mode := range []etcdutil.Transport{etcdutil.TransportPermissive, etcdutil.TransportTLS, etcdutil.TransportPermissive,
				etcdutil.TransportPlain, etcdutil.TransportTLS, etcdutil.TransportPlain} {
				w.askForTLS(mode)
				for range 1000 {
					w.Advance()
					w.take(w.Observe(), 1+w.chance(3, "effects", ""))
				}
				if d, _ := w.Settle(600); d.Verdict != plan.Settled || len(w.Violations) > 0 {
					t.Fatalf("%d members, ephemeral %v, mode %q: %s: %s\n%s", size, ephemeral, mode, d.Verdict, d.Message, firstStory(t, w))
				}
			}
		}
	}
}

func TestATurnOfTLSIsCalledOffAtEachOfItsSteps(t *testing.T) {
	for _, way := range [][2]etcdutil.Transport{{etcdutil.TransportPlain, etcdutil.TransportTLS}, {etcdutil.TransportTLS, etcdutil.TransportPlain}} {
		for n := 1; ; n++ {
			spec := Spec3(3)
			spec.TLS = way[0].HasCertificates()
			w := settledWorld(t, spec)
			w.askForTLS(way[1])
			steps := func() int {
				return len(slices.DeleteFunc(slices.Clone(w.Log), func(line string) bool {
					return !strings.HasPrefix(line, "roll ") && !strings.HasPrefix(line, "peer-url ") && !strings.HasPrefix(line, "scaffold ")
				}))
			}
			begun := steps()
			d := plan.Decision{}
			for range 1000 {
				w.Advance()
				if d = w.Pass(); steps() >= begun+n || d.Verdict == plan.Settled {
					break
				}
			}
			if d.Verdict == plan.Settled && steps() < begun+n {
				if n < 10 {
					t.Fatalf("there were only %d steps to %q\n%s", n, way[1], firstStory(t, w))
				}
				break
			}
			w.askForTLS(way[0])
			if d, _ := w.Settle(2000); d.Verdict != plan.Settled || len(w.Violations) > 0 {
				t.Fatalf("to %q, called off after %d steps: %s: %s\n%s", way[1], n, d.Verdict, d.Message, firstStory(t, w))
			}
		}
	}
}

// No member can list one otherwise while all are down, so none may come back to listen otherwise.
func TestATurnOfTLSThatIsPutToSleepAtEachOfItsStepsWakesAsAClusterAlthoughPodsAreRefused(t *testing.T) {
	for _, way := range [][2]etcdutil.Transport{{etcdutil.TransportPlain, etcdutil.TransportTLS}, {etcdutil.TransportTLS, etcdutil.TransportPlain}} {
		for passes := range 40 {
			spec := Spec3(3)
			spec.TLS = way[0].HasCertificates()
			w := settledWorld(t, spec)
			w.askForTLS(way[1])
			goOn := func(n int) {
				for range n {
					w.Advance()
					w.Pass()
				}
			}
			goOn(passes)
			w.Sleep()
			w.Settle(600)
			w.Refuse(kindPod, true)
			w.Spec.Size = 3
			goOn(40)
			w.Refuse(kindPod, false)
			if d, _ := w.Settle(2000); d.Verdict != plan.Settled || len(w.Violations) > 0 {
				t.Fatalf("to %q, asleep after %d passes: %s: %s\n%s", way[1], passes, d.Verdict, d.Message, firstStory(t, w))
			}
		}
	}
}

// A few of the stories that the soak plays more of.
func TestNoStoryOfTLSThatIsTurnedCutsAMemberOff(t *testing.T) {
	for _, name := range []string{"turned-tls", "turned-tls-and-more"} {
		k, _ := kindOf(name)
		for s := *first; s < *first+uint64(6**times); s++ {
			report(t, k, s, k.tell(s, nil).w)
		}
	}
}
