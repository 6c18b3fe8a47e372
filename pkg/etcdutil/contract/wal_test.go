package contract

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// logged starts a member whose write-ahead log lies on a directory of its own.
func (w *realWorld) logged(l launch) {
	w.t.Helper()
	w.run(l.name, append(w.args(l), "--wal-dir="+filepath.Join(w.root, logOf(l.dir)))...)
}

func logOf(dir string) string { return dir + "-wal" }

// bootstrapLogged is a cluster of such members.
func (p *play) bootstrapLogged(w *realWorld, names ...string) {
	p.Helper()
	for _, name := range names {
		w.logged(fresh(name, names...))
	}
	p.serving(names...)
	p.accepted(p.writing(names[0]))
}

// etcd goes by its log alone. Beside an empty one it takes a full data directory for a new member's, so what follows is
// what the flags say: see docs/decisions/0050-a-volume-may-have-two-halves.md.
func TestAMemberWithoutItsLogStopsBesideItsData(t *testing.T) {
	empties := map[string]func(w *realWorld, dir string){
		"its directory is gone":  (*realWorld).wipe,
		"its directory is empty": (*realWorld).empty,
	}
	for _, version := range needs.AllReleases {
		for how, lose := range empties {
			t.Run(version+" "+how, func(t *testing.T) {
				t.Parallel()
				w := newRealWorld(t, version)
				p := &play{TB: t, world: w}
				names := []string{"a", "b", "c"}
				p.bootstrapLogged(w, names...)
				lost := p.followers(names...)[0]
				p.stop(lost)
				lose(w, logOf(lost))
				peer, _ := p.others(lost)
				for range 2 { // the first attempt leaves nothing that the second one starts from
					p.endsWithoutLog(w, sealed(lost))
				}
				p.accepted(p.writing(peer))
				for _, other := range names {
					if other != lost {
						p.stop(other)
					}
				}
				p.endsWithoutLog(w, sealed(lost))
			})
		}
	}
}

// An older release of the operator makes Pods without --wal-dir.
func TestAMemberThatIsNotToldWhereItsLogLiesStopsBesideItsData(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			p := &play{TB: t, world: w}
			p.bootstrapLogged(w, "a")
			before := p.status("a")
			p.stop("a")
			w.start(sealed("a"))
			if got := p.exit("a").reason(); got != etcdutil.ExitDataEmpty {
				p.Errorf("it ends as %s: %s", got, p.exit("a").message)
			}
			w.logged(sealed("a")) // nothing was lost by that
			p.serving("a")
			if after := p.status("a"); after.MemberID != before.MemberID || after.Revision != before.Revision {
				p.Errorf("before %+v, after %+v: want the same member with its data", before, after)
			}
		})
	}
}

// This is why the guard starts no first member on one half of its volume: those flags keep it from nothing while no peer
// answers in time.
func TestUnderTheFlagsOfAFirstMemberAnEmptyLogIsBegunBesideTheData(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			p := &play{TB: t, world: w}
			p.bootstrapLogged(w, "a")
			p.stop("a")
			w.empty(logOf("a"))
			w.logged(fresh("a", "a"))
			p.until("it begins a log", func() bool { return w.hasLog("a") })
		})
	}
}

// endsWithoutLog starts a member and wants it to stop, without a log that a later start could go on from.
func (p *play) endsWithoutLog(w *realWorld, l launch) {
	p.Helper()
	w.logged(l)
	if got := p.exit(l.name).reason(); got != etcdutil.ExitDataEmpty {
		p.Errorf("%s ends as %s: %s", l.name, got, p.exit(l.name).message)
	}
	if w.hasLog(l.dir) {
		p.Errorf("%s left a log", l.name)
	}
}

func (w *realWorld) hasLog(dir string) bool {
	logs, err := filepath.Glob(filepath.Join(w.root, logOf(dir), "*.wal"))
	return err == nil && len(logs) > 0
}

// empty leaves a directory without anything in it, as a new volume is mounted.
func (w *realWorld) empty(dir string) {
	w.wipe(dir)
	if err := os.Mkdir(filepath.Join(w.root, dir), 0o700); err != nil {
		w.t.Fatal(err)
	}
}
