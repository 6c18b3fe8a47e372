package backup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/encoding/protowire"
)

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
	tombstone       bool
	key             []byte
	create, version int64
}

func parseEntry(k, v []byte) (entry, error) {
	if len(k) != revisionLen && (len(k) != tombstoneLen || k[revisionLen] != 't') || k[8] != '_' {
		return entry{}, errEntry
	}
	e := entry{main: int64(binary.BigEndian.Uint64(k)), tombstone: len(k) == tombstoneLen}
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
func (d *database) hashSpan(s span) (sum uint32, live int64, err error) {
	live, old, err := d.census(s)
	if err == nil && live == 0 {
		_, old, err = d.census(span{revision: s.compact, compact: s.compact, settled: s.settled})
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
		d.passed(len(k) + len(v))
	}
	return nil
}
