package world

import (
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// accuse has etcd raise CORRUPT for the member of an ordinal's name; "" for none.
func (w *World) accuse(name string) {
	var id etcdutil.ID
	if name != "" {
		id = w.idOf(name)
	}
	w.clusters[w.bootstrapped].corrupt = map[etcdutil.ID]bool{id: true}
}

// leading has demo-0 lead, and the copy of a member be wrong.
func leading(t *testing.T, wrong string) *World {
	w := settledAt(t, 1, 3)
	w.clusters[w.bootstrapped].leader = w.idOf("demo-0")
	w.CorruptDisk(wrong)
	return w
}

// A check names none (3.5), or the first follower that differs from the leader, whichever of the two is wrong (3.6).
func TestWritesComeBackBeforeAnythingElseWhomeverTheAlarmNames(t *testing.T) {
	for _, row := range []struct {
		name, wrong, accused string
		fromBackup           bool
	}{
		{"the wrong follower", "demo-2", "demo-2", false},
		{"the wrong leader", "demo-0", "demo-0", false},
		{"none", "demo-2", "", false},
		{"a good follower of a wrong leader", "demo-0", "demo-1", false},
		{"the wrong follower in a cluster that began with a backup", "demo-2", "demo-2", true},
		{"none in a cluster that began with a backup", "demo-2", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := leading(t, row.wrong)
			if row.fromBackup {
				w.objects.bootstrap.Origin = record.Origin{Hash: "hash", Key: "key", Revision: 1}
			}
			w.accuse(row.accused)
			made, passes := changesUntilSettled(t, w)
			removal := slices.Index(made, "RemoveMember")
			if removal < 0 || removal+1 >= len(made) || made[removal+1] != "DisarmAlarms" {
				t.Fatalf("made %v\n%s", made, firstStory(t, w))
			}
			t.Logf("%d passes to %v", passes, made)
			if v := w.objects.volumes[row.wrong]; v.kept != facts.CauseCorruption {
				t.Errorf("the wrong copy is kept for %q", v.kept)
			}
			if len(w.Observe().Current.HealthyVoters()) != 3 || len(w.clusters[w.bootstrapped].corrupt) > 0 {
				t.Errorf("it did not end well\n%s", firstStory(t, w))
			}
		})
	}
}

// changesUntilSettled are the kinds of what the operator does, in order, and in how many passes it has writes back.
func changesUntilSettled(t *testing.T, w *World) (made []string, passes int) {
	t.Helper()
	var d plan.Decision
	for range 400 {
		w.Advance()
		d = w.Pass()
		if len(w.Violations) > 0 {
			t.Fatalf("%v\n%s", w.Violations, firstStory(t, w))
		}
		if d.Change != nil {
			made = append(made, changes.KindOf(d.Change))
		}
		if !slices.Contains(made, "DisarmAlarms") {
			passes++
		}
		if d.Verdict == plan.Settled {
			return made, passes
		}
	}
	t.Fatalf("it does not settle: %+v\nmade %v", d, made)
	return nil, 0
}

func TestALearnerThatTheAlarmNamesIsGivenUpAndAnotherOneJoins(t *testing.T) {
	w := settledAt(t, 1, 3)
	w.loseMember("demo-2")
	until(t, w, "a learner that answers", func() bool {
		learners := w.Observe().Current.Learners()
		return len(learners) > 0 && learners[0].Answer != nil
	})
	learner := w.Observe().Current.Learners()[0].Name
	w.accuse(learner)
	mustSettle(t, w, "a learner that the alarm names")
	if w.Observe().Current.Find(learner).Member != nil {
		t.Errorf("%s is still a member", learner)
	}
}
