package contract

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// goneDown plays three members that go from the pre-release, which raised the cluster, to 3.6.
func goneDown(p *play) {
	p.bootstrappedAs(needs.Next)
	versions := []string{needs.Next, "3.7.3", "3.6.16"}
	for i, version := range versions {
		if i > 0 {
			p.accepted(func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, version)) })
			p.agreed(version, three...)
			p.stored(version, three...)
			for _, name := range three {
				p.until(name+" saved a snapshot", func() bool { return p.snapshots(name) > 0 })
				p.becomes(name, version)
			}
			p.until("the downgrade ended", func() bool { return p.status("a").Downgrade == "" })
		}
		p.agreed(version, three...)
		p.stored(version, three...)
		p.accepted(p.writing("a"))
	}
}

func TestTheFakeGoesDownFromThePreReleaseAsRealEtcdDoes(t *testing.T) {
	t.Run("fake", func(t *testing.T) { goneDown(&play{TB: t, world: newFakeWorld(t)}) })
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		needs.Full(t, "the gate builds no pre-release")
		goneDown(&play{TB: t, world: newRealWorld(t, needs.Next)})
	})
}

// 3.6 starts from the newest snapshot in a file, and fails on what raised the cluster version past that.
func TestRealEtcd36FailsOnTheLogOf37WhereTheSnapshotInAFileIsMissing(t *testing.T) {
	t.Parallel()
	needs.Full(t, "one version, one way")
	w := newRealWorld(t, "3.7.3")
	p := &play{TB: t, world: w}
	p.startAll("a")
	p.agreed("3.7.3", "a")
	p.stored("3.7.3", "a")
	p.accepted(func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, "3.6.16")) })
	p.stored("3.6.16", "a")
	p.until("it saved a snapshot", func() bool { return p.snapshots("a") > 0 })
	p.stop("a")
	files, err := filepath.Glob(filepath.Join(w.root, "a", "member", "snap", "*.snap"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	aside := filepath.Join(t.TempDir(), "snap")
	if err := os.Rename(files[0], aside); err != nil {
		t.Fatal(err)
	}
	p.start(sealed("a").of("3.6.16"))
	p.endedWith("a", etcdutil.ExitVersionTooLow)
	p.start(sealed("a").of("3.7.3")) // which needs no file, and starts with all data
	p.serving("a")
	p.stop("a")
	if err := os.Rename(aside, files[0]); err != nil {
		t.Fatal(err)
	}
	p.start(sealed("a").of("3.6.16"))
	p.serving("a")
}
