package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

// restoreArgs are the flags that the last two steps have in common.
func restoreArgs(m backup.Manifest, volume string) []string {
	return []string{
		"--volume=" + volume, "--incarnation=1a2b3c4d", "--member=demo-0", "--key=" + m.Key, "--sha256=" + m.SHA256,
		fmt.Sprintf("--size-bytes=%d", m.SizeBytes), fmt.Sprintf("--revision=%d", m.Revision), "--bump-revision=1000000000",
	}
}

func TestTheStepsOfARestoreFollowEachOtherAndCanAllBeRunAgain(t *testing.T) {
	endpoint, programs := startEtcd(t, "3.6.16")
	backups, volume := t.TempDir(), t.TempDir()
	if code, message := runArgs(t, snapshotArgs(endpoint, t.TempDir(), backups)...); code != 0 {
		t.Fatal(message)
	}
	store := []string{`--store={"volume":{"path":"kept"}}`, "--volume-root=" + backups}
	code, message := runArgs(t, slices.Concat([]string{"preflight", "--latest-of=team/demo", "--etcd-version=3.6.4", "--volume-bytes=1073741824"}, store)...)
	if code != 0 {
		t.Fatal(message)
	}
	var m backup.Manifest
	must(t, json.Unmarshal([]byte(message), &m))
	if code, byKey := runArgs(t, slices.Concat([]string{"preflight", "--key=" + m.Key, "--etcd-version=3.6.16"}, store)...); code != 0 || byKey != message {
		t.Fatalf("by its key: %s", byKey)
	}
	if code, message = runArgs(t, slices.Concat([]string{"preflight", "--key=" + m.Key, "--etcd-version=3.5.35"}, store)...); failureOf(t, code, message).Reason != backup.ReasonVersionDiffers {
		t.Errorf("into 3.7: %s", message)
	}

	staging := filepath.Join(volume, "1a2b3c4d.restore", "demo-0")
	for run := range 2 {
		var restored backup.Restored
		if code, message = runArgs(t, slices.Concat([]string{"fetch-for-restore"}, store, restoreArgs(m, volume))...); code != 0 {
			t.Fatal(message)
		}
		must(t, json.Unmarshal([]byte(message), &restored))
		output, err := exec.Command(filepath.Join(programs, "etcdutl"), "snapshot", "restore", filepath.Join(staging, "snapshot.db"),
			"--name=demo-0", "--data-dir="+filepath.Join(staging, "data"), "--initial-cluster=demo-0=http://127.0.0.1:1",
			"--initial-cluster-token=token", "--initial-advertise-peer-urls=http://127.0.0.1:1", "--bump-revision=1000000000", "--mark-compacted").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		var activated backup.Activated
		if code, message = runArgs(t, slices.Concat([]string{"activate"}, restoreArgs(m, volume))...); code != 0 {
			t.Fatal(message)
		}
		must(t, json.Unmarshal([]byte(message), &activated))
		if isAgain := run > 0; restored.AlreadyRestored != isAgain || activated.AlreadyRestored != isAgain || !isAgain && activated.Revision != m.Revision+1_000_000_000 {
			t.Errorf("run %d: restored %+v, activated %+v", run, restored, activated)
		}
		if _, err := os.Stat(filepath.Join(volume, "1a2b3c4d", "demo-0", "member", "snap", "db")); err != nil {
			t.Error(err)
		}
	}
}

func TestAPreflightLooksAtASnapshotWithoutAManifest(t *testing.T) {
	endpoint, programs := startEtcd(t, "3.6.16")
	backups, scratch := t.TempDir(), t.TempDir()
	must(t, os.Mkdir(filepath.Join(backups, "legacy"), 0o700))
	output, err := exec.Command(filepath.Join(programs, "etcdctl"), "--endpoints="+strings.TrimPrefix(endpoint, "m0="),
		"snapshot", "save", filepath.Join(backups, "legacy", "demo.db")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	look := []string{"preflight", `--store={"volume":{}}`, "--volume-root=" + backups, "--scratch=" + scratch, "--key=legacy/demo.db"}
	code, message := runArgs(t, append(look, "--etcd-version=3.7.3")...)
	var found backup.Found
	must(t, json.Unmarshal([]byte(message), &found))
	if code != 0 || !found.Foreign || found.Key != "legacy/demo.db" || found.EtcdVersion != "3.6.0" || found.Revision < 50 {
		t.Errorf("exit %d: %s", code, message)
	}
	code, message = runArgs(t, append(look, "--etcd-version=3.5.35")...)
	if f := failureOf(t, code, message); f.Reason != backup.ReasonVersionDiffers {
		t.Errorf("into 3.5: %s", message)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("in the scratch directory there is %v (%v)", left, err)
	}
}

func TestAWrongCallOfARestoreIsRefusedWithWhatIsWrong(t *testing.T) {
	m := backup.Manifest{Key: "kept/team/demo/u-1/d/snapshot.db", SHA256: strings.Repeat("0", 64), SizeBytes: 512 + 32, Revision: 1}
	store := `--store={"volume":{"path":"kept"}}`
	restore := slices.Concat([]string{"fetch-for-restore", store}, restoreArgs(m, t.TempDir()))
	preflight := []string{"preflight", store, "--etcd-version=3.6.16"}
	with := func(args []string, more ...string) []string { return slices.Concat(args, more) }
	for _, good := range [][]string{restore, with(preflight, "--key=k"), with(preflight, "--latest-of=a/b", "--latest-uid=u"), with([]string{"activate"}, restore[2:]...)} {
		if _, err := parseOptions(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for name, tc := range map[string]struct {
		args  []string
		names string
	}{
		"neither key nor latest":        {preflight, "exactly one"},
		"key and latest":                {with(preflight, "--key=k", "--latest-of=a/b"), "exactly one"},
		"no version":                    {with(preflight, "--key=k", "--etcd-version="), "etcd-version"},
		"a cluster without a namespace": {with(preflight, "--latest-of=b"), "latest-of"},
		"a cluster by a path":           {with(preflight, "--latest-of=a/../b"), "latest-of"},
		"a UID by a path":               {with(preflight, "--latest-of=a/b", "--latest-uid=.."), "latest-uid"},
		"a preflight of a member":       {with(preflight, "--key=k", "--member=demo-0"), "member"},
		"no store":                      {with(restore, "--store="), "store"},
		"a member by a path":            {with(restore, "--member=../x"), "member"},
		"an incarnation by a path":      {with(restore, "--incarnation=../x"), "incarnation"},
		"no hash":                       {with(restore, "--sha256="), "SHA-256"},
		"a hash that is none":           {with(restore, "--sha256="+strings.Repeat("x", 64)), "SHA-256"},
		"a size that is none":           {with(restore, "--size-bytes=5"), "size"},
		"a store for activate":          {with([]string{"activate"}, restore[1:]...), "store"},
		"a scratch directory":           {with(restore, "--scratch=/"), "scratch"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(tc.args); err == nil || !strings.Contains(err.Error(), tc.names) {
				t.Fatalf("got %v, want %q in it", err, tc.names)
			}
		})
	}
}
