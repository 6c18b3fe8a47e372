package backup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// withDatabase reads a database that is ours.
func withDatabase(path string, do func(tx *bolt.Tx) error) error {
	_, err := within(path, func(dir *os.Root, name string) (struct{}, error) {
		return readDatabase(dir, name, func(tx *bolt.Tx, _ *tree) (struct{}, error) { return struct{}{}, do(tx) })
	})
	return err
}

// Of a copy as it is, and as if the members had compacted since.
func TestKeysThatAreNotRememberedAtOnceAreCountedAndHashedAsOthers(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 6))
			l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
			defer l.close()
			l.change(r, 30+r.IntN(40))
			if seed%2 == 0 {
				l.compact(2 + r.Int64N(8))
			}
			l.change(r, r.IntN(20))
			facts, err := Inspect(l.copy())
			must(t, err)
			must(t, withDatabase(l.copy(), func(tx *bolt.Tx) error {
				for compact := max(10, facts.CompactRevision); compact <= facts.Revision; compact += 3 {
					sameInPasses(t, tx, span{revision: facts.Revision, compact: compact})
				}
				sameInPasses(t, tx, facts.span())
				return nil
			}))
		})
	}
}

// sameInPasses requires of few keys at a time what is said of all at once.
func sameInPasses(t *testing.T, tx *bolt.Tx, s span) {
	t.Helper()
	sum, live, err := databaseOf(tx).hashSpan(s, nil)
	must(t, err)
	for _, most := range []int64{3, 5} {
		d := databaseOf(tx)
		d.keysAtOnce = most
		inPasses, liveInPasses, err := d.hashSpan(s, nil)
		must(t, err)
		if inPasses != sum || liveInPasses != live {
			t.Errorf("%+v: %d at once hash to %d, and %d live; all at once to %d, and %d live", s, most, inPasses, liveInPasses, sum, live)
		}
	}
	if once := (&counting{span: s, passes: 1, seen: newKeySet(1)}); !s.settled && !errors.Is(once.count(databaseOf(tx)), errTooManyKeys) {
		t.Errorf("%+v: one pass was enough for one key at a time", s)
	}
}

// The member compacts after the snapshot, so that the copy has much that the member has not.
func TestEveryReleaseThatCompactedSinceAgreesWithKeysThatAreNotRememberedAtOnce(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, version, 1, false)
			c.fill()
			copied := c.snapshot()
			facts, err := Inspect(copied)
			must(t, err)
			_, err = c.client.Compact(t.Context(), facts.Revision-20, clientv3.WithCompactPhysical())
			must(t, err)
			said, err := c.client.HashKV(t.Context(), c.endpoints[0].URL, facts.Revision)
			must(t, err)
			must(t, withDatabase(copied, func(tx *bolt.Tx) error {
				d := databaseOf(tx)
				d.keysAtOnce = 7
				sum, live, err := d.hashSpan(span{revision: facts.Revision, compact: said.CompactRevision}, nil)
				if sum != said.Hash || live != c.keys() || said.CompactRevision != facts.Revision-20 {
					t.Errorf("the member says %+v and has %d keys; we say %d and %d", said, c.keys(), sum, live)
				}
				return err
			}))
		})
	}
}

// snapshot is a file with what the member has.
func (c *cluster) snapshot() string {
	c.t.Helper()
	stream, err := c.client.Snapshot(context.Background())
	must(c.t, err)
	defer stream.Close()
	file, err := os.Create(filepath.Join(c.root, "snapshot.db"))
	must(c.t, err)
	defer file.Close()
	_, err = io.Copy(file, stream)
	must(c.t, err)
	return file.Name()
}

func TestMemoryDoesNotGrowWithTheNumberOfKeys(t *testing.T) {
	needs.Alone(t, hashManyKeys)
}

func hashManyKeys(t *testing.T) {
	const keys, revisions, atOnce, most = 50_000, 2, 4_000, 512 << 10
	path := filepath.Join(t.TempDir(), "db")
	putTiny(t, path, keys, revisions)
	must(t, withDatabase(path, func(tx *bolt.Tx) error {
		// Nothing is compacted in the file, and all is in the cluster.
		s := span{revision: 1 + keys*revisions, compact: 1 + keys*revisions}
		sum, live, err := databaseOf(tx).hashSpan(s, nil)
		must(t, err)
		d := databaseOf(tx)
		d.keysAtOnce = atOnce
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		inPasses, liveInPasses, err := d.hashSpan(s, nil)
		runtime.ReadMemStats(&after)
		must(t, err)
		if inPasses != sum || liveInPasses != keys || live != keys {
			t.Errorf("%d at once hash to %d, and %d live; all at once to %d, and %d live", atOnce, inPasses, liveInPasses, sum, live)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%d keys took %d bytes, with %d remembered at once", keys, took, atOnce)
		}
		return nil
	}))
	if room := len(newKeySet(keysAtOnce).slots) * 8; room > 16<<20 {
		t.Errorf("the keys that are remembered at once take %d bytes", room)
	}
}

// putTiny makes a database in which each of so many keys was put so often.
func putTiny(t testing.TB, path string, keys, revisions int) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(bucketMeta)
		must(t, err)
		bucket, err := tx.CreateBucket(bucketKey)
		must(t, err)
		bucket.FillPercent = 1
		for i := range keys * revisions {
			key, version := i%keys, i/keys
			value, err := proto.Marshal(&mvccpb.KeyValue{
				Key: fmt.Appendf(nil, "%d", key), CreateRevision: int64(key + 2), ModRevision: int64(i + 2), Version: int64(version + 1),
			})
			must(t, err)
			revision := append(binary.BigEndian.AppendUint64(nil, uint64(i+2)), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
			must(t, bucket.Put(revision, value))
		}
		return nil
	}))
	must(t, db.Close())
}
