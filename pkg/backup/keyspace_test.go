package backup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"
)

// library is etcd's own store, which judges what we read and compute without it.
type library struct {
	t       testing.TB
	backend backend.Backend
	store   mvcc.WatchableKV
}

func openLibrary(t testing.TB, path string) *library {
	b := backend.NewDefaultBackend(zap.NewNop(), path)
	return &library{t: t, backend: b, store: mvcc.New(zap.NewNop(), b, &lease.FakeLessor{}, mvcc.StoreConfig{})}
}

// copy is the file as a snapshot would have it.
func (l *library) copy() string {
	l.t.Helper()
	l.store.Commit()
	path := filepath.Join(l.t.TempDir(), "copy.db")
	file, err := os.Create(path)
	must(l.t, err)
	defer file.Close()
	snapshot := l.backend.Snapshot()
	defer snapshot.Close()
	_, err = snapshot.WriteTo(file)
	must(l.t, err)
	return path
}

func (l *library) compact(revision int64) {
	l.t.Helper()
	done, err := l.store.Compact(traceutil.TODO(), revision)
	must(l.t, err)
	<-done
}

func (l *library) close() {
	l.store.Close()
	must(l.t, l.backend.Close())
}

// change makes n random changes to few keys, so that keys are changed, deleted and made again.
func (l *library) change(r *rand.Rand, n int) {
	for range n {
		txn := l.store.Write(traceutil.TODO())
		for _, n := range r.Perm(12)[:1+r.IntN(3)] { // etcd refuses a transaction that touches a key twice
			key := fmt.Appendf(nil, "key-%d", n)
			if r.IntN(3) == 0 {
				txn.DeleteRange(key, nil)
			} else {
				txn.Put(key, fmt.Appendf(nil, "%d", r.Uint64()), lease.NoLease)
			}
		}
		txn.End()
	}
}

func (l *library) live(revision int64) int64 {
	l.t.Helper()
	result, err := l.store.Range(l.t.Context(), []byte{0}, []byte{}, mvcc.RangeOptions{Rev: revision, CountOnly: true})
	must(l.t, err)
	return int64(result.Count)
}

// same requires that both say the same of the copy, at each revision that both can hash.
func (l *library) same(copied string, compact, last int64) {
	l.t.Helper()
	for revision := max(1, compact); revision <= last; revision++ {
		want, _, err := l.store.HashStorage().HashByRev(revision)
		must(l.t, err)
		if want.CompactRevision < compact {
			continue // remembered from the compaction itself: nobody can compute it again
		}
		got, err := HashKeys(copied, revision, max(0, want.CompactRevision))
		must(l.t, err)
		if got != want.Hash {
			l.t.Fatalf("revision %d, compacted at %d: we say %d, etcd %d", revision, want.CompactRevision, got, want.Hash)
		}
	}
}

// seeds are many small histories rather than one long: corners are near.
const seeds = 40

func TestOurHashAndCountAreThoseOfEtcdsOwnStore(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 4))
			l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
			defer l.close()
			l.change(r, 5+r.IntN(40))
			var compacted int64
			if seed%4 != 0 {
				compacted = 2 + r.Int64N(l.store.Rev()-2)
				l.compact(compacted)
			}
			l.change(r, r.IntN(30))
			copied, last := l.copy(), l.store.Rev()
			facts, err := Inspect(copied)
			must(t, err)
			if facts.Revision != last || facts.CompactRevision != compacted || facts.TotalKeys != l.live(last) {
				t.Fatalf("we say %+v; etcd has revision %d, compacted at %d, %d keys", facts, last, compacted, l.live(last))
			}
			l.same(copied, compacted, last)

			// The member compacts after the snapshot, up to the snapshot's very revision.
			l.change(r, r.IntN(5))
			later := compacted + 1 + r.Int64N(last-compacted)
			if seed%5 == 0 {
				later = last
			}
			l.compact(later)
			l.same(copied, later, last)
		})
	}
}

// Of a store that holds no key at all any more, etcd hashes what its compaction has left; what it has not left is in a snapshot
// from before.
func TestASnapshotFromBeforeACompactionOfNothingThatLivesIsHashedAsAfterIt(t *testing.T) {
	for name, compact := range map[string]int64{"at the last deletion": 6, "before the deletions": 4, "between them": 5} {
		t.Run(name, func(t *testing.T) {
			l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
			defer l.close()
			for _, key := range []string{"a", "a", "b", "-a", "-b"} { // revisions 2 to 6
				txn := l.store.Write(traceutil.TODO())
				if deleted, ok := strings.CutPrefix(key, "-"); ok {
					txn.DeleteRange([]byte(deleted), nil)
				} else {
					txn.Put([]byte(key), []byte("value"), lease.NoLease)
				}
				txn.End()
			}
			copied := l.copy()
			l.compact(compact)
			want, revision, err := l.store.HashStorage().HashByRev(0)
			must(t, err)
			got, err := HashKeys(copied, revision, want.CompactRevision)
			must(t, err)
			if got != want.Hash || want.CompactRevision != compact {
				t.Errorf("compacted at %d: we say %d, etcd %d", want.CompactRevision, got, want.Hash)
			}
		})
	}
}

// A snapshot may be of a member whose compaction is under way: its end is not recorded, and some entries are gone.
func TestACompactionUnderWayIsReadAsEtcdReadsIt(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 5))
			l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
			l.change(r, 20+r.IntN(40))
			if seed%2 == 0 {
				l.compact(2 + r.Int64N(5))
			}
			scheduled := 8 + r.Int64N(l.store.Rev()-8)
			copied := l.copy()
			l.close()
			schedule(t, copied, scheduled)
			facts, err := Inspect(copied)
			must(t, err)

			judge := filepath.Join(t.TempDir(), "judge.db")
			content, err := os.ReadFile(copied)
			must(t, err)
			must(t, os.WriteFile(judge, content, 0o600))
			l = openLibrary(t, judge)
			defer l.close()
			if facts.CompactRevision != scheduled || facts.settled || facts.TotalKeys != l.live(facts.Revision) {
				t.Fatalf("we say %+v; etcd has %d keys", facts, l.live(facts.Revision))
			}
			l.same(copied, scheduled, facts.Revision)
		})
	}
}

func schedule(t testing.TB, path string, revision int64) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketMeta).Put(keyScheduledCompact, mvcc.RevToBytes(mvcc.Revision{Main: revision}, mvcc.NewRevBytes()))
	}))
	must(t, db.Close())
}

func TestAnEmptyStoreIsAtRevisionOne(t *testing.T) {
	l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
	defer l.close()
	facts, err := Inspect(l.copy())
	must(t, err)
	if facts.Revision != 1 || facts.TotalKeys != 0 || facts.CompactRevision != 0 {
		t.Errorf("%+v", facts)
	}
	l.same(l.copy(), 0, 1)
}

func TestReadingADatabaseLeavesItAsItWas(t *testing.T) {
	l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
	l.change(rand.New(rand.NewPCG(1, 1)), 20)
	path := l.copy()
	l.close()
	before, err := os.ReadFile(path)
	must(t, err)
	facts, err := Inspect(path)
	must(t, err)
	_, err = HashKeys(path, facts.Revision, facts.CompactRevision)
	must(t, err)
	after, err := os.ReadFile(path)
	must(t, err)
	if string(before) != string(after) {
		t.Error("the file changed")
	}
}

func TestWhatIsNoDatabaseIsAnErrorAndNoPanic(t *testing.T) {
	l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
	l.change(rand.New(rand.NewPCG(2, 1)), 20)
	path := l.copy()
	l.close()
	sound, err := os.ReadFile(path)
	must(t, err)
	r := rand.New(rand.NewPCG(3, 1))
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	survived := 0
	for range 500 {
		content := append([]byte(nil), sound...)
		for range 1 + r.IntN(40) {
			content[r.IntN(len(content))] = byte(r.Uint32())
		}
		must(t, os.WriteFile(damaged, content[:r.IntN(len(content)+1)], 0o600))
		if _, err := Inspect(damaged); err == nil {
			survived++
		}
	}
	if survived > 400 {
		t.Errorf("%d of 500 damaged files were read: the damage did not hit", survived)
	}
}
