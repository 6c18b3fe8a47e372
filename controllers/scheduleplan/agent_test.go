package scheduleplan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

// A test of pkg/backup holds that the agent says what is in these files.
func TestWhatTheAgentSaysIsRead(t *testing.T) {
	begun := at(t, "2026-03-01T03:00:00Z")
	words := func(chore Chore, step, file string) lastWords {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("../../pkg/backup/testdata/told", file))
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
	pruned := words(Prune, "prune", "pruned.json")
	if pruned.Kept != 3 || pruned.Removed != 2 || !isPoint(pruned.Newest) || !isPoint(pruned.Oldest) || len(pruned.Gone) != 1 || pruned.Gone[0] != "d" ||
		!strings.HasPrefix(pruned.unchecked(), " Of these 1 have a signed manifest, and the store's Secret has no manifest-key") ||
		pruned.untrusted() != " Manifests that cannot be trusted, and are left alone: 3: m: it is damaged" {
		t.Errorf("%+v", pruned)
	}
	fetched := words(Test, "fetch", "fetched.json")
	if !isPoint(&Point{Key: fetched.Key, Revision: fetched.Revision, StartedAt: fetched.StartedAt}) {
		t.Errorf("%+v", fetched)
	}
}
