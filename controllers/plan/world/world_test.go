package world

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestAClusterOfEachSizeIsBootstrappedAndSettles(t *testing.T) {
	each(t, []int{1, 3, 5, 7}, func(t *testing.T, size int) {
		each(t, []bool{false, true}, func(t *testing.T, ephemeral bool) {
			spec := Spec3(size)
			spec.Ephemeral = ephemeral
			w := New(1, spec)
			d, rests := w.Settle(600)
			if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
				t.Fatalf("size %d, ephemeral %v: %+v %v\n%s", size, ephemeral, d, w.Violations, firstStory(t, w))
			}
			if got := len(w.Observe().Current.HealthyVoters()); got != size {
				t.Fatalf("size %d: %d healthy voters", size, got)
			}
		})
	})
}

func TestASettledClusterGoesFromAnySizeToAnyOtherAndBack(t *testing.T) {
	each(t, []int{1, 3, 5, 7}, func(t *testing.T, from int) {
		each(t, []int{1, 3, 5, 7}, func(t *testing.T, to int) {
			w := New(uint64(from*10+to), Spec3(from))
			for _, size := range []int{from, to, from} {
				w.Spec.Size = size
				if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled ||
					len(w.Observe().Current.HealthyVoters()) != size {
					t.Fatalf("%d to %d: %+v %v\n%s", from, to, d, w.Violations, firstStory(t, w))
				}
			}
		})
	})
}

func TestASettledClusterRollsToOtherSettingsAndBackWithOneMoveOfTheLeaderAtMost(t *testing.T) {
	each(t, []int{1, 3, 5}, func(t *testing.T, size int) {
		each(t, []bool{false, true}, func(t *testing.T, ephemeral bool) {
			spec := Spec3(size)
			spec.Ephemeral = ephemeral
			w := New(uint64(size), spec)
			w.Settle(600)
			for _, inputs := range []string{"b", "a"} {
				before := len(w.Log)
				w.Spec.Settings.Inputs = inputs
				d, rests := w.Settle(1500)
				if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 ||
					len(w.Observe().Current.HealthyVoters()) != size {
					t.Fatalf("size %d, ephemeral %v: %+v %v\n%s", size, ephemeral, d, w.Violations, firstStory(t, w))
				}
				if moves := count(w.Log[before:], "MoveLeader"); moves > 1 {
					t.Fatalf("size %d, ephemeral %v: leadership moved %d times\n%s", size, ephemeral, moves,
						firstStory(t, w))
				}
			}
		})
	})
}

func count(lines []string, word string) int {
	n := 0
	for _, line := range lines {
		if strings.Contains(line, word) && strings.Contains(line, "err=<nil>") {
			n++
		}
	}
	return n
}

func TestARollThatDoesNotWorkStopsAtTheFirstMemberAndIsTakenBack(t *testing.T) {
	each(t, []int{1, 3}, func(t *testing.T, size int) {
		each(t, []bool{false, true}, func(t *testing.T, ephemeral bool) {
			for kind, bad := range map[string]func(*World) map[facts.Settings]bool{
				"cannot start":  func(w *World) map[facts.Settings]bool { return w.Broken },
				"never serves":  func(w *World) map[facts.Settings]bool { return w.NeverServes },
				"never answers": func(w *World) map[facts.Settings]bool { return w.Unheard },
			} {
				spec := Spec3(size)
				spec.Ephemeral = ephemeral
				w := New(7, spec)
				w.Settle(600)
				w.Spec.Settings.Inputs = "bad"
				bad(w)[w.Spec.Settings] = true
				for range 900 {
					w.Advance()
					w.Pass()
				}
				if up := w.health(); up.up < size-1 || len(w.Violations) > 0 || !ephemeral &&
					count(w.Log, "RemoveMember") > 0 {
					t.Fatalf("%s, size %d, ephemeral %v: %+v %v\n%s", kind, size, ephemeral, up, w.Violations,
						firstStory(t, w))
				}
				w.Spec.Settings = spec.Settings
				if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled {
					t.Fatalf("%s, size %d, ephemeral %v: %+v\n%s", kind, size, ephemeral, d, firstStory(t, w))
				}
			}
		})
	})
}

// plainEvents must happen in stories, or these prove nothing.
var plainEvents = []string{"roll EvictPod", "replace RemoveMember", "pod-metadata DressPods", "void-birth VoidBootstrap",
	"retained-data AdoptData", "is started anew with"}

// play is one story with faults and its quiet end, in which the spec is put right.
func play(t *tale) (plan.Decision, bool) {
	s := t.seed
	spec := Spec3([]int{1, 3, 3, 3, 5}[s%5])
	spec.Ephemeral = s%7 == 0
	spec.TLS = s%4 != 0
	w := t.begin(spec)
	w.suffer(250, 4+w.chance(60, "rate", ""), w.Fault)
	w.Spec.Paused, w.Spec.Settings = false, spec.Settings
	w.ToggleQuota(false)
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	return w.Settle(3000)
}

func TestAMemberToComeGetsAVolumeOfTheClassThatTheSpecAsksForNow(t *testing.T) {
	each(t, seeds(20), func(t *testing.T, seed uint64) {
		w := New(seed+1, Spec3(3))
		w.Settle(600)
		w.WithdrawClass()
		w.loseMember("demo-2")
		w.stands("abandon-learner", 300)
		if healthy := len(w.Observe().Current.HealthyVoters()); healthy != 2 || count(w.Log, "AddLearner") == 0 {
			t.Fatalf("seed %d: %d voters serve, and nobody waits for a volume\n%s", seed, healthy, firstStory(t, w))
		}
		w.Spec.StorageClass = "b"
		w.settlesOf(t, "demo-4", "demo-5", "demo-6") // the others move after it
	})
}

func TestABootstrapWithoutVolumesGoesOnWithAClassThatExists(t *testing.T) {
	each(t, seeds(20), func(t *testing.T, seed uint64) {
		for _, spec := range []facts.Desired{Spec3(1), Spec3(3), restoring(3)} {
			w := New(seed+1, spec)
			w.WithdrawClass()
			w.stands("void-birth", 200)
			w.Spec.StorageClass = "b"
			w.settlesOf(t, firstNamesOf(spec.Size)...)
		}
	})
}

func TestAFirstMemberThatNeverHadAVolumeIsReplacedByOneOfAnotherClass(t *testing.T) {
	each(t, seeds(20), func(t *testing.T, seed uint64) {
		w := New(seed+1, Spec3(3))
		isMade := func(name string) bool { return w.objects.volumes[name].Phase == facts.VolumeBound }
		for !isMade("demo-0") || !isMade("demo-1") {
			w.Advance()
			w.Pass()
		}
		if isMade("demo-2") {
			return // another order of things
		}
		w.WithdrawClass()
		w.stands("replace", 300)
		w.Spec.StorageClass = "b"
		w.settlesOf(t, "demo-3", "demo-4", "demo-5") // the others move after it
	})
}

// stands lets time pass in which this rule has nothing to do.
func (w *World) stands(rule string, steps int) {
	for range steps {
		w.Advance()
		if d := w.Pass(); d.Rule == rule {
			w.violate("%s acts before the spec asks for another StorageClass: %s", rule, d.Message)
		}
	}
}

// settlesOf expects rest with these members, and nothing left of others.
func (w *World) settlesOf(t *testing.T, names ...string) {
	t.Helper()
	d, rests := w.Settle(1500)
	if got := facts.Names(w.Observe().Current.HealthyVoters()); !rests || d.Verdict != plan.Settled ||
		len(w.Violations) > 0 || !slices.Equal(got, names) || len(w.objects.volumes) != len(names) {
		t.Fatalf("%v with %d volumes: %+v %v\n%s", got, len(w.objects.volumes), d, w.Violations, firstStory(t, w))
	}
}

func firstNamesOf(size int) []string {
	var names []string
	for i := range size {
		names = append(names, etcdutil.MemberName("demo", i))
	}
	return names
}

func TestAMemberWhosePodAFinalizerKeepsIsTheSameOnceThatIsTakenOff(t *testing.T) {
	each(t, seeds(20), func(t *testing.T, seed uint64) {
		spec := Spec3(3)
		spec.ReplaceAfter = time.Minute
		w := New(seed+1, spec)
		w.Settle(600)
		id := w.idOf("demo-1")
		w.Suffer(Hazards{Finalizers: true})
		for w.objects.pods["demo-1"].HeldBy == "" {
			w.DeletePod("demo-1")
			w.Advance()
			w.Pass()
		}
		kept := w.Now
		for w.Now.Sub(kept) < 5*spec.ReplaceAfter && w.objects.pods["demo-1"].HeldBy != "" {
			w.Advance()
			w.Pass()
		}
		w.Calm()
		d, rests := w.Settle(1500)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || w.idOf("demo-1") != id ||
			count(w.Log, "RemoveMember") > 0 {
			t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
		}
	})
}

func TestALearnerThatIsStartingIsNotGivenUpForTheRemovalOfAnother(t *testing.T) {
	each(t, seeds(20), func(t *testing.T, seed uint64) {
		size, last := 5, "demo-4"
		if seed%2 == 1 { // where no further voter may fail, with two voters as with three
			size, last = 3, "demo-2"
		}
		w := New(seed+1, Spec3(size))
		w.Settle(600)
		w.DeleteVolume(last) // doomed: its successor joins first
		for count(w.Log, "first-pod StartPods") == 0 {
			w.Pass()
		}
		w.LoseNode(last)
		if d := w.Pass(); d.Rule != "replace" || d.Verdict != plan.Wait {
			t.Fatalf("seed %d: %+v\n%s", seed, d, firstStory(t, w))
		}
		d, rests := w.Settle(1500)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || count(w.Log, "abandon-learner") > 0 ||
			count(w.Log, "replace RemoveMember") != 1 {
			t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
		}
	})
}
