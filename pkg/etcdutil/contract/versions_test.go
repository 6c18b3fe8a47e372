package contract

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// mixed is a scenario of two neighbouring minors.
type mixed struct {
	name string
	play func(p *play, older, newer string)
}

// minors are the pairs that scenarios of two minors are played with.
var minors = [][2]string{{"3.5.35", "3.6.16"}, {"3.6.16", "3.7.3"}, {"3.7.3", needs.Next}}

var three = []string{"a", "b", "c"}

var mixedScenarios = []mixed{
	{"the cluster version moves up once every member runs the higher minor, and the data follows",
		func(p *play, older, newer string) {
			p.bootstrappedAs(older)
			p.agreed(older, three...)
			p.becomes("a", newer)
			p.becomes("b", newer)
			p.staysAt(older, three...)
			p.becomes("c", newer)
			p.agreed(newer, three...)
			p.stored(newer, three...)
			p.accepted(p.writing("a"))
		}},
	{"a member goes back while another one never left", func(p *play, older, newer string) {
		p.bootstrappedAs(older)
		p.agreed(older, three...)
		p.becomes("a", newer)
		p.becomes("a", older)
		p.accepted(p.writing("a"))
	}},
	{"a member does not go back once the cluster version moved", func(p *play, older, newer string) {
		p.bootstrappedAs(newer)
		p.agreed(newer, three...)
		p.stop("b")
		p.start(sealed("b").of(older))
		p.endedWith("b", etcdutil.ExitVersionTooLow)
	}},
	{"a downgrade lowers the cluster version and the data, and ends when the last member is down",
		func(p *play, older, newer string) {
			p.bootstrappedAs(newer)
			p.agreed(newer, three...)
			p.stored(newer, three...)
			p.accepted(func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, older)) })
			p.agreed(older, three...)
			p.stored(older, three...)
			for _, name := range three {
				p.until(name+" saved a snapshot as the version went down", func() bool { return p.snapshots(name) > 0 })
			}
			if said := p.status("b").Downgrade; minorOf(p, said) != minorOf(p, older) {
				p.Fatalf("a downgrade to %q is enabled", said)
			}
			for _, name := range three {
				p.becomes(name, older)
			}
			p.until("the downgrade ended", func() bool { return p.status("a").Downgrade == "" })
			p.staysAt(older, three...)
		}},
	{"a downgrade goes one minor down, and once at a time", func(p *play, older, newer string) {
		p.bootstrappedAs(newer)
		p.agreed(newer, three...)
		p.refused(rpctypes.ErrInvalidDowngradeTargetVersion, func() error {
			return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, newer))
		})
		p.accepted(func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, older)) })
		p.agreed(older, three...) // until then a second request for the same minor is "in progress"
		p.refused(rpctypes.ErrInvalidDowngradeTargetVersion, func() error {
			return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, older))
		})
		p.refused(rpctypes.ErrDowngradeInProcess, func() error {
			below := versionOf(p, older)
			below.Minor--
			return p.dial("a").EnableDowngrade(p.Context(), below)
		})
	}},
	{"a downgrade that is cancelled lets the cluster version move up again", func(p *play, older, newer string) {
		p.bootstrappedAs(newer)
		p.agreed(newer, three...)
		p.accepted(func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, older)) })
		p.agreed(older, three...)
		p.accepted(func() error { return p.dial("a").CancelDowngrade(p.Context()) })
		p.accepted(func() error { return p.dial("a").CancelDowngrade(p.Context()) }) // nothing to cancel is no error
		p.agreed(newer, three...)
	}},
	{"a downgrade that was never enabled is cancelled without an error", func(p *play, older, _ string) {
		p.bootstrappedAs(older)
		p.agreed(older, three...)
		p.accepted(func() error { return p.dial("a").CancelDowngrade(p.Context()) })
	}},
	{"a learner of the higher minor joins a cluster of the lower one", func(p *play, older, newer string) {
		p.bootstrappedAs(older)
		p.agreed(older, three...)
		p.add("a", "d")
		p.start(joining("d", "a", "b", "c", "d").of(newer))
		p.serving("d")
	}},
	{"no member joins while a downgrade is enabled, of either minor", func(p *play, older, newer string) {
		p.bootstrappedAs(newer)
		p.agreed(newer, three...)
		p.stored(newer, three...)
		p.accepted(func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, older)) })
		p.agreed(older, three...)
		p.add("a", "d")
		for _, version := range []string{older, newer} {
			p.start(joining("d", "a", "b", "c", "d").of(version))
			p.endedWith("d", etcdutil.ExitVersionTooLow)
		}
	}},
	{"midway down a new member joins with the lower minor once that is cancelled, and the others follow without it",
		func(p *play, older, newer string) {
			p.bootstrappedAs(newer)
			p.agreed(newer, three...)
			p.stored(newer, three...)
			down := func() error { return p.dial("a").EnableDowngrade(p.Context(), versionOf(p, older)) }
			p.accepted(down)
			p.agreed(older, three...)
			p.stored(older, three...)
			p.becomes("c", older)
			p.add("a", "d")
			p.accepted(func() error { return p.dial("a").CancelDowngrade(p.Context()) })
			p.start(joining("d", "a", "b", "c", "d").of(older))
			p.serving("d")
			p.refused(rpctypes.ErrInvalidDowngradeTargetVersion, down)
			p.becomes("a", older)
			p.becomes("b", older)
			p.staysAt(older, three...)
			p.accepted(p.writing("a"))
		}},
}

// enough is more entries than a member applies before it writes a snapshot of its log's state.
const enough = 10_100

// whatOld35Wrote plays a member of 3.7 over a log that 3.5 wrote: it panics until a snapshot covers that.
func whatOld35Wrote(p *play) {
	p.bootstrappedAs("3.5.35")
	p.agreed("3.5.35", three...)
	for _, name := range three {
		p.becomes(name, "3.6.16")
	}
	p.agreed("3.6.16", three...)
	p.stop("a")
	p.start(sealed("a").of("3.7.3"))
	p.endedWith("a", etcdutil.ExitVersionSkipped)
	p.start(sealed("a").of("3.6.16")) // its data is as it was
	p.serving("a")
	written := map[string]uint64{}
	for _, name := range three {
		written[name] = p.snapshots(name)
	}
	for range enough {
		p.accepted(func() error { return p.dial("a").AppendEntry(p.Context()) })
	}
	for _, name := range three {
		p.until(name+" wrote a snapshot", func() bool { return p.snapshots(name) > written[name] })
	}
	revision := p.status("a").Revision
	for _, name := range three {
		p.becomes(name, "3.7.3")
	}
	p.agreed("3.7.3", three...)
	if now := p.status("a").Revision; now != revision {
		p.Fatalf("the entries moved the revision from %d to %d", revision, now)
	}
}

func TestTheFakeReadsWhat35WroteAsRealEtcdDoes(t *testing.T) {
	t.Run("fake", func(t *testing.T) { whatOld35Wrote(&play{TB: t, world: newFakeWorld(t)}) })
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		needs.Full(t, "more than 10,000 entries through three members")
		whatOld35Wrote(&play{TB: t, world: newRealWorld(t, "3.5.35")})
	})
}

func TestTheFakeKeepsTheContractOfMixedMinors(t *testing.T) {
	for _, pair := range minors {
		for _, s := range mixedScenarios {
			t.Run(pair[1]+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				s.play(&play{TB: t, world: newFakeWorld(t)}, pair[0], pair[1])
			})
		}
	}
}

func TestRealEtcdKeepsTheContractOfMixedMinors(t *testing.T) {
	for _, pair := range minors {
		for _, s := range mixedScenarios {
			t.Run(pair[1]+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				if pair[1] == needs.Next {
					needs.Full(t, "the gate builds no pre-release")
				}
				s.play(&play{TB: t, world: newRealWorld(t, pair[0])}, pair[0], pair[1])
			})
		}
	}
}

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

// bootstrappedAs bootstraps a, b and c with one version.
func (p *play) bootstrappedAs(version string) {
	p.Helper()
	for _, name := range three {
		p.start(fresh(name, three...).of(version))
	}
	p.serving(three...)
}

// becomes restarts a member with another version, on its data.
func (p *play) becomes(name, version string) {
	p.Helper()
	p.stop(name)
	p.start(sealed(name).of(version))
	p.serving(name)
}

// endedWith wants a member to end, and to say why in what it printed. How much of that the kubelet keeps is left to the
// crashes: other goroutines print on until the process is gone, and may push the words out.
func (p *play) endedWith(name string, want etcdutil.ExitReason) {
	p.Helper()
	last := p.exit(name)
	if got := etcdutil.Classify(last.code, last.log); got != want {
		p.Fatalf("%s ended with %s, want %s; exit code %d and\n%s", name, got, want, last.code, last.message)
	}
}

// agreed waits until each member says that the cluster is of this version's minor.
func (p *play) agreed(version string, names ...string) {
	p.Helper()
	for _, name := range names {
		p.until(name+" is in a cluster of "+version, func() bool { return p.clusterMinor(name) == minorOf(p, version) })
	}
}

// staysAt wants the cluster version unmoved for longer than a leader needs to move it.
func (p *play) staysAt(version string, names ...string) {
	p.Helper()
	for begun := p.now(); p.now().Sub(begun) < steady; p.pass() {
		for _, name := range names {
			if said := p.clusterMinor(name); said != "" && said != minorOf(p, version) {
				p.Fatalf("%s is in a cluster of %s", name, said)
			}
		}
	}
	p.agreed(version, names...)
}

// stored waits until each member's data is in the format of this version's minor, where members say so.
func (p *play) stored(version string, names ...string) {
	p.Helper()
	for _, name := range names {
		p.until(name+" stores as "+version, func() bool {
			said := p.status(name)
			return said.StorageVersion == "" || minorOf(p, said.StorageVersion) == minorOf(p, version)
		})
	}
}

func (p *play) snapshots(name string) uint64 {
	p.Helper()
	saved, err := p.dial(name).SnapshotsSaved(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return saved
}

func (p *play) clusterMinor(name string) string {
	p.Helper()
	text, err := p.dial(name).ClusterVersion(p.Context())
	if err != nil || text == "" {
		return ""
	}
	return minorOf(p, text)
}

func minorOf(p *play, version string) string { return versionOf(p, version).MinorString() }

func versionOf(p *play, version string) etcdutil.Version {
	p.Helper()
	v, err := etcdutil.ParseVersion(version)
	if err != nil {
		p.Fatal(err)
	}
	return v
}
