package world

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestASettledClusterGoesFromOneMinorToTheNextByWayOfAPatchThatMayBeLeft(t *testing.T) {
	each(t, []int{1, 3, 5}, func(t *testing.T, size int) {
		each(t, []bool{false, true}, func(t *testing.T, isEphemeral bool) {
			w := New(uint64(size), ofVersion(size, asked[0], isEphemeral))
			w.Settle(1500)
			w.Spec.Settings.Version = asked[len(asked)-1]
			d, rests := w.Settle(4000)
			if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || !w.allRun(w.Spec.Settings.Version) {
				t.Fatalf("size %d, ephemeral %v: %+v %v\n%s", size, isEphemeral, d, w.Violations, firstStory(t, w))
			}
			if c := w.clusters[w.bootstrapped]; c.version.Minor != 7 {
				t.Errorf("the cluster is of version %s", c.version)
			}
		})
	})
}

func TestAClusterTurnsRoundAtAnyMoment(t *testing.T) {
	each(t, moments(80), func(t *testing.T, seed uint64) {
		turnRound(t, seed, asked[1], asked[len(asked)-1], seed*2)
	})
}

func TestFromEachVersionToEachOtherAClusterTurnsRoundAtAnyMoment(t *testing.T) {
	for i, from := range asked {
		for j, to := range asked {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				each(t, moments(12), func(t *testing.T, moment uint64) {
					turnRound(t, 1000*uint64(i)+100*uint64(j)+moment, from, to, moment*13)
				})
			})
		}
	}
}

// turnRound goes from one version to another, and back after so many steps.
func turnRound(t *testing.T, seed uint64, from, to etcdutil.Version, after uint64) {
	t.Helper()
	w := New(seed+1, ofVersion(3, from, false))
	w.Settle(600)
	w.Spec.Settings.Version = to
	for range after {
		w.Advance()
		w.Pass()
	}
	w.Spec.Settings.Version = from
	d, rests := w.Settle(4000)
	if !rests || len(w.Violations) > 0 || d.Verdict != plan.Settled || !w.allRun(from) {
		t.Fatalf("from %s to %s and back after %d, seed %d: %+v %v\n%s", from, to, after, seed, d, w.Violations,
			firstStory(t, w))
	}
}

func TestASettledClusterGoesFromTheHighestMinorToTheLowest(t *testing.T) {
	each(t, []int{1, 3, 5}, func(t *testing.T, size int) {
		w := New(uint64(size), ofVersion(size, asked[len(asked)-1], false))
		w.Settle(1500)
		w.Spec.Settings.Version = asked[0]
		d, rests := w.Settle(4000)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || !w.allRun(asked[0]) {
			t.Fatalf("size %d: %+v %v\n%s", size, d, w.Violations, firstStory(t, w))
		}
		if c := w.clusters[w.bootstrapped]; c.version.Minor != 5 || !c.downgrade.IsZero() {
			t.Errorf("the cluster is of version %s, with a downgrade to %s", c.version, c.downgrade)
		}
	})
}

func TestAnOnlyMemberWhoseNodeIsDrainedOnItsWayToALowerMinorMovesAndThenGoesDown(t *testing.T) {
	each(t, moments(40), func(t *testing.T, moment uint64) {
		w := New(9*moment+1, ofVersion(1, asked[3], false))
		w.Suffer(Hazards{Drains: true})
		w.Settle(1500)
		w.Spec.Settings.Version = asked[1]
		for range moment {
			w.Advance()
			w.Pass()
		}
		restarts := mentions(w.Log, "Evict the Pod of demo-0")
		w.Drain()
		for range 600 {
			w.Advance()
			w.Pass()
			w.TryDrain()
		}
		if pods := slices.Collect(maps.Values(w.objects.pods)); len(pods) != 1 || slices.Contains(w.drained, pods[0].UID) {
			t.Errorf("%d Pods: the node is not empty\n%s", len(pods), firstStory(t, w))
		}
		if mentions(w.Log, "Evict the Pod of demo-0") > restarts {
			t.Errorf("it was restarted on a node that is drained\n%s", firstStory(t, w))
		}
		w.Uncordon()
		d, rests := w.Settle(4000)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || !w.allRun(asked[1]) {
			t.Fatalf("%+v %v\n%s", d, w.Violations, firstStory(t, w))
		}
	})
}

func TestASettledClusterGoesToThePreReleaseOfTheNextMinorAndBack(t *testing.T) {
	each(t, []int{1, 3, 5}, func(t *testing.T, size int) {
		w := New(uint64(size), ofVersion(size, asked[3], false))
		w.Settle(1500)
		for _, to := range []etcdutil.Version{next, asked[3]} {
			w.Spec.Settings.Version = to
			d, rests := w.Settle(4000)
			if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || !w.allRun(to) {
				t.Fatalf("size %d, to %s: %+v %v\n%s", size, to, d, w.Violations, firstStory(t, w))
			}
			if c := w.clusters[w.bootstrapped]; c.version != to.OfMinor() {
				t.Errorf("the cluster is of version %s", c.version)
			}
		}
	})
}

func TestAClusterTurnsRoundOnItsWayToThePreRelease(t *testing.T) {
	each(t, moments(40), func(t *testing.T, seed uint64) {
		turnRound(t, seed, asked[3], next, seed*3)
		turnRound(t, seed, next, asked[3], seed*3)
	})
}

func TestAClusterOf37ToWhichNoClientWritesGrows(t *testing.T) {
	each(t, []int{1, 3}, func(t *testing.T, size int) {
		w := New(uint64(size), ofVersion(size, asked[0], false))
		w.Settle(1500)
		w.Spec.Settings.Version = asked[len(asked)-1]
		w.Settle(4000)
		w.trouble.isQuiet = true
		w.Spec.Size = size + 2
		d, rests := w.Settle(4000)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || len(w.Observe().Current.Members) != size+2 {
			t.Fatalf("size %d: %+v %v\n%s", size, d, w.Violations, firstStory(t, w))
		}
	})
}

// minorEvents must happen in stories, or these prove nothing.
var minorEvents = []string{"the cluster is of version 3.6", "the cluster is of version 3.7"}

// playMinors is one story of a user who asks for versions of three minors.
func playMinors(t *tale) (plan.Decision, bool) {
	s := t.seed
	spec := ofVersion([]int{1, 3, 3, 3, 5}[s%5], asked[s%2], s%7 == 0)
	w := t.begin(spec)
	w.Suffer(Hazards{Minors: true})
	w.suffer(250, 4+w.chance(60, "rate", ""), w.Fault)
	w.Spec.Paused, w.Spec.Settings.Inputs = false, spec.Settings.Inputs
	w.Spec.Settings.Version = asked[len(asked)-1]
	if s%4 == 0 && !w.Spec.Ephemeral {
		w.Spec.Settings.Version = asked[0]
	}
	w.ToggleQuota(false)
	w.Calm()
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	return w.Settle(4000)
}

func ofVersion(size int, v etcdutil.Version, isEphemeral bool) facts.Desired {
	spec := Spec3(size)
	spec.Settings.Version, spec.Ephemeral = v, isEphemeral
	return spec
}

// allRun reports whether each member runs this version.
func (w *World) allRun(v etcdutil.Version) bool {
	for _, r := range w.Observe().Current.Voters() {
		if r.Answer == nil || r.Answer.Version != v {
			return false
		}
	}
	return true
}
