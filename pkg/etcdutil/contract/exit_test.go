package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// recorded is where the last words of real crashes are kept, so that the table of reasons is tested without etcd too.
const recorded = "../testdata/exits"

func TestTheLastWordsOfRealCrashesAreUnderstood(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			binaries(t, version)
			for _, c := range tellings() {
				if !c.isPlayed(version) {
					continue
				}
				t.Run(c.crash.name, func(t *testing.T) {
					t.Parallel()
					w := newRealWorld(t, version)
					w.logging = c.args
					ended := c.cause(&play{TB: t, world: w}, w)
					if ended == "" {
						return // this release does not end so
					}
					last := w.exit(ended)
					got := last.reason()
					if c.reason == etcdutil.ExitRemoved && last.removed() {
						c.reason = got
					}
					if *update && c.isRecorded() {
						record(t, version, c.crash, w.scrub(last))
					}
					if got != c.reason {
						t.Errorf("it is understood as %s, want %s; exit code %d and\n%s", got, c.reason, last.code, last.message)
					}
				})
			}
		})
	}
}

// scrub takes this run's paths out of a message. What is left is what the kubelet would have kept, or a little less.
func (w *realWorld) scrub(e exit) exit {
	e.message = strings.ReplaceAll(e.message, w.root, "/var/lib/etcd")
	e.message = strings.ReplaceAll(e.message, filepath.Dir(w.binary), "/usr/local/bin")
	return e
}

// record writes the reason, the exit code and the message: the first two as a line.
func record(t *testing.T, version string, c crash, e exit) {
	t.Helper()
	dir := filepath.Join(recorded, version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s %d\n%s", c.reason, e.code, e.message)
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-")+".txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
