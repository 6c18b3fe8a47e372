package scheduleplan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	agent "github.com/etcdsteward/etcd-steward/pkg/backup"
)

// What the agent says and what is read of it are two types, since neither may know the other.
func TestWhatTheAgentSaysIsRead(t *testing.T) {
	begun := at(t, "2026-03-01T03:00:00Z")
	words := func(chore Chore, step string, said any) lastWords {
		t.Helper()
		text, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		pod := backupplan.Attempt{Good: true, Ended: true, Steps: []backupplan.Step{{Name: step, State: backupplan.StepDone, Message: string(text)}}}
		read, err := Job{Chore: chore, Pods: []backupplan.Attempt{pod}}.words()
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	isPoint := func(p *Point) bool { return p != nil && p.Key == "k" && p.Revision == 7 && p.StartedAt.Equal(begun) }
	kept := &agent.Remaining{Key: "k", Revision: 7, StartedAt: begun, CompletedAt: begun.Add(time.Minute)}
	pruned := words(Prune, "prune", agent.Pruned{Kept: 3, Removed: 2, Newest: kept, Oldest: kept, Gone: []string{"d"}, Unchecked: 1, NotRead: []string{"m: it is damaged"}, NotReadMore: 2})
	if pruned.Kept != 3 || pruned.Removed != 2 || !isPoint(pruned.Newest) || !isPoint(pruned.Oldest) || len(pruned.Gone) != 1 || pruned.Gone[0] != "d" ||
		!strings.HasPrefix(pruned.unchecked(), " Of these 1 have a signed manifest, and the store's Secret has no manifest-key") ||
		pruned.untrusted() != " Manifests that cannot be trusted, and are left alone: 3: m: it is damaged" {
		t.Errorf("%+v", pruned)
	}
	fetched := words(Test, "fetch", agent.Fetched{Key: "k", Revision: 7, StartedAt: begun})
	if !isPoint(&Point{Key: fetched.Key, Revision: fetched.Revision, StartedAt: fetched.StartedAt}) {
		t.Errorf("%+v", fetched)
	}
}
