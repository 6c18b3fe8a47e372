package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func pruneArgs(volume string, more ...string) []string {
	return append([]string{
		"prune", `--store={"volume":{"path":"kept"}}`, "--volume-root=" + volume,
		"--cluster-namespace=team", "--cluster-name=demo", "--cluster-uid=u-1",
	}, more...)
}

func TestBackupsThatTheRulesDoNotKeepArePruned(t *testing.T) {
	endpoint, _ := startEtcd(t, "3.6.16")
	volume := t.TempDir()
	var taken []backup.Manifest
	for range 3 {
		code, message := runArgs(t, snapshotArgs(endpoint, t.TempDir(), volume)...)
		if code != 0 {
			t.Fatal(message)
		}
		var m backup.Manifest
		must(t, json.Unmarshal([]byte(message), &m))
		taken = append(taken, m)
	}
	if code, message := runArgs(t, append(snapshotArgs(endpoint, t.TempDir(), volume), "--cluster-uid=u-2")...); code != 0 {
		t.Fatal(message)
	}
	code, message := runArgs(t, pruneArgs(volume, "--keep-last=1", "--keep-daily=1", "--time-zone=Europe/Berlin", "--hold="+taken[0].Key)...)
	if code != 0 {
		t.Fatal(message)
	}
	var got backup.Pruned
	must(t, json.Unmarshal([]byte(message), &got))
	// All are of one revision, and the later ones are newer.
	if got.Kept+got.Removed != 3 || got.Kept < 1 || got.Kept > 2 || got.Newest == nil || got.Newest.Revision != taken[0].Revision {
		t.Errorf("%s", message)
	}
	for _, uid := range []string{"u-1", "u-2"} {
		left, err := filepath.Glob(filepath.Join(volume, "kept", "team", "demo", uid, "*"))
		must(t, err)
		if want := map[string]int{"u-1": got.Kept, "u-2": 1}[uid]; len(left) != want {
			t.Errorf("%s: %v", uid, left)
		}
	}
	if _, err := os.Stat(filepath.Join(volume, taken[0].Key)); err != nil {
		t.Errorf("the one that is held: %v", err)
	}
}

func TestNothingIsPrunedByAListOfWhatIsHeldThatIsTooOld(t *testing.T) {
	endpoint, _ := startEtcd(t, "3.6.16")
	volume := t.TempDir()
	for range 2 {
		if code, message := runArgs(t, snapshotArgs(endpoint, t.TempDir(), volume)...); code != 0 {
			t.Fatal(message)
		}
	}
	left := func() int {
		keys, err := filepath.Glob(filepath.Join(volume, "kept", "team", "demo", "u-1", "*"))
		must(t, err)
		return len(keys)
	}
	until := func(after time.Duration) string {
		return "--not-after=" + time.Now().Add(after).UTC().Format(time.RFC3339)
	}
	code, message := runArgs(t, pruneArgs(volume, "--keep-last=1", until(-time.Second))...)
	if code == 0 || !strings.Contains(message, `"reason":"HoldsTooOld"`) || left() != 2 {
		t.Errorf("%d: %s: %d are left", code, message, left())
	}
	behind := "--not-before=" + time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	code, message = runArgs(t, pruneArgs(volume, "--keep-last=1", until(time.Hour), behind)...)
	if code == 0 || !strings.Contains(message, `"reason":"ClocksDiffer"`) || left() != 2 {
		t.Errorf("by a clock that is behind: %d: %s: %d are left", code, message, left())
	}
	if code, message := runArgs(t, pruneArgs(volume, "--keep-last=1", until(time.Hour))...); code != 0 || left() != 1 {
		t.Errorf("%d: %s: %d are left", code, message, left())
	}
}

func TestAWrongCallOfPruneIsRefusedWithWhatIsWrong(t *testing.T) {
	good := pruneArgs(t.TempDir(), "--keep-last=3", "--keep-within=720h", "--time-zone=Europe/Berlin", "--hold=a", "--hold=b")
	var asked *pruning
	f := flagsOf(&options{step: step{name: "prune", prepare: func(f *flagSet) work {
		asked = f.pruneFlags()
		return nil
	}}})
	must(t, f.Parse(good[1:]))
	for _, check := range f.checks {
		must(t, check())
	}
	if asked.Policy.KeepLast != 3 || asked.Policy.Location.String() != "Europe/Berlin" || !slices.Equal(asked.Held, []string{"a", "b"}) {
		t.Errorf("%+v", asked)
	}
	for name, tc := range map[string]struct{ arg, names string }{
		"no cluster":       {"--cluster-uid=", "cluster-uid"},
		"a path":           {"--cluster-name=..", "cluster-name"},
		"a negative rule":  {"--keep-last=-1", "less than nothing"},
		"no number":        {"--keep-daily=all", "keep-daily"},
		"no such zone":     {"--time-zone=Mars/Olympus", "Mars/Olympus"},
		"the node's zone":  {"--time-zone=Local", "Local"},
		"a zone by a path": {"--time-zone=../../etc/passwd", "passwd"},
		"no store":         {"--store={}", "store"},
		"a scratch":        {"--scratch=/x", "scratch"},
		"no time":          {"--not-after=soon", "soon"},
		"no time before":   {"--not-before=soon", "--not-before"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(append(slices.Clone(good), tc.arg)); err == nil || !strings.Contains(err.Error(), tc.names) {
				t.Fatalf("got %v, want %q in it", err, tc.names)
			}
		})
	}
}
