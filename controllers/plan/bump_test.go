package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// at has all members answer with a revision.
func (o scene) at(revision int64) scene {
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, func(r *facts.Replica) { r.Answer.Revision = revision })
	}
	return o
}

// served has a bootstrap record that says how far revisions had come.
func (o scene) served(revision int64) scene {
	o.Current.Bootstrap.Served = revision
	return o
}

// restoredOnce serves what an EtcdRestore restored from the backup at revision 7.
func restoredOnce() scene { return unrequested(servingWorld(requesting(settledWorld(3)))) }

func ofR2(r *facts.Request) { r.ID, r.Name = "r2", "again" }

// fixedAt has spec.bumpRevision say by how much revisions are raised.
func fixedAt(bump int64) func(*facts.Request) {
	return func(r *facts.Request) { r.Bump, r.IsBumpFixed = bump, true }
}

// says has a member answer with a revision, as one that just joined does.
func says(revision int64) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Answer = &facts.Answer{ID: r.Record().MemberID, ClusterID: r.Record().ClusterID, Revision: revision}
	}
}

// proving has a backup that was proven at a revision.
func proving(o scene, revision int64) scene {
	o.Proven = &facts.Backup{Key: "k", Revision: revision}
	return o
}

// What begins with nothing begins at 1, and is raised by nothing.
func TestAnIncarnationOfNothingIsNotHeldByRevisions(t *testing.T) {
	lost := settledWorld(3).edit(0, noData).edit(1, noData).edit(2, noData).blind().served(5 * record.DefaultBump)
	c, ok := Decide(requesting(lost, forNothing, fixedAt(0)).Observation).Change.(changes.BeginNext)
	if !ok || c.Bump != 0 {
		t.Errorf("%+v", c)
	}
}

// secondly looked at the backup for a second EtcdRestore.
func secondly(o scene, edits ...func(*facts.Request)) scene {
	return lookedAt(requesting(o, append([]func(*facts.Request){ofR2}, edits...)...), hasFound)
}

func TestARestoreBeginsAboveEveryRevisionThatTheClusterServed(t *testing.T) {
	three := settledWorld(3)
	const billion = record.DefaultBump
	for _, row := range []struct {
		name string
		o    scene
		want int64 // the bump, above the backup's revision of 7
	}{
		{"a cluster that was never restored", secondly(three), billion},
		{"one that wrote half a billion since", secondly(three.at(billion / 2)), billion},
		{"one that wrote more", secondly(three.at(billion/2 + 8)), 2 * billion},
		{"one that was restored once, by an older release", secondly(restoredOnce().at(billion + 5000)), 2 * billion},
		{"one that wrote most of a billion since", secondly(restoredOnce().at(2*billion - 9)), 3 * billion},
		{"one whose record knows more than its members say", secondly(restoredOnce().at(10).served(4 * billion)), 5 * billion},
		{"one of which no member says how far it is", secondly(restoredOnce().served(billion + 7).blind()), 3 * billion},
		{"one of which another cluster answers at a member's address",
			secondly(restoredOnce().at(billion+9).edit(4, func(r *facts.Replica) {
				r.Answer.ClusterID, r.Answer.Revision = 77, 9*billion
			})), 2 * billion},
		{"one of which too few members say how far they are", secondly(restoredOnce().blind().edit(4, says(1))), 3 * billion},
		{"one whose proven backup knows more", secondly(proving(three, 3*billion)), 4 * billion},
		{"more than that was asked for", secondly(three, fixedAt(7*billion)), 7 * billion},
		{"less was asked for, and it is enough", secondly(three, fixedAt(billion/2+3)), billion/2 + 3},
	} {
		c, ok := Decide(row.o.Observation).Change.(changes.BeginNext)
		if !ok || c.Bump != row.want {
			t.Errorf("%s: %+v, want a bump of %d", row.name, Decide(row.o.Observation), row.want)
		}
	}
}

func TestABumpThatWouldServeRevisionsTwiceIsRefusedByName(t *testing.T) {
	const billion = record.DefaultBump
	for _, row := range []struct {
		name string
		o    scene
		says string
	}{
		{"none", secondly(settledWorld(3), fixedAt(0)), "with at least 1000000000"},
		{"as much as the first restore", secondly(restoredOnce().at(billion+5000), fixedAt(billion)), "with at least 2000000000"},
		{"a little more than was served", secondly(settledWorld(3), fixedAt(100)), "without spec.bumpRevision"},
		{"one beyond what etcd can count", secondly(restoredOnce().at(math.MaxInt64)), "nearly the highest that etcd can count"},
	} {
		d := Decide(row.o.Observation)
		if d.Verdict != Refuse || d.Reason != facts.ReasonRestoreHeld || !d.NeedsHuman || !strings.Contains(d.Message, row.says) {
			t.Errorf("%s: %+v", row.name, d)
		}
	}
}

func TestTheClusterSwitchesOverOnlyToWhatBeginsAboveWhatItServedMeanwhile(t *testing.T) {
	taskDone, ready := filledWorld(requesting(settledWorld(3))), placedWorld(requesting(settledWorld(3)))
	if _, ok := Decide(ready.at(record.DefaultBump / 2).Observation).Change.(changes.SwitchOver); !ok {
		t.Errorf("%+v", Decide(ready.Observation))
	}
	d := Decide(taskDone.at(record.DefaultBump).Observation)
	if d.Reason != facts.ReasonRestoreHeld || !strings.Contains(d.Message, "create another") {
		t.Errorf("%+v", d)
	}
}

// ranTo has the record of a member say how far revisions had come when it was written.
func ranTo(revision int64) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Record.Began = revision }
}

func TestAVolumeSaysHowFarRevisionsHadComeWhenItsMemberWasRecorded(t *testing.T) {
	const at = 3*record.DefaultBump + 5
	fresh := restoredOnce().at(at).edit(4, func(r *facts.Replica) { r.Volume.Record = record.Member{} })
	c, ok := Decide(fresh.Observation).Change.(changes.RecordMembers)
	if !ok || len(c.Members) != 1 || c.Members[0].Record.Began != fresh.Current.Bootstrap.BeganAt() || c.Members[0].Record.Began < record.DefaultBump {
		t.Errorf("%+v", Decide(fresh.Observation))
	}
	if d := Decide(restoredOnce().at(at).Observation); d.Verdict != Settled {
		t.Errorf("a revision alone is written down: %+v", d)
	}
}

func TestWhereTheBootstrapRecordIsLostVolumesSayHowFarRevisionsHadCome(t *testing.T) {
	const at = 3*record.DefaultBump + 5
	lost := restoredOnce().edit(4, ranTo(at)).at(at + 77)
	lost.Current.Bootstrap = record.Bootstrap{}
	c, ok := Decide(lost.Observation).Change.(changes.BeginBootstrap)
	if !ok || c.Served != at {
		t.Errorf("%+v", Decide(lost.Observation))
	}
	forgetful := otherwise(c, func(c *changes.BeginBootstrap) { c.Served = at - 1 })
	if Veto(lost.Observation, c) != "" || Veto(lost.Observation, forgetful) == "" {
		t.Errorf("the guard says %q of %+v", Veto(lost.Observation, c), c)
	}
	silent := secondly(settledWorld(3).edit(1, ranTo(at)).blind())
	if got := Decide(silent.Observation).Change.(changes.BeginNext).Bump; got != 5*record.DefaultBump {
		t.Errorf("the bump is %d", got)
	}
}
