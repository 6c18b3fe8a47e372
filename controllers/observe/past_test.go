package observe

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestWhatWasReachedAWhileAgoIsKnownOnlyOfATimeThatWasSeen(t *testing.T) {
	p, now := NewPinger(nil), time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	demo := types.NamespacedName{Namespace: "prod", Name: "demo"}
	for second, want := range []int64{0, 0, 0, 0, 0, 100, 101, 102, 103, 104, 105, 106} {
		if got := p.remember(demo, int64(100+second), 5*time.Second); got != want {
			t.Errorf("after %d s, at revision %d: 5 s ago it was at %d, want %d", second, 100+second, got, want)
		}
		now = now.Add(time.Second)
	}
	if kept := len(p.pasts[demo]); kept > momentsKept+2 {
		t.Errorf("%d moments are kept", kept)
	}
	p.Forget(demo)
	if got := p.remember(demo, 200, 5*time.Second); got != 0 {
		t.Errorf("a cluster that is gone is remembered at %d", got)
	}
}

func TestAClusterThatIsSeenOftenTakesLittleMemory(t *testing.T) {
	p, now := NewPinger(nil), time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	demo := types.NamespacedName{Namespace: "prod", Name: "demo"}
	for range 10_000 {
		p.remember(demo, 1, 5*time.Minute)
		now = now.Add(100 * time.Millisecond)
	}
	if kept := len(p.pasts[demo]); kept < momentsKept/2 || kept > momentsKept+2 {
		t.Errorf("%d moments are kept", kept)
	}
}

func TestAClusterThatBeganAnewHasNoPast(t *testing.T) {
	p, now := NewPinger(nil), time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	demo := types.NamespacedName{Namespace: "prod", Name: "demo"}
	p.remember(demo, 5000, time.Second)
	now = now.Add(time.Minute)
	if got := p.remember(demo, 1, time.Second); got != 0 {
		t.Errorf("it is at 1, and was at %d", got)
	}
}

func TestWithNoHistoryToKeepAllOfItIsOld(t *testing.T) {
	if got := NewPinger(nil).remember(types.NamespacedName{Name: "demo"}, 7, 0); got != 7 {
		t.Errorf("got %d", got)
	}
}
