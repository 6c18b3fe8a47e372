package world

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// hazardRuns are the hazards one by one, with seeds that went wrong once. One with a finding shows what is wrong with the planner today: only its seeds
// are played, to see that they still go wrong. It runs by default once the planner is cured and the finding is taken
// away.
var hazardRuns = []struct {
	name    string
	hazards Hazards
	happens []string // what must be in the logs, or the run proves nothing
	finding string
	seeds   []uint64
}{
	{"corruption", Hazards{Corruption: true}, []string{"is corrupted"}, "", []uint64{1156, 920012}},
	{"copied volumes", Hazards{CopiedVolumes: true}, []string{"by a backup tool", "bound anew"}, "", []uint64{2, 4, 7, 9, 12}},
	{"an older release", Hazards{OlderRelease: true}, []string{"an older release looks"},
		"an older release drops what it does not know of the birth record, and a restore in place with it", []uint64{1045, 1061}},
	{"edited metadata", Hazards{EditedMetadata: true}, []string{"are taken off", "is edited", "volumes are kept"}, "",
		[]uint64{162, 564, 910002, 920055}},
	{"clocks that are off", Hazards{SkewedClocks: true}, []string{"the clock of"}, "", []uint64{138, 452}},
	{"refusals of any kind", Hazards{Refusals: true}, []string{"are refused: true"}, "", []uint64{2, 192}},

	{"disks that are rolled back", Hazards{RolledBack: true}, []string{"is rolled back"}, "", []uint64{16}},
	{"caches of different moments", Hazards{SkewedCaches: true}, nil, "", nil},
	{"stale specs", Hazards{StaleSpecs: true}, []string{"spec: size"}, "", nil},
	{"a world that moves meanwhile", Hazards{Restless: true}, []string{"in the middle of a pass"}, "", nil},
	{"two replicas", Hazards{Overlap: true}, []string{"another replica acts"}, "", nil},
	{"two installs", Hazards{Installs: true}, []string{"another install looks"}, "", nil},
	{"lost replies", Hazards{LostReplies: true}, []string{"(err=the reply was lost)"}, "", nil},
	{"a slow etcd", Hazards{SlowEtcd: true}, []string{"(err=etcdserver: unhealthy cluster)"}, "",
		[]uint64{54, 98, 103, 112}},
	{"the garbage collector", Hazards{Collection: true}, []string{"takes uid-1 apart"}, "", nil},
	{"restores across minors", Hazards{Minors: true}, []string{"the cluster is of version", "restored RecordRestored",
		"restore-switch-over SwitchOver", "cancel-downgrade CancelDowngrade"}, "", []uint64{6213, 8829}},
	{"shared nodes", Hazards{SharedNodes: true}, []string{"the node of"}, "", nil},
	{"many at once", Hazards{RolledBack: true, SkewedCaches: true, StaleSpecs: true, Restless: true, Overlap: true,
		LostReplies: true, SlowEtcd: true, Collection: true, SharedNodes: true}, []string{"in the middle of a pass"}, "", nil},
}

func TestUnderEachHazardNoStoryViolatesAnInvariantAndEveryOneComesToRest(t *testing.T) {
	for _, run := range hazardRuns {
		t.Run(run.name, func(t *testing.T) {
			seeds := run.seeds // which went wrong once, or show the hazard
			if run.finding == "" {
				seeds = append(hazardSeeds(), run.seeds...)
			}
			done := map[string]int{}
			for _, s := range seeds {
				w, d, rests := playHazard(s, run.hazards)
				isWrong := len(w.Violations) > 0 || !rests
				switch {
				case isWrong && run.finding == "":
					t.Fatalf("seed %d: rests=%v %+v %v\n%s", s, rests, d, w.Violations, w.Story(120))
				case !isWrong && run.finding != "":
					t.Fatalf("seed %d is well: if others are, too, take the finding away. It was: %s", s, run.finding)
				}
				for _, what := range run.happens {
					done[what] += mentions(w.Log, what)
				}
			}
			for _, what := range run.happens {
				if run.finding == "" && done[what] == 0 && len(seeds) > 1 {
					t.Errorf("%q never happened, which proves nothing", what)
				}
			}
		})
	}
}

// hazardSeeds are those of the flags.
func hazardSeeds() []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	var out []uint64
	for s := *first; s < *first+uint64(*stories/150+1); s++ {
		out = append(out, s)
	}
	return out
}

// playHazard is one story under hazards, of a cluster that is restored in place or of one that is not.
func playHazard(s uint64, hazards Hazards) (*World, plan.Decision, bool) {
	if s%2 == 1 {
		return playInPlaceUnder(s, hazards)
	}
	return playUnder(s, hazards)
}

// playUnder is one story and its quiet end, in which the spec is put right and the hazards end.
func playUnder(s uint64, hazards Hazards) (*World, plan.Decision, bool) {
	spec := Spec3([]int{1, 3, 3, 3, 5}[s%5])
	spec.Ephemeral = s%7 == 0
	spec.TLS = s%4 != 0
	if hazards.SkewedClocks {
		spec.ReplaceAfter = time.Minute // so that some are replaced
	}
	if hazards.Minors && !spec.Ephemeral {
		spec.Restore = restoring(spec.Size).Restore
	}
	w := New(s, spec)
	w.Suffer(hazards)
	if !spec.Restore.IsZero() {
		w.storeOf(spec.Restore).newest = int(s / 2 % 5)
	}
	w.suffer(250, true)
	if hazards.Refusals && !hazards.Restless && len(w.Violations) == 0 {
		w.Spec.Paused = false
		w.Settle(200) // what is refused is not tried again and again
	}
	w.Spec.Paused, w.Spec.Choices = false, spec.Choices
	w.ToggleQuota(false)
	w.SpoilBackups(false)
	w.Spec.Restore.Fault = ""
	w.Calm()
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	d, rests := w.Settle(3000)
	return w, d, rests
}
