package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// held is a cluster that does not leave its minor before something is put right.
func held(o scene) scene {
	return desire(o, func(d *facts.Desired) {
		d.Target = newer.Version
		d.Held.Why = "the EtcdBackupSchedule nightly has no good backup of its last two runs"
	})
}

func TestEachStopOfAWayThatIsHeldIsNamed(t *testing.T) {
	o := needing(etcdutil.NeedDowngrade, newer.Version)
	for i := range 3 {
		o = o.edit(i, func(r *facts.Replica) {
			r.Answer.Versions = facts.Versions{Cluster: newer.Version, Storage: newer.Version}
		})
	}
	o = desire(o, func(d *facts.Desired) {
		d.Target, d.Held = older.Version, facts.Hold{Why: "demo-1 does not answer", Passes: true}
	})
	want := "They go down to 3.6.16 and then to " + older.Version.String() + " once every member"
	if p := checkMinor(current(o.Observation)); p == nil || !strings.Contains(p.Message, want) {
		t.Errorf("want %q: %+v", want, p)
	}
}

func TestAHoldForAMemberThatCannotStartSaysWhatHelpsThat(t *testing.T) {
	o := desire(needing(etcdutil.NeedDowngrade, newer.Version).edit(1, unpullable), func(d *facts.Desired) {
		d.Target, d.Held = older.Version, facts.Hold{Why: "demo-1 cannot pull its image", Passes: true, Member: "demo-1"}
	})
	started := o.edit(1, func(r *facts.Replica) {
		r.Pod.Running, r.Pod.Started, r.Pod.Waiting, r.Pod.Phase, r.Pod.ReadySince = true, true, "", facts.PodRunning, now
	})
	for name, row := range map[string]struct {
		world           scene
		reason, message string
	}{
		"an image": {o, facts.ReasonImagePull, "votes, unless spec.version is put back. The Pod of demo-1 cannot start (ImagePullBackOff): not found. Correct " +
			"spec.image.repository"},
		"an image of a sidecar": {o.edit(1, func(r *facts.Replica) { r.Pod.StartsAfter = "mesh" }), facts.ReasonSidecar,
			"container mesh of its Pod starts first"},
		"no Pod":    {o.edit(1, noPod), facts.ReasonNotReady, "Member demo-1 is not well"},
		"a moment":  {started, facts.ReasonMinorHeld, "It goes on by itself."},
		"no member": {desire(o, func(d *facts.Desired) { d.Held.Member = "" }), facts.ReasonMinorHeld, "serves and votes, unless spec.version is put back."},
	} {
		p := checkMinor(current(row.world.Observation))
		if p == nil || p.Reason != row.reason || !strings.Contains(p.Message, row.message) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestAMinorVersionIsLeftOnlyWhereNothingHasToBePutRightFirst(t *testing.T) {
	three := desire(settledWorld(3), func(d *facts.Desired) { d.Settings.QuotaBytes = 1000 })
	small := three.edit(1, func(r *facts.Replica) { r.Volume.Bytes = 900 })
	untold := small.edit(1, func(r *facts.Replica) { r.Volume.Growth.State, r.Volume.Capacity = facts.GrowthUnderWay, 0 })
	rare := desire(three, func(d *facts.Desired) { d.SnapshotEach, d.Target = 100_001, newer.Version })
	fleeting := inMemory(three.with(learner(3)))
	late, current := []facts.Schedule{{Name: "nightly"}}, []facts.Schedule{{Name: "nightly", UpToDate: true}}
	for _, row := range []struct {
		name      string
		world     scene
		schedules []facts.Schedule
		says      string
	}{
		{"all is well", three, nil, ""},
		{"an alarm was raised", raising(three, 10, noSpace), nil, "NOSPACE. Raise spec.etcd.quota"},
		{"a database nearly fills its quota", raising(three, 80), nil, "the database of demo-0 takes 80 %"},
		{"a voter does not say how large its database is", three.edit(1, silent), nil, "demo-1 does not answer"},
		{"nor one whose image cannot be pulled", three.edit(1, unpullable), nil, "demo-1 cannot pull its image (ImagePullBackOff)"},
		{"nor one whose Pod no node takes", three.edit(1, tied("")), nil, "demo-1 cannot start (Unschedulable)"},
		{"nor does one that is restarted with another version", three.edit(1, given(patched)).edit(1, silent), nil, ""},
		{"a voter has only just come back", three.edit(1, unready), nil, "demo-1 is not ready"},
		{"but not one that is being restarted with another version", three.edit(1, given(patched)).edit(1, unready),
			nil, ""},
		{"one has room", raising(three, 79), nil, ""},
		{"a database nearly fills its volume", raising(small, 75), nil, "of demo-1 takes 83 % of its volume"},
		{"a volume that grows does not say how large it is yet", raising(untold, 75), nil, ""},
		{"etcd writes a snapshot too rarely", rare, nil, "spec.etcd.snapshotCount: 100001"},
		{"which counts before 3.7 only", desire(rare, func(d *facts.Desired) { d.Target.Minor = 6 }), nil, ""},
		{"a learner has no vote", three.with(learner(3)), nil, "demo-3 has no vote yet"},
		{"a successor of ephemeral data may follow", fleeting, nil, ""},
		{"a schedule has a backup of its last two runs", three, current, ""},
		{"a schedule has none", three, late, "nightly has no good backup"},
	} {
		why := row.world.Current.WhyStay(row.world.Desired, row.schedules)
		if (why.Why == "") != (row.says == "") || !strings.Contains(why.Why, row.says) {
			t.Errorf("%s: %+v", row.name, why)
		}
	}
}

func TestAClusterThatIsHeldStaysAtItsMinorAndWhatWasBegunGoesOn(t *testing.T) {
	v := func(minor, patch int) etcdutil.Version { return etcdutil.Version{Major: 3, Minor: minor, Patch: patch} }
	at := func(cluster int, members ...etcdutil.Version) etcdutil.Progress {
		return etcdutil.Progress{Members: members, Cluster: v(cluster, 0), Storage: v(cluster, 0)}
	}
	lowering := at(5, v(6, 16))
	lowering.Downgrade = v(5, 0)
	for _, row := range []struct {
		name   string
		at     etcdutil.Progress
		target etcdutil.Version
		stop   etcdutil.Stop
		isHeld bool
	}{
		{"up", at(5, v(5, 35)), v(6, 16), etcdutil.Stop{Version: v(5, 35)}, true},
		{"before the log is covered", at(6, v(6, 16)), v(7, 3), etcdutil.Stop{Version: v(6, 16)}, true},
		{"down", at(6, v(6, 16)), v(5, 35), etcdutil.Stop{Version: v(6, 16)}, true},
		{"not to another patch", at(6, v(6, 11)), v(6, 16), etcdutil.Stop{Version: v(6, 16)}, false},
		{"nor midway", at(5, v(5, 35), v(6, 16)), v(6, 16), etcdutil.Stop{Version: v(6, 16)}, false},
		{"nor once a downgrade is enabled", lowering, v(5, 35), etcdutil.Stop{Version: v(5, 35)}, false},
		{"nor at birth", etcdutil.Progress{}, v(6, 16), etcdutil.Stop{Version: v(6, 16)}, false},
	} {
		stop, held, err := facts.StopAt(row.at, row.target, facts.Hold{Why: "of something"})
		if err != nil || stop != row.stop || (held.Why != "") != row.isHeld {
			t.Errorf("%s: %+v %+v %v", row.name, stop, held, err)
		}
	}
}
