package backup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"google.golang.org/protobuf/proto"
)

func TestAPrefixEndsAtItsDepthAndNeverInAName(t *testing.T) {
	long := strings.Repeat("n", longestPrefix)
	for _, row := range []struct {
		key   string
		depth int
		want  string
	}{
		{"/registry/pods/default/web-0", 2, "/registry/pods/"},
		{"/registry/pods/default/web-0", 1, "/registry/"},
		{"/registry/pods/default/web-0", 3, "/registry/pods/default/"},
		{"/registry/pods/default/web-0", 8, "/registry/pods/default/"},
		{"/registry/ranges/serviceips", 2, "/registry/ranges/"},
		{"/registry/health", 2, "/registry/"},
		{"a", 2, ""}, {"b:c", 2, ""}, {"", 2, ""},
		{"team/a", 2, "team/"}, {"team/a/b", 2, "team/a/"}, {"team/a/b/c", 2, "team/a/"},
		{"/a", 2, "/"}, {"//a", 1, "//"}, {"a//b", 2, "a//"},
		{"\x00\xff/\x01/name", 2, "\x00\xff/\x01/"},
		{long + "/name", 2, ""}, {"a/" + long + "/name", 2, "a/"},
	} {
		if got := string(prefixOf([]byte(row.key), row.depth)); got != row.want {
			t.Errorf("%q at depth %d counts below %q, and should below %q", row.key, row.depth, got, row.want)
		}
	}
}

func TestAPrefixThatIsNoPrintableTextIsQuoted(t *testing.T) {
	for prefix, want := range map[string]string{
		"/registry/pods/": "/registry/pods/", "": "", "größe/": "größe/",
		"\xff/": `"\xff/"`, "\x1b[2J/": `"\x1b[2J/"`, "a\nb/": `"a\nb/"`, `"a"/`: `"\"a\"/"`, "\u202e/": `"\u202e/"`,
	} {
		if got := shown(prefix); got != want {
			t.Errorf("%q is shown as %s, and should be as %s", prefix, got, want)
		}
	}
}

// paths are keys of every kind, few enough to be changed, deleted and made again.
var paths = []string{"a", "b:c", "/r/pods/x/1", "/r/pods/y/2", "/r/pods/y/3", "/r/events/x/1", "/r/one", "team/z", "\xff/\x00/1"}

// changePaths makes n random changes to them.
func (l *library) changePaths(r *rand.Rand, n int) {
	for range n {
		txn := l.store.Write(traceutil.TODO())
		for _, i := range r.Perm(len(paths))[:1+r.IntN(3)] {
			if r.IntN(3) == 0 {
				txn.DeleteRange([]byte(paths[i]), nil)
			} else {
				txn.Put([]byte(paths[i]), make([]byte, r.IntN(100)), lease.NoLease)
			}
		}
		txn.End()
	}
}

// counted is what etcd's own store says of each prefix, and what is in the file.
func (l *library) counted(path string, depth int) map[string]Prefix {
	l.t.Helper()
	all := map[string]Prefix{}
	add := func(key []byte, keys, bytes, revisions int64) {
		p := all[string(prefixOf(key, depth))]
		p.Keys, p.Bytes, p.Revisions = p.Keys+keys, p.Bytes+bytes, p.Revisions+revisions
		all[string(prefixOf(key, depth))] = p
	}
	result, err := l.store.Range(l.t.Context(), []byte{0}, []byte{}, mvcc.RangeOptions{})
	must(l.t, err)
	for _, kv := range result.KVs {
		add(kv.Key, 1, 0, 0)
	}
	must(l.t, withDatabase(path, func(tx *bolt.Tx) error {
		return tx.Bucket(bucketKey).ForEach(func(k, v []byte) error {
			var kv mvccpb.KeyValue
			must(l.t, proto.Unmarshal(v, &kv))
			add(kv.Key, 0, int64(len(k)+len(v)), 1)
			return nil
		})
	}))
	return all
}

func TestEachPrefixHasTheKeysThatEtcdCountsAfterAnyHistory(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
			defer l.close()
			l.changePaths(r, 20+r.IntN(40))
			if seed%4 != 0 {
				l.compact(2 + r.Int64N(l.store.Rev()-2))
			}
			l.changePaths(r, r.IntN(30))
			copied, depth := l.copy(), 1+r.IntN(3)
			facts, err := Inspect(copied)
			must(t, err)
			want := l.counted(copied, depth)
			must(t, withDatabase(copied, func(tx *bolt.Tx) error {
				// The members may have compacted since, and not all keys are remembered at once.
				for compact := facts.CompactRevision; compact <= facts.Revision; compact += 5 {
					d, w := databaseOf(tx), weighing(depth)
					d.keysAtOnce = 1 + r.Int64N(12)
					_, _, err := d.hashSpan(span{revision: facts.Revision, compact: compact}, w)
					must(t, err)
					got := map[string]Prefix{}
					for prefix, p := range w.prefixes {
						got[prefix] = *p
					}
					if !maps.Equal(got, want) {
						t.Errorf("compacted at %d, %d keys at once: we say %+v, etcd %+v", compact, d.keysAtOnce, got, want)
					}
				}
				return nil
			}))
		})
	}
}

// putNames makes a database with these keys, each of which was put once, with a value of so many bytes.
func putNames(t *testing.T, keys []string, bytes func(i int) int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(bucketMeta)
		must(t, err)
		bucket, err := tx.CreateBucket(bucketKey)
		must(t, err)
		for i, key := range keys {
			value, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte(key), CreateRevision: int64(i + 2), ModRevision: int64(i + 2),
				Version: 1, Value: make([]byte, bytes(i))})
			must(t, err)
			must(t, bucket.Put(append(binary.BigEndian.AppendUint64(nil, uint64(i+2)), "_\x00\x00\x00\x00\x00\x00\x00\x00"...), value))
		}
		return nil
	}))
	must(t, db.Close())
	return path
}

func TestOfMorePrefixesThanAreRememberedTheLargestAreFoundAndTheirFiguresAreExact(t *testing.T) {
	const number = 30_000
	keys := make([]string, number)
	for i := range keys {
		keys[i] = fmt.Sprintf("job-%d/log/1", i)
		if i%100 == 99 {
			keys[i] = fmt.Sprintf("large-%d/log/%d", i/100%10, i)
		}
	}
	path := putNames(t, keys, func(i int) int {
		if i%100 == 99 {
			return 100 - 5*(i/100%10) // large-0 is the largest
		}
		return 10
	})
	must(t, withDatabase(path, func(tx *bolt.Tx) error {
		s, w, most := span{revision: number + 1}, weighing(1), 0
		must(t, databaseOf(tx).forEachBackwards(number+1, func(e entry, _ int64) error {
			w.add(e, 1)
			most = max(most, len(w.prefixes))
			return nil
		}))
		if most > 2*manyPrefixes || !w.rough {
			t.Errorf("%d of %d prefixes were remembered at once", most, number)
		}
		_, _, err := databaseOf(tx).census(s, w.again())
		must(t, err)
		for i, p := range w.largest(nil) {
			if want := fmt.Sprintf("large-%d/", i); p.Prefix != want || p.Keys != number/1000 || p.Revisions != number/1000 || p.Bytes < 80*p.Keys {
				t.Errorf("the largest are %+v; want %s with %d keys", p, want, number/1000)
			}
		}
		return nil
	}))
}

func TestOfFewPrefixesOneWalkSaysAll(t *testing.T) {
	w := weighing(2)
	for i := range 3 * manyPrefixes {
		w.add(entry{key: fmt.Appendf(nil, "/registry/kind-%d/x", i%50), size: 30}, 1)
	}
	if w.again() != nil || weighing(0).again() != nil {
		t.Error("they are weighed a second time")
	}
}

// compared is what the last step says of a cluster that was filled so.
func compared(t *testing.T, depth int, fill func(l *library)) (Compared, string) {
	t.Helper()
	l := newLiarOf(t, fill)
	bucket, _ := volumeBucket(t)
	o, _ := takeUnproven(t, bucket, l)
	restoreRestored(t, o.Scratch, l)
	options := compareOptions(o)
	options.LargestDepth = depth
	said, err := Compare(context.Background(), options)
	must(t, err)
	text, err := json.Marshal(said)
	must(t, err)
	return said, string(text)
}

func putAll(l *library, value string, keys ...string) {
	for _, key := range keys {
		txn := l.store.Write(traceutil.TODO())
		txn.Put([]byte(key), []byte(value), lease.NoLease)
		txn.End()
	}
}

func TestWhatAComparisonSaysHasNamesToTheDepthThatWasAskedForAndNeverAValue(t *testing.T) {
	fill := func(l *library) {
		putAll(l, "hush/hush/hush/value", "/registry/secrets/team/token", "/registry/secrets/team/key", "/registry/pods/team/web", "flat")
	}
	said, text := compared(t, 2, fill)
	if len(said.Largest) != 3 || said.Largest[0].Prefix != "/registry/secrets/" || said.Largest[0].Keys != 2 {
		t.Errorf("it says %s", text)
	}
	for _, hidden := range []string{"hush", "value", "team", "token", "web", "flat"} {
		if strings.Contains(text, hidden) {
			t.Errorf("it says %q: %s", hidden, text)
		}
	}
	if _, text := compared(t, 0, fill); strings.Contains(text, "largest") || strings.Contains(text, "registry") {
		t.Errorf("asked for none it says %s", text)
	}
}

func TestWhatAComparisonSaysIsKeptWholeHoweverLongTheNamesAre(t *testing.T) {
	const ofSevenContainers = 12 << 10 / 7
	for name, one := range map[string]string{"long": "n", "binary": "\x00", "html": "<"} {
		said, text := compared(t, 1, func(l *library) {
			for i := range 20 {
				putAll(l, "value", strings.Repeat(one, longestPrefix-3)+fmt.Sprintf("%02d/x", i))
			}
		})
		if len(text) > ofSevenContainers || len(said.Largest) == 0 {
			t.Errorf("%s names: it says %d bytes: %s", name, len(text), text)
		}
	}
	if said, text := compared(t, 1, func(l *library) {
		for i := range 20 {
			putAll(l, "value", fmt.Sprintf("%02d/x", i))
		}
	}); len(said.Largest) != mostLargest {
		t.Errorf("it says %s", text)
	}
}
