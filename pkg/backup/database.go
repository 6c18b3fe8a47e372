package backup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// errUnreadable marks a file that is not a sound database.
var errUnreadable = errors.New("the database is not readable")

// within reads a file below its directory: no link that lies there leads out of it.
func within[T any](path string, read func(dir *os.Root, name string) (T, error)) (T, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		var none T
		return none, err
	}
	defer dir.Close()
	return read(dir, filepath.Base(path))
}

// readDatabase opens a copy that nothing writes any more, read-only. Others may have made the file. Its pages
// are checked before bbolt follows them. A damaged page makes bbolt panic, and one past the end faults; both are errors
// here.
func readDatabase[T any](dir *os.Root, name string, read func(tx *bolt.Tx, t *tree) (T, error)) (out T, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, p)
		}
	}()
	var file *os.File
	db, err := bolt.Open(name, 0o400, &bolt.Options{ReadOnly: true, Timeout: 5 * time.Second,
		OpenFile: func(string, int, fs.FileMode) (_ *os.File, err error) {
			file, err = openPlain(dir, name)
			return file, err
		}})
	if err != nil {
		return out, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		t, err := checkTree(tx, file)
		if err != nil {
			return err
		}
		if tx.Bucket(bucketKey) == nil || tx.Bucket(bucketMeta) == nil {
			return fmt.Errorf("%w: it is not etcd's", errUnreadable)
		}
		out, err = read(tx, t)
		return err
	})
	return out, err
}

// openPlain opens a file that others may have put there: a link is not followed, and a pipe, whose opening may never
// end, is not opened. Who could put it there has ended.
func openPlain(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a plain file", path.Base(name))
	}
	return dir.Open(name)
}

// readPlain reads a small file that others may have put there.
func readPlain(dir *os.Root, name string) ([]byte, error) {
	file, err := openPlain(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxManifest))
}

// database is walked over all its keys.
type database struct {
	keys    *bolt.Bucket
	address uintptr // where the file is mapped
	size    uintptr
	behind  int // bytes visited since pages were last given back

	keysAtOnce int64
}

func databaseOf(tx *bolt.Tx) *database {
	return &database{keys: tx.Bucket(bucketKey), address: tx.DB().Info().Data, size: mapped(tx), keysAtOnce: keysAtOnce}
}

// mapped is how many bytes of the file are mapped for certain: one that was cut off is shorter than it says itself.
func mapped(tx *bolt.Tx) uintptr {
	file, err := os.Stat(tx.DB().Path())
	if err != nil {
		return 0
	}
	return uintptr(max(0, min(tx.Size(), file.Size())))
}

// mappedBound is how much of the file may count as our memory before its pages are given back.
const mappedBound = 4 << 20

// passed gives the pages back that were read so far: the file is mapped, and all that was looked at would count as
// memory of this process, up to the size of the database. What is still needed is mapped again when it is touched.
func (d *database) passed(n int) {
	d.behind += n
	if d.behind < mappedBound {
		return
	}
	d.behind = 0
	// It is advice: without it everything works, and takes more.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, d.address, d.size, syscall.MADV_DONTNEED)
}

// Buckets and keys of etcd's database (etcd-io/etcd:server/storage/schema/bucket.go).
var (
	bucketKey     = []byte("key")
	bucketMeta    = []byte("meta")
	bucketAuth    = []byte("auth")
	bucketUsers   = []byte("authUsers")
	bucketRoles   = []byte("authRoles")
	bucketLease   = []byte("lease")
	bucketAlarm   = []byte("alarm")
	bucketCluster = []byte("cluster")

	keyScheduledCompact = []byte("scheduledCompactRev")
	keyFinishedCompact  = []byte("finishedCompactRev")
	keyStorageVersion   = []byte("storageVersion")
	keyAuthEnabled      = []byte("authEnabled")
	keyClusterVersion   = []byte("clusterVersion")
)

// A revision as a key: eight bytes, '_', eight bytes, and 't' for a tombstone
// (etcd-io/etcd:server/storage/mvcc/revision.go).
const (
	revisionLen  = 17
	tombstoneLen = 18
)

var errEntry = errors.New("an entry of the database is not etcd's")

// span is the part of the keys that is looked at: up to revision, as a store compacted at compact has it.
type span struct {
	revision, compact int64
	// settled says that the compaction has removed all it is to remove. Otherwise entries are still there that etcd
	// already takes for gone.
	settled bool
}

// entry is one revision of one key.
type entry struct {
	place           int64 // among all entries, from 1 for the oldest: a transaction's entries share their main revision
	main            int64
	size            int // of what is stored of it
	tombstone       bool
	key             []byte
	create, version int64
}

func parseEntry(k, v []byte) (entry, error) {
	if len(k) != revisionLen && (len(k) != tombstoneLen || k[revisionLen] != 't') || k[8] != '_' {
		return entry{}, errEntry
	}
	e := entry{main: int64(binary.BigEndian.Uint64(k)), size: len(k) + len(v), tombstone: len(k) == tombstoneLen}
	if e.main < 0 {
		return entry{}, errEntry
	}
	return e, e.parseValue(v)
}

// parseValue reads what is needed of a mvccpb.KeyValue without copying the value.
func (e *entry) parseValue(v []byte) error {
	for len(v) > 0 {
		number, kind, n := protowire.ConsumeTag(v)
		if n < 0 {
			return errEntry
		}
		v = v[n:]
		switch {
		case number == 1 && kind == protowire.BytesType:
			e.key, n = protowire.ConsumeBytes(v)
		case number == 2 && kind == protowire.VarintType:
			e.create, n = consumeInt(v)
		case number == 4 && kind == protowire.VarintType:
			e.version, n = consumeInt(v)
		default:
			n = protowire.ConsumeFieldValue(number, kind, v)
		}
		if n < 0 {
			return errEntry
		}
		v = v[n:]
	}
	return nil
}

func consumeInt(v []byte) (int64, int) {
	value, n := protowire.ConsumeVarint(v)
	return int64(value), n
}

// hashSpan is etcd's HashKV of the span: the CRC-32C of the bucket's name and of every entry, where those at or below
// the compaction count only if they are their key's newest (etcd-io/etcd:server/storage/mvcc/hash.go). etcd keeps its
// whole index in memory for it; this takes the file as it is, more than once. Where no key exists any more etcd counts
// all that its compaction has left, which is what was newest then.
func (d *database) hashSpan(s span, w *weights) (sum uint32, live int64, err error) {
	live, old, err := d.census(s, w)
	if err == nil && live == 0 {
		_, old, err = d.census(span{revision: s.compact, compact: s.compact, settled: s.settled}, nil)
	}
	if err != nil {
		return 0, 0, err
	}
	sum = crc32.Checksum(bucketKey, castagnoli)
	err = d.forEach(s.revision, func(e entry, k, v []byte) {
		if e.main <= s.compact && (e.tombstone || old.has(e.place)) {
			return
		}
		if e.main == s.compact && e.tombstone {
			return // whether it is still there depends on the release
		}
		sum = crc32.Update(crc32.Update(sum, castagnoli, k), castagnoli, v)
	})
	return sum, live, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// forEach visits the entries up to a revision in their order. Where they are in none, pages of several moments make up
// the database: its files were copied while etcd wrote.
func (d *database) forEach(revision int64, visit func(e entry, k, v []byte)) error {
	cursor, place, last := d.keys.Cursor(), int64(0), []byte(nil)
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		if bytes.Compare(k, last) <= 0 {
			return fmt.Errorf("%w: key %x follows %x", errEntry, k, last)
		}
		last = k
		e, err := parseEntry(k, v)
		if err != nil {
			return fmt.Errorf("%w: key %x", err, k)
		}
		if e.main > revision {
			return nil
		}
		place++
		e.place = place
		visit(e, k, v)
		d.passed(e.size)
	}
	return nil
}
