package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// written is a report of one row that was run twice, one that failed, and one that never began.
func written(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.CopyFS(filepath.Join(directory, "killed-1"), os.DirFS(paused)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(directory, "killed-2"), os.DirFS(paused)); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]any{
		"about.json": about{Date: time.Date(2030, time.May, 1, 0, 0, 0, 0, time.UTC), Operator: "v1.0.0", Kubernetes: "v1.36.3",
			Etcd: "3.6.16", Processors: 2, Memory: "8 GiB", Rows: []string{"killed", "cut"}, Wanted: 2},
		"killed-1/run.json": played{Scenario: "killed", Run: 1, Operations: 100, Failed: 3, Steps: []step{{"etcd killed", 1.25, 4}}},
		"killed-2/run.json": played{Scenario: "killed", Run: 2, Operations: 110, Failed: 0, Steps: []step{{"etcd killed", 0.75, 6}}},
		"cut-1/run.json":    played{Scenario: "cut", Run: 1, Error: "no member | leads"},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestTheReportHasEachRowWithItsWorstFigureAndWhyARowHasNone(t *testing.T) {
	directory := written(t)
	err := run([]string{directory})
	if err == nil || !strings.Contains(err.Error(), "cut-1: no member") || !strings.Contains(err.Error(), "cut-2: it was not begun") ||
		strings.Contains(err.Error(), "killed") {
		t.Errorf("it fails for what has no figures: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(directory, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"2030-05-01, 2 runs of each row: operator v1.0.0, Kubernetes v1.36.3, etcd 3.6.16, 2 processors, 8 GiB, all on one machine. [How to read this](" + guide + ").",
		"| etcd killed | 2 | yes | yes | 1.16 s (1.16 s) | 210 | 3 | 1.25 s (1.00 s) | 6.0 s (5.0 s) | `killed-1`, `killed-2` |",
		"| `cut`, run 1 | 0 | no figures: no member / leads | | | | | | | |",
		"| `cut`, run 2 | 0 | no figures: it was not begun | | | | | | | |",
	} {
		if !strings.Contains(string(page), line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
}

func TestAHistoryThatIsNotLinearizableFailsAfterItsRowIsWritten(t *testing.T) {
	directory := written(t)
	bad := changed(t, "client-*/operations.json", fromRead, intoRead)
	if err := os.Rename(filepath.Join(directory, "killed-1", "run.json"), filepath.Join(bad, "run.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(directory, "killed-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(directory, "killed-1"), os.DirFS(bad)); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{directory}); err == nil || !strings.Contains(err.Error(), "killed-1: linearizable: no") {
		t.Errorf("%v", err)
	}
	if page, _ := os.ReadFile(filepath.Join(directory, "report.md")); !strings.Contains(string(page), "| etcd killed | 2 | **no**: illegal | **not judged** | ") {
		t.Errorf("the row is not told:\n%s", page)
	}
}
