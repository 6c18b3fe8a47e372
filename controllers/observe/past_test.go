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
		if got := p.remember(demo, moment{revision: int64(100 + second), isFull: false}, 5*time.Second).Reached; got != want {
			t.Errorf("after %d s, at revision %d: 5 s ago it was at %d, want %d", second, 100+second, got, want)
		}
		now = now.Add(time.Second)
	}
	if kept := len(p.pasts[demo]); kept > momentsKept+2 {
		t.Errorf("%d moments are kept", kept)
	}
	p.Forget(demo)
	if got := p.remember(demo, moment{revision: 200, isFull: false}, 5*time.Second).Reached; got != 0 {
		t.Errorf("a cluster that is gone is remembered at %d", got)
	}
}

func TestAClusterThatIsSeenOftenTakesLittleMemory(t *testing.T) {
	p, now := NewPinger(nil), time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	demo := types.NamespacedName{Namespace: "prod", Name: "demo"}
	for range 10_000 {
		p.remember(demo, moment{revision: 1, isFull: false}, 5*time.Minute)
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
	p.remember(demo, moment{revision: 5000, isFull: false}, time.Second)
	now = now.Add(time.Minute)
	if got := p.remember(demo, moment{revision: 1, isFull: false}, time.Second).Reached; got != 0 {
		t.Errorf("it is at 1, and was at %d", got)
	}
}

func TestWithNoHistoryToKeepAllOfItIsOld(t *testing.T) {
	if got := NewPinger(nil).remember(types.NamespacedName{Name: "demo"}, moment{revision: 7, isFull: false}, 0).Reached; got != 7 {
		t.Errorf("got %d", got)
	}
}

func TestWhatCameWhileAnAlarmStoodIsToldFromWhatFilledTheDatabase(t *testing.T) {
	p, now := NewPinger(nil), time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	demo := types.NamespacedName{Namespace: "prod", Name: "demo"}
	for second := range 12 {
		known := p.remember(demo, moment{revision: int64(100 + second), isFull: second >= 3}, 5*time.Second)
		if want := second >= 8; known.IsFullSince != want {
			t.Errorf("after %d s, and %d s of the alarm: %v", second, second-3, known.IsFullSince)
		}
		now = now.Add(time.Second)
	}
}

func TestACompactionThatIsUnderWayIsToldByWhatIsInUse(t *testing.T) {
	for _, keep := range []time.Duration{0, 5 * time.Minute, time.Hour} {
		p, now := NewPinger(nil), time.Unix(1000, 0)
		p.now = func() time.Time { return now }
		demo := types.NamespacedName{Namespace: "prod", Name: "demo"}
		for second := range 90 {
			inUse := int64(100 - min(second, 40)) // it is freed for 40 s
			seen := moment{revision: 7, isFull: true, inUse: inUse}
			if got, want := p.remember(demo, seen, keep).IsSteady, second >= 70; got != want {
				t.Errorf("of %s, after %d s: %v", keep, second, got)
			}
			now = now.Add(time.Second)
		}
	}
}
