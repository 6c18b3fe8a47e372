package observe

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Three members of real etcd hold the same. What is asked: does the operator ever take one of them for wrong?

func TestAMemberThatStartedSinceTheNewestRevisionWasCompactedIsComparedWithThoseThatCompactedIt(t *testing.T) {
	onReal(t, func(e *trio) {
		e.put("kept", "changed", "changed", "gone")
		e.compact(e.remove("gone"))
		e.restart(2)
		var early, since etcd.Hash
		e.until("the hash that a process remembers is not that of a new one", func() bool {
			early, since = e.hash(0), e.hash(2)
			if early == since { // it had not ended its compaction, and did when it started
				e.restart(2)
			}
			return early.Revision == since.Revision && early.CompactRevision != since.CompactRevision
		})
		if seen := e.seen(); !e.areSame(seen) {
			t.Errorf("%+v and %+v were told, and the operator makes of it %s", early, since, e.says(seen))
		}
	})
}

func TestNoMemberIsTakenForWrongForHistoryThatItsCompactionHasYetToTakeAwayWhereNoKeyIsLeft(t *testing.T) {
	onReal(t, func(e *trio) {
		for i := range 40 {
			e.put(fmt.Sprintf("key-%d", i))
		}
		e.compact(e.put("last"))
		e.remove("")
		between := e.put("brief")
		e.remove("brief")
		e.restart(2, e.compactsSlowly()...)
		e.compact(between)
		e.until("a member that compacts hashes what the others do not", func() bool {
			own, done, other := e.hash(2), e.hash(1), e.hash(0)
			return done == other && own.Hash != done.Hash && own.Revision == done.Revision &&
				own.CompactRevision == done.CompactRevision
		})
		seen := e.seen()
		for _, r := range seen.Members {
			if seen.StandsAlone(r) || seen.CopiesDiffer() {
				t.Errorf("%s is taken for wrong: %s", r.Name, e.says(seen))
			}
		}
		e.put("new")
		e.until("all have applied it", func() bool { seen = e.seen(); return areTold(seen) })
		if !e.areSame(seen) {
			t.Errorf("with a key the operator makes of it %s", e.says(seen))
		}
		e.remove("new")
		e.restart(2)
		e.until("all hold the same once the compaction is done", func() bool { return e.areSame(e.seen()) })
	})
}

func onReal(t *testing.T, test func(e *trio)) {
	root := needs.Etcd(t)
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			e := &trio{T: t, version: version, program: filepath.Join(root, version, "etcd"), root: t.TempDir()}
			for i := range e.members {
				e.members[i].host = fmt.Sprintf("127.%d.%d.%d", 10+os.Getpid()%200, 250, hosts.Add(1))
			}
			for i := range e.members {
				e.start(i)
			}
			e.until("it serves", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := e.client(0).Get(ctx, "key")
				return err == nil
			})
			test(e)
		})
	}
}

// hosts counts the addresses given out.
var hosts atomic.Uint32

// trio is a cluster of real processes, each at a loopback address of its own.
type trio struct {
	*testing.T
	version, program, root string
	members                [3]struct {
		host    string
		process *exec.Cmd
		asked   etcd.Client
	}
}

func (e *trio) start(i int, extra ...string) {
	e.Helper()
	var initial []string
	for n, m := range e.members {
		initial = append(initial, fmt.Sprintf("demo-%d=http://%s:2380", n, m.host))
	}
	m := &e.members[i]
	m.process = exec.Command(e.program, append([]string{
		fmt.Sprintf("--name=demo-%d", i), "--data-dir=" + filepath.Join(e.root, m.host),
		"--listen-peer-urls=http://" + m.host + ":2380", "--initial-advertise-peer-urls=http://" + m.host + ":2380",
		"--listen-client-urls=http://" + m.host + ":2379", "--advertise-client-urls=http://" + m.host + ":2379",
		"--initial-cluster=" + strings.Join(initial, ","), "--unsafe-no-fsync=true", "--log-level=error",
	}, extra...)...)
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.process.Start(); err != nil {
		e.Fatal(err)
	}
	process := m.process
	e.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	asked, err := dial.EtcdDialer{}.Dial(etcd.Endpoint{Address: m.host + ":2379"})
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = asked.Close() })
	m.asked = asked
}

// restart kills a process and starts the next one, until that has all that the others have.
func (e *trio) restart(i int, extra ...string) {
	e.Helper()
	_ = e.members[i].process.Process.Kill()
	_ = e.members[i].process.Wait()
	e.start(i, extra...)
	e.until("it has all that the others have", func() bool {
		own, err := e.members[i].asked.Status(e.Context())
		return err == nil && own.Leader != 0 && own.Revision == e.status(0).Revision
	})
}

// compactsSlowly makes a compaction last as long as the test.
func (e *trio) compactsSlowly() []string {
	prefix := "--"
	if e.version < "3.6" {
		prefix = "--experimental-"
	}
	return []string{prefix + "compaction-batch-limit=5", prefix + "compaction-sleep-interval=1h"}
}

func (e *trio) until(what string, so func() bool) {
	e.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
		if so() {
			return
		}
	}
	e.Fatalf("it never came to this: %s", what)
}

func (e *trio) client(i int) *clientv3.Client {
	e.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.members[i].host + ":2379"}, Logger: zap.NewNop()})
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = c.Close() })
	return c
}

// put writes keys, and returns the revision that is reached.
func (e *trio) put(keys ...string) (revision int64) {
	e.Helper()
	c := e.client(0)
	for _, key := range keys {
		put, err := c.Put(e.Context(), key, "value")
		if err != nil {
			e.Fatal(err)
		}
		revision = put.Header.Revision
	}
	return revision
}

// remove deletes a key, or with "" all, and returns the revision that is reached.
func (e *trio) remove(key string) int64 {
	e.Helper()
	var options []clientv3.OpOption
	if key == "" {
		options = append(options, clientv3.WithPrefix())
	}
	removed, err := e.client(0).Delete(e.Context(), key, options...)
	if err != nil {
		e.Fatal(err)
	}
	return removed.Header.Revision
}

func (e *trio) compact(revision int64) {
	e.Helper()
	if err := e.members[0].asked.Compact(e.Context(), revision); err != nil {
		e.Fatal(err)
	}
}

func (e *trio) status(i int) (s etcd.Status) {
	e.Helper()
	e.until("it answers", func() bool {
		var err error
		s, err = e.members[i].asked.Status(e.Context())
		return err == nil
	})
	return s
}

// hash is what a member says of the lowest revision that all have.
func (e *trio) hash(i int) (h etcd.Hash) {
	e.Helper()
	lowest := min(e.status(0).Revision, e.status(1).Revision, e.status(2).Revision)
	e.until("it tells a hash", func() bool {
		var err error
		h, err = e.members[i].asked.HashKV(e.Context(), lowest)
		return err == nil
	})
	return h
}

// seen is the cluster as the operator sees it once it has asked for hashes.
func (e *trio) seen() facts.Incarnation {
	e.Helper()
	s := survey{clients: map[string]etcd.Client{}}
	seen := facts.Incarnation{Membership: facts.Membership{Known: true}}
	for i := range e.members {
		status := e.status(i)
		r := facts.Replica{Name: fmt.Sprintf("demo-%d", i), Member: &etcdutil.Member{ID: status.MemberID},
			Answer: &facts.Answer{Revision: status.Revision, DBSize: status.DBSize}}
		s.clients[r.Name] = e.members[i].asked
		seen.Members = append(seen.Members, r)
	}
	s.addHashes(e.Context(), seen.Members)
	return seen
}

// areTold reports that each member told a hash that counts. None does while one of them has yet to apply the only key.
func areTold(seen facts.Incarnation) bool {
	return !slices.ContainsFunc(seen.Members, func(r facts.Replica) bool { return r.Answer.Hash == nil })
}

// areSame reports that each member is heard to hold what a majority holds.
func (e *trio) areSame(seen facts.Incarnation) bool {
	for _, r := range seen.Members {
		if r.Answer.Hash == nil || !seen.HasMajority(*r.Answer.Hash) {
			return false
		}
	}
	return true
}

func (e *trio) says(seen facts.Incarnation) (says string) {
	for _, r := range seen.Members {
		says += fmt.Sprintf("%s %+v; ", r.Name, r.Answer.Hash)
	}
	return says
}
