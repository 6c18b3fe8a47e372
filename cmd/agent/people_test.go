package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

// read runs a subcommand as a person does, and returns its exit code and what it prints.
func read(args ...string) (int, string) {
	var stdout bytes.Buffer
	code := run(context.Background(), args, &stdout)
	return code, stdout.String()
}

func TestAPersonListsAndInspectsWhatLiesInAStore(t *testing.T) {
	endpoint, programs := startEtcd(t, "3.6.16")
	backups, scratch := t.TempDir(), t.TempDir()
	var keys []string
	for range 2 {
		code, message := runArgs(t, snapshotArgs(endpoint, t.TempDir(), backups)...)
		var m backup.Manifest
		must(t, json.Unmarshal([]byte(message), &m))
		if code != 0 {
			t.Fatal(message)
		}
		keys = append(keys, m.Key)
	}
	slices.Sort(keys)
	must(t, os.Remove(filepath.Join(backups, filepath.Dir(keys[1]), "manifest.json")))
	saved := filepath.Join(backups, "kept", "legacy.db")
	output, err := exec.Command(filepath.Join(programs, "etcdctl"), "--endpoints="+strings.TrimPrefix(endpoint, "m0="),
		"snapshot", "save", saved).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	store := []string{`--store={"volume":{"path":"kept"}}`, "--volume-root=" + backups}
	with := func(command string, args ...string) []string { return slices.Concat([]string{command}, store, args) }

	code, text := read(with("list")...)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if code != 0 || len(lines) != 3 || !strings.HasSuffix(lines[1], keys[0]) || !strings.Contains(lines[1], "3.6.16") ||
		!strings.Contains(lines[2], keys[1]+": it has no manifest") {
		t.Errorf("exit %d:\n%s", code, text)
	}
	code, text = read(with("list", "--cluster-namespace=team", "--cluster-name=other")...)
	if code != 0 || text != "The store has no backup there.\n" {
		t.Errorf("of another cluster, exit %d: %s", code, text)
	}
	var listed []listing
	code, text = read(with("list", "-o=json", "--cluster-uid=u-1")...)
	must(t, json.Unmarshal([]byte(text), &listed))
	if code != 0 || len(listed) != 2 || listed[0].Key != keys[0] || listed[0].Problem != "" || listed[1].Problem == "" {
		t.Errorf("exit %d: %s", code, text)
	}

	for what, row := range map[string]struct {
		args []string
		says []string
	}{
		"a backup":                     {with("inspect", "--scratch="+scratch, "--key="+keys[0]), []string{"of m0 of cluster team/demo", "3.6.16", "keys             20"}},
		"a snapshot without manifest":  {with("inspect", "--scratch="+scratch, "--key="+keys[1]), []string{"none: nothing says", "spec.version 3.6 or newer"}},
		"a snapshot of etcdctl":        {with("inspect", "--scratch="+scratch, "--key=kept/legacy.db"), []string{"none: nothing says", "3.6.0", "authentication   off", "alarms           none"}},
		"a snapshot on this machine":   {[]string{"inspect", "--file=" + saved}, []string{saved, "can begin with it"}},
		"a snapshot for a program":     {[]string{"inspect", "--file=" + saved, "-o=json"}, []string{`"totalKeys": 20`}},
		"a backup with all it is said": {with("inspect", "--scratch="+scratch, "-o=json", "--key="+keys[0]), []string{`"clusterUID": "u-1"`}},
	} {
		code, text := read(row.args...)
		for _, says := range row.says {
			if code != 0 || !strings.Contains(text, says) {
				t.Errorf("%s, exit %d: want %q in\n%s", what, code, says, text)
			}
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("in the scratch directory there is %v (%v)", left, err)
	}
}

func TestWhatCannotBeInspectedIsRefusedAndPrintsNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.db")
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, row := range map[string]struct {
		args []string
		code int
	}{
		"an empty file":          {[]string{"inspect", "--file=" + empty}, exitFailed},
		"a file that is gone":    {[]string{"inspect", "--file=" + empty + "-2"}, exitFailed},
		"a directory":            {[]string{"inspect", "--file=" + filepath.Dir(empty)}, exitFailed},
		"neither file nor key":   {[]string{"inspect"}, exitUsage},
		"a key without a store":  {[]string{"inspect", "--key=a/demo.db"}, exitUsage},
		"another format":         {[]string{"inspect", "--file=" + empty, "-o=yaml"}, exitUsage},
		"a list without a store": {[]string{"list"}, exitUsage},
		"a name that is a path":  {[]string{"list", `--store={"volume":{}}`, "--cluster-name=../x"}, exitUsage},
		"a flag of a step":       {[]string{"list", `--store={"volume":{}}`, "--termination-log=/x"}, exitUsage},
	} {
		if code, text := read(row.args...); code != row.code || text != "" {
			t.Errorf("%s: exit %d: %s", name, code, text)
		}
	}
}
