package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// toCover is a cluster of 3.6 on its way to 3.7, which says how far it is in raft's log.
func toCover(size int) scene {
	return desire(covered(settledWorld(size)), func(d *facts.Desired) {
		d.Target, d.Needs = newer.Version, etcdutil.NeedCover
	})
}

func unmarked(r *facts.Replica) { r.Volume.Record.LogMark = record.LogMark{} }

func inOtherPod(r *facts.Replica) { r.Pod.UID = "pod-anew" }

func TestALogIsCoveredOnceEachVoterWroteASnapshotAndFarEnoughPastItsMark(t *testing.T) {
	for _, row := range []struct {
		name      string
		world     scene
		isCovered bool
	}{
		{"each did", toCover(3), true},
		{"one wrote no snapshot since", toCover(3).edit(1, func(r *facts.Replica) {
			r.Volume.Record.LogMark.Snapshots = 1
		}), false},
		{"one is not far enough: a leader may still send what lies before",
			toCover(3).edit(1, func(r *facts.Replica) {
				r.Volume.Record.LogMark.Applied = r.Answer.Applied - 5_199
			}), false},
		{"one does not answer", toCover(3).edit(1, silent), false},
		{"one was not asked", toCover(3).edit(1, func(r *facts.Replica) { r.Answer.Snapshots = nil }), false},
		{"of one nothing is written down", toCover(3).edit(1, unmarked), false},
		{"one has another Pod: 3.5 may have run there since", toCover(3).edit(1, inOtherPod), false},
		{"a learner that never answered has no log", toCover(3).with(added(3)), true},
		{"one that did has, and what is in it is not known", toCover(3).with(learner(3)), false},
		{"the list is not known", toCover(3).blind(), false},
	} {
		if got := row.world.Current.IsLogCovered(); got != row.isCovered {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestWhoeverAsksForEtcd37ReadsWhyMembersAreRecordedFirst(t *testing.T) {
	d := Decide(toCover(3).edit(0, unmarked).edit(1, unmarked).edit(2, unmarked).Observation)
	want := "Record the answers of demo-0, demo-1, demo-2: before etcd " + newer.Version.String() + " starts, each " +
		"member must write a snapshot past where it is now in raft's log. That place is kept beside its data."
	if d.Message != want {
		t.Errorf("%q, want %q", d.Message, want)
	}
}

func TestAMarkIsWrittenOnceUnderTheSamePodsAndAnewUnderOthers(t *testing.T) {
	for _, row := range []struct {
		name   string
		world  scene
		marked int // members of which a mark is written
	}{
		{"nothing is written down yet", toCover(3).edit(0, unmarked).edit(1, unmarked).edit(2, unmarked), 3},
		{"what is written down stays", toCover(3), 0},
		{"another Pod of one begins it anew for all", toCover(3).edit(1, inOtherPod), 3},
		{"another process in the same Pod begins it anew for that one", toCover(3).edit(1, func(r *facts.Replica) {
			r.Volume.Record.LogMark.Snapshots = 7
		}), 1},
		{"not while one answers as 3.5", toCover(3).edit(0, unmarked).edit(1, func(r *facts.Replica) {
			r.Answer.Version = etcdutil.Version{Major: 3, Minor: 5, Patch: 35}
			r.Volume.Record.Version = r.Answer.Version
		}), 0},
		{"not while one says that the cluster is of 3.5", toCover(3).edit(0, unmarked).edit(1, func(r *facts.Replica) {
			r.Answer.Versions.Cluster = etcdutil.Version{Major: 3, Minor: 5}
			r.Volume.Record.ClusterVersion = r.Answer.Versions.Cluster
		}), 0},
		{"not where nothing needs it", desire(toCover(3).edit(0, unmarked), func(d *facts.Desired) {
			d.Needs = etcdutil.NeedNothing
		}), 0},
	} {
		marked := 0
		if c, isWritten := Decide(row.world.Observation).Change.(changes.RecordMembers); isWritten {
			for _, m := range c.Members {
				if m.Record.LogMark != (record.LogMark{}) {
					marked++
				}
			}
		}
		if marked != row.marked {
			t.Errorf("%s: %d", row.name, marked)
		}
	}
}

func TestEntriesAreAddedUntilEachVoterWroteASnapshot(t *testing.T) {
	for _, row := range []struct {
		name  string
		world scene
		rule  string
		says  string
	}{
		{"a little at a time", toCover(3), "cover-log", "Add entries that change no key"},
		{"not before a roll is done", wanting(toCover(3), other), "roll", "demo-2"},
		{"not while one does not answer", toCover(3).edit(1, silent), "member-health", "demo-1"},
		{"not while a learner joins", toCover(3).with(learner(3)), "abandon-learner", "demo-3"},
	} {
		d := Decide(row.world.Observation)
		if d.Rule != row.rule || !strings.Contains(d.Message, row.says) {
			t.Errorf("%s: %s: %s", row.name, d.Rule, d.Message)
		}
	}
	leader := toCover(3).Current.Members[0].Answer.Applied
	if c := Decide(toCover(3).Observation).Change; c != (changes.AppendEntries{Until: leader + entriesPerPass}) {
		t.Errorf("%+v", c)
	}
}

// toSave is a cluster of 3.7 on its way down to 3.6: etcd lowered all, and each member saved a snapshot as it did.
func toSave(size int) scene {
	o := desire(settledWorld(size), func(d *facts.Desired) {
		d.Settings, d.AtTarget, d.Target, d.Needs = newer, settings, settings.Version, etcdutil.NeedSave
	})
	for i := range size {
		o = o.edit(i, inNewer(itsMinor)).edit(i, func(r *facts.Replica) {
			r.Answer.Versions = facts.Versions{Cluster: itsMinor, Storage: itsMinor, Downgrade: itsMinor}
			r.Answer.Snapshots = new(uint64(1))
		})
	}
	return o
}

// unsaved is a member whose etcd was restarted since.
func unsaved(r *facts.Replica) { r.Answer.Snapshots = new(uint64(0)) }

func TestALogIsSavedOnceTheEtcdOfEachVoterWroteASnapshot(t *testing.T) {
	for _, row := range []struct {
		name    string
		world   scene
		isSaved bool
	}{
		{"each did", toSave(3), true},
		{"one was restarted since, and wrote none", toSave(3).edit(1, unsaved), false},
		{"one was not asked", toSave(3).edit(1, func(r *facts.Replica) { r.Answer.Snapshots = nil }), false},
		{"one does not answer", toSave(3).edit(1, silent), false},
		{"a learner that never answered has no log", toSave(3).with(added(3)), true},
		{"the list is not known", toSave(3).blind(), false},
	} {
		if got := row.world.Current.IsLogSaved(); got != row.isSaved {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestEntriesAreAddedOnTheWayDownUntilEachVoterWroteASnapshot(t *testing.T) {
	d := Decide(toSave(3).edit(1, unsaved).Observation)
	leader := toSave(3).Current.Members[0].Answer.Applied
	if d.Rule != "cover-log" || d.Change != (changes.AppendEntries{Until: leader + entriesPerPass}) {
		t.Errorf("%s: %s", d.Rule, d.Message)
	}
}

// guardedLogs are rows of what etcd 3.7 cannot read.
func guardedLogs() []guardRow {
	raise := changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-2", UID: "volume-demo-2"}}, Settings: newer}
	mark := func(mark record.LogMark) changes.Change {
		written := toCover(3).Current.Members[1].Volume.Record
		written.LogMark = mark
		return changes.RecordMembers{Members: []changes.MemberRecord{{Name: "demo-1", VolumeUID: "volume-demo-1",
			Record: written}}}
	}
	anew := toCover(3).edit(1, unmarked)
	said := anew.Current.NextLogMark(anew.Current.Members[1])
	older := said
	older.Applied--
	of35 := anew.edit(2, func(r *facts.Replica) { r.Answer.Version = etcdutil.Version{Major: 3, Minor: 5, Patch: 35} })
	lower := changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-2", UID: "volume-demo-2"}}, Settings: settings}
	cover, one := changes.AppendEntries{Until: 100}, changes.AppendEntries{}
	return []guardRow{
		{"no member goes to 3.7 before its log is covered", toCover(3), raise, toCover(3).edit(1, unmarked), raise,
			"may still hold what etcd 3.5 wrote"},
		{"but where another one serves with it", settledWorld(3).edit(0, inNewer(settings.Version)), raise,
			settledWorld(3), raise, "may still hold what etcd 3.5 wrote"},
		{"a mark is what the member says now", anew, mark(said), anew, mark(older), "how far it is"},
		{"and is written only while each voter runs 3.6", anew, mark(said), of35, mark(said), "how far it is"},
		{"no member goes down to 3.6 before each saved its log", toSave(3), lower, toSave(3).edit(1, unsaved), lower,
			"may still hold what"},
		{"but where another one is there already", toSave(3).edit(1, unsaved).edit(0, func(r *facts.Replica) {
			r.Answer.Version, r.Volume.Record.Version = settings.Version, settings.Version
		}), lower, toSave(3).edit(1, unsaved), lower, "may still hold what"},
		{"entries are added while every voter answers", toCover(3), cover, toCover(3).edit(1, silent), cover,
			"every voter answers"},
		{"one entry may be added beside one that does not", toCover(3).edit(1, silent), one, toCover(3).blind(), one,
			"every voter answers"},
	}
}
