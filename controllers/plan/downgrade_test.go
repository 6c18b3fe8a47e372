package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var (
	older      = facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 5, Patch: 35}, Inputs: "c", QuotaBytes: 2 << 30}
	olderMinor = etcdutil.Version{Major: 3, Minor: 5}
	itsMinor   = etcdutil.Version{Major: 3, Minor: 6}
)

// toLower is a cluster of 3.6 that is to go to 3.5.
func toLower() scene { return toLowerFrom(settledWorld(3)) }

func toLowerFrom(o scene) scene {
	o = desire(o, func(d *facts.Desired) { d.Target, d.Needs = older.Version, etcdutil.NeedDowngrade })
	for i := range o.Current.Members {
		o = o.edit(i, func(r *facts.Replica) {
			r.Answer.Versions = facts.Versions{Cluster: itsMinor, Storage: itsMinor}
			r.Volume.Record = r.Volume.Record.InCluster(itsMinor, 100, 0)
		})
	}
	return o
}

// lowering is that cluster once the downgrade was enabled.
func lowering(needs etcdutil.Need) scene { return loweringFrom(settledWorld(3), needs) }

func loweringFrom(o scene, needs etcdutil.Need) scene {
	o = desire(toLowerFrom(o), func(d *facts.Desired) { d.Needs = needs })
	for i := range o.Current.Members {
		o = o.edit(i, func(r *facts.Replica) {
			r.Answer.Versions = facts.Versions{Cluster: olderMinor, Storage: olderMinor, Downgrade: olderMinor}
			r.Volume.Record = r.Volume.Record.InCluster(olderMinor, 200, 0)
		})
	}
	return o
}

// keepingOut is a cluster of 3.5 in which a downgrade is still enabled. Its members do not tell that; the etcd of a
// new member ends for it.
func keepingOut() scene {
	o := desire(settledWorld(2).with(learner(2)), func(d *facts.Desired) {
		d.Size, d.Settings, d.Target = 3, older, older.Version
	})
	for i := range 2 {
		o = o.edit(i, func(r *facts.Replica) {
			r.Answer.Version, r.Answer.Versions = older.Version, facts.Versions{Cluster: olderMinor}
			r.Volume.Record.Version = older.Version
			r.Volume.Record = r.Volume.Record.InCluster(olderMinor, 200, 0)
			r.Volume.Settings, r.Pod.Settings = older, older
		})
	}
	return o.edit(2, func(r *facts.Replica) {
		outrun(r)
		startedAgo(time.Minute)(r)
		r.Member.Name, r.Member.ClientURLs, r.Volume.Record = "", nil, record.Member{}
		r.Volume.Settings, r.Pod.Settings = older, older
	})
}

func TestADowngradeIsEnabledOnlyOnceNothingElseIsLeftToDo(t *testing.T) {
	for _, row := range []struct {
		name  string
		world scene
		rule  string
	}{
		{"every member serves", toLower(), "enable-downgrade"},
		{"one does not answer", toLower().edit(1, silent), "member-health"},
		{"one is not ready", toLower().edit(1, unready), "member-health"},
		{"a member is to be added", desire(toLower(), func(d *facts.Desired) { d.Size = 4 }), "grow"},
		{"also while Kubernetes has no room for it",
			rejecting(desire(toLower(), func(d *facts.Desired) { d.Size = 4 }), "grow"), "member-health"},
		{"a learner joins", desire(toLower().with(learner(3)), func(d *facts.Desired) { d.Size = 4 }), "promote"},
		{"members are to get other settings", wanting(toLower(), other), "roll"},
		{"the spec asks for what this release cannot do", noWay(toLower()), "roll"},
		{"a larger volume is asked for", bound(toLower(), 20<<30), "expand-volume"},
		{"the spec is refused", desire(toLower(), func(d *facts.Desired) { d.Fault = "spec.size is 2." }),
			"spec-refused"},
	} {
		if d := Decide(row.world.Observation); d.Rule != row.rule {
			t.Errorf("%s: %s: %s", row.name, d.Rule, d.Message)
		}
	}
}

func TestWhatWasSeenAtTheHighestIndexSaysOfWhichVersionTheClusterIs(t *testing.T) {
	for _, row := range []struct {
		name string
		o    scene
		want etcdutil.Version
	}{
		{"all say the same", toLower(), itsMinor},
		{"one that is silent since knows of no downgrade", lowering("").edit(1, func(r *facts.Replica) {
			r.Answer, r.Volume.Record = nil, toLower().Current.Members[1].Volume.Record
		}), olderMinor},
		{"nor do all that are written down but one", lowering("").edit(0, unanswered).edit(1, unanswered).edit(2,
			unanswered).edit(1, func(r *facts.Replica) {
			r.Volume.Record = toLower().Current.Members[1].Volume.Record
		}), olderMinor},
		{"of records without an index the higher one counts", settledWorld(2).edit(0, unanswered).edit(1,
			func(r *facts.Replica) {
				r.Answer, r.Volume.Record.ClusterVersion = nil, olderMinor
			}).edit(0, func(r *facts.Replica) { r.Volume.Record.ClusterVersion = itsMinor }), itsMinor},
	} {
		if got := row.o.Current.ClusterVersion(); got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
	}
}

func TestASilentMemberMayRunTheLowerMinorThatItsVolumeAsksForOnceTheClusterIsOfIt(t *testing.T) {
	asked := func(r *facts.Replica) { r.Answer, r.Volume.Settings = nil, older }
	for _, row := range []struct {
		name  string
		world scene
		want  []etcdutil.Version
	}{
		{"the cluster is of the lower version", lowering("").edit(1, asked), []etcdutil.Version{settings.Version,
			older.Version}},
		{"it is of the higher one: etcd refused to start", toLower().edit(1, asked),
			[]etcdutil.Version{settings.Version}},
		{"nor is it below the version of its cluster, where a lower one was written down", toLower().edit(1,
			func(r *facts.Replica) {
				r.Answer, r.Volume.Settings, r.Volume.Record.Version = nil, older, older.Version
			}), []etcdutil.Version{settings.Version, itsMinor}},
	} {
		versions := slices.Compact(slices.SortedFunc(slices.Values(row.world.Current.Progress().Members),
			func(a, b etcdutil.Version) int { return b.Compare(a) }))
		if !slices.Equal(versions, row.want) {
			t.Errorf("%s: %v", row.name, versions)
		}
	}
}

// guardedDowngrades are rows of the way to a lower minor.
func guardedDowngrades() []guardRow {
	enable, cancel := changes.EnableDowngrade{Minor: olderMinor}, changes.CancelDowngrade{Minor: olderMinor}
	lower := changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-2", UID: "volume-demo-2"}}, Settings: older}
	start := changes.StartPods{Pods: []changes.Start{{Name: "demo-2", Flags: facts.FlagsSealed, Settings: older}}}
	moved := lowering("")
	evict := changes.EvictPod{Pod: facts.PodRef{Name: "demo-2", UID: "pod-demo-2"}}
	told := func(r *facts.Replica) { r.Volume.Settings = older }
	unmoved := moved.edit(1, func(r *facts.Replica) { r.Answer.Versions.Storage = itsMinor })
	join := changes.StartPods{Pods: []changes.Start{{Name: "demo-3", Flags: facts.FlagsJoin, Settings: newer}}}
	begun := moved.edit(1, func(r *facts.Replica) {
		r.Answer, r.Volume.Record.Version = nil, older.Version
	})
	absent := moved.edit(2, noPod)
	asked := absent.edit(2, func(r *facts.Replica) { r.Volume.Settings = older })
	return []guardRow{
		{"a downgrade begins while every member serves", toLower(), enable, toLower().edit(1, silent), enable,
			"not every member is a voter that serves"},
		{"and not beside a learner", toLower(), enable, toLower().with(learner(3)), enable,
			"not every member is a voter that serves"},
		{"it goes one minor down", toLower(), enable, toLower(),
			changes.EnableDowngrade{Minor: etcdutil.Version{Major: 3, Minor: 4}}, "is not one minor below"},
		{"from a cluster that is of its members' version", toLower(), enable, lowering(""), enable,
			"is not one minor below"},
		{"it is cancelled by who knows the list", moved, cancel, moved.blind(), cancel, "the member list is not known"},
		{"no member goes down before the cluster version did", moved, lower, toLower(), lower,
			"the cluster is of version 3.6"},
		{"the first one goes down while all others serve", moved, lower, moved.edit(1, silent), lower,
			"only while all others serve"},
		{"what others run already is begun", begun, lower, moved.edit(1, silent), lower, "only while all others serve"},
		{"the first one goes down once the data of all followed", moved, lower, unmoved, lower,
			"is in the format of 3.6"},
		{"no member is stopped that could not start again", moved.edit(2, told), evict, toLower().edit(2, told), evict,
			"could not start again"},
		{"no new member joins with a minor that cannot read the log", covered(settledWorld(3)).with(added(3)), join,
			settledWorld(3).with(added(3)), join, "may still hold what etcd 3.5 wrote"},
		{"a lower minor starts only where the volume asks for it", asked, start, absent, start,
			"its volume does not ask for"},
	}
}
