package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestATaskIsTriedAgainLessAndLessOftenUnlessItWouldFindTheSame(t *testing.T) {
	for _, row := range []struct {
		name              string
		tried, ago        time.Duration
		reason            string
		again, needsHuman bool
	}{
		{"at once", time.Second, 5 * time.Second, "StoreStalled", false, false},
		{"soon, for the first time", time.Second, 11 * time.Second, "StoreStalled", true, false},
		{"not so soon after an hour", time.Hour, time.Minute, "StoreStalled", false, false},
		{"after some minutes then", time.Hour, 5 * time.Minute, "StoreStalled", true, false},
		{"what a person must put right", time.Minute, time.Minute, "StoreAccessDenied", true, true},
		{"a Secret without the right keys", time.Minute, time.Minute, "StoreMisconfigured", true, true},
		{"what etcd says", time.Minute, time.Minute, "", true, true},
		{"what would be the same again", time.Minute, 100 * time.Hour, "ObjectDamaged", false, true},
	} {
		o := scene{facts.Observation{Now: now}}
		task := facts.Task{Phase: facts.PodFailed, Finished: now.Add(-row.ago), Reason: row.reason, Failure: "it is so"}
		if got := hasRested(task, o.Now, task.Finished.Add(-row.tried)); got != row.again {
			t.Errorf("%s: tried again: %v", row.name, got)
		}
		if got := taskRefused(task, facts.ReasonUnusable, "%s", "so").NeedsHuman; got != row.needsHuman {
			t.Errorf("%s: asks for a person: %v", row.name, got)
		}
	}
	killed := facts.Task{Phase: facts.PodFailed, Finished: now.Add(-time.Minute)}
	if taskRefused(killed, facts.ReasonUnusable, "%s", "so").NeedsHuman || !hasRested(killed, now, time.Time{}) {
		t.Error("a Pod that was killed asks for a person, or is not made anew")
	}
}

func TestTheReasonsByWhichATaskIsJudgedAreThoseThatItGives(t *testing.T) {
	known := docwords.Union(docwords.Constants(t, "../../pkg/backup", "Reason"),
		docwords.Constants(t, "../../cmd/agent", "reason"))
	for _, reason := range append(append([]string(nil), passing...), final...) {
		if !known[reason] {
			t.Errorf("no step of a restore ever says %q", reason)
		}
	}
}
