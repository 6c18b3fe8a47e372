package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"math/bits"

	bolt "go.etcd.io/bbolt"
)

// keysAtOnce is how many keys are remembered at once, whatever their number: in 16 MiB.
const keysAtOnce = 3<<19 - 1

// entryLeast is how many bytes of the file any entry takes: what its page says of it, and its revision.
const entryLeast = 16 + revisionLen

var errTooManyKeys = errors.New("there are more keys than are remembered at once")

// census counts the keys that exist at the span's revision, and finds which entries at or below the compaction were
// superseded later. It goes from the newest entry to the oldest and remembers the keys that it met; where these are too
// many, it goes several times, each time for another part of the keys. So memory is needed for keysAtOnce, and for one
// bit of each entry: of 100 million 12 MiB. It weighs what it visits.
func (d *database) census(s span, w *weights) (live int64, old superseded, err error) {
	c := counting{span: s, weights: w, passes: 1, seen: newKeySet(min(d.keysAtOnce, int64(d.size)/entryLeast))}
	for err = c.count(d); errors.Is(err, errTooManyKeys); err = c.count(d) {
		c.passes *= 2
	}
	return c.live, c.old, err
}

// counting is a census under way.
type counting struct {
	span
	weights      *weights
	pass, passes uint64

	seen *keySet
	live int64
	old  superseded // what was found so far stays true if there are to be more passes
}

func (c *counting) count(d *database) error {
	c.live = 0
	c.weights.begin()
	for c.pass = range c.passes {
		c.seen.empty()
		if err := d.forEachBackwards(c.revision, c.visit); err != nil {
			return err
		}
	}
	return nil
}

func (c *counting) visit(e entry, age int64) error {
	c.old.entries = age
	id := c.seen.id(e.key)
	if id>>1%c.passes != c.pass {
		return nil
	}
	live := c.live
	var err error
	if e.main > c.compact {
		err = c.after(e, id)
	} else {
		err = c.before(e, id, age)
	}
	c.weights.add(e, c.live-live)
	return err
}

// after takes note of an entry after the compaction, whose version says whether it makes, changes or ends a key. Its
// key is remembered only if it may have existed before.
func (c *counting) after(e entry, id uint64) error {
	switch {
	case e.tombstone:
		c.live--
	case e.version == 1:
		c.live++
	}
	if c.compact == 0 || !e.tombstone && e.create > c.compact {
		return nil
	}
	return c.seen.add(id, false)
}

// before takes note of an entry at or below the compaction. When that has removed all it is to remove, this is the only
// one of its key there, and need not be remembered.
func (c *counting) before(e entry, id uint64, age int64) error {
	known, before := c.seen.has(id)
	if known {
		c.old.mark(age)
	}
	if !before && !e.tombstone {
		c.live++
	}
	if c.settled {
		return nil
	}
	return c.seen.add(id, true)
}

// superseded are entries that are not their key's newest: a bit for each, the newest entry's first.
type superseded struct {
	bits    []uint64
	entries int64
}

// mark is of an entry by its age: 1 is the newest.
func (s *superseded) mark(age int64) {
	for age/64 >= int64(len(s.bits)) {
		s.bits = append(s.bits, 0)
	}
	s.bits[age/64] |= 1 << (age % 64)
}

// has is of an entry by its place: 1 is the oldest.
func (s *superseded) has(place int64) bool {
	age := s.entries + 1 - place
	return age/64 < int64(len(s.bits)) && s.bits[age/64]&(1<<(age%64)) != 0
}

// keySet is a set of keys, each by a hash and with one thing to know of it: whether it was met before the compaction.
// With 63 bits and a seed of its own a collision is less likely than a broken disk, and would be seen as one: a hash
// that differs.
type keySet struct {
	seed       maphash.Seed
	slots      []uint64 // a power of two of them; 0 is a free one, and the lowest bit is what is known of a key
	held, most int64
}

const metBefore = 1

// newKeySet has room for so many keys, and is less than three quarters full with them.
func newKeySet(most int64) *keySet {
	return &keySet{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<bits.Len64(uint64(most)*4/3)), most: most}
}

func (s *keySet) empty() {
	clear(s.slots)
	s.held = 0
}

// id is never 0, and its lowest bit is.
func (s *keySet) id(key []byte) uint64 { return max(maphash.Bytes(s.seed, key)&^metBefore, 2) }

// slot is where a key is, or is to be. Its highest bits say where that begins, since the lowest say which pass it is
// of.
func (s *keySet) slot(id uint64) *uint64 {
	last := uint64(len(s.slots) - 1)
	for i := bits.Reverse64(id) & last; ; i = (i + 1) & last {
		if slot := &s.slots[i]; *slot == 0 || *slot&^metBefore == id {
			return slot
		}
	}
}

func (s *keySet) has(id uint64) (known, before bool) {
	slot := *s.slot(id)
	return slot != 0, slot&metBefore != 0
}

func (s *keySet) add(id uint64, before bool) error {
	slot := s.slot(id)
	if *slot == 0 {
		if s.held == s.most {
			return errTooManyKeys
		}
		s.held++
	}
	*slot |= id
	if before {
		*slot |= metBefore
	}
	return nil
}

// forEachBackwards visits the entries up to a revision from the newest on, whose age is 1, until visit fails.
func (d *database) forEachBackwards(revision int64, visit func(e entry, age int64) error) error {
	cursor, age, last := d.keys.Cursor(), int64(0), []byte(nil)
	for k, v := newest(cursor, revision); k != nil; k, v = cursor.Prev() {
		if last != nil && bytes.Compare(k, last) >= 0 {
			return fmt.Errorf("%w: key %x is before %x", errEntry, k, last)
		}
		last = k
		e, err := parseEntry(k, v)
		if err != nil {
			return fmt.Errorf("%w: key %x", err, k)
		}
		age++
		if err := visit(e, age); err != nil {
			return err
		}
		d.passed(e.size)
	}
	return nil
}

// newest is the last entry up to a revision.
func newest(cursor *bolt.Cursor, revision int64) (k, v []byte) {
	if k, _ := cursor.Seek(binary.BigEndian.AppendUint64(nil, uint64(revision)+1)); k == nil {
		return cursor.Last()
	}
	return cursor.Prev()
}

// BesideKeys is what a database holds beside its keys: etcd's own hash (HashKV) leaves it out. A restore changes none
// of it, in 3.5, 3.6 and 3.7 alike. It makes the members and the index of the log anew, and drops neither users nor
// roles nor leases (etcd-io/etcd:etcdutl/snapshot/v3_snapshot.go).
type BesideKeys struct {
	Users  int64 `json:"users"`
	Roles  int64 `json:"roles"`
	Leases int64 `json:"leases"`
	// SHA256 is of all of it and of the settings of authentication, hexadecimal.
	SHA256 string `json:"sha256"`
}

func (b BesideKeys) String() string {
	return fmt.Sprintf("%d users, %d roles and %d leases (SHA-256 %s)", b.Users, b.Roles, b.Leases, b.SHA256)
}

// besideKeys reads them in an order that is the format's own. A bucket that is missing counts as an empty one: etcd
// makes all of them at its start.
func (d *database) besideKeys(tx *bolt.Tx) (BesideKeys, error) {
	var beside BesideKeys
	var settings int64
	sum := sha256.New()
	for _, part := range []struct {
		bucket  []byte
		entries *int64
	}{
		{bucketUsers, &beside.Users}, {bucketRoles, &beside.Roles}, {bucketLease, &beside.Leases},
		{bucketAuth, &settings},
	} {
		bucket := tx.Bucket(part.bucket)
		if bucket == nil {
			continue
		}
		err := bucket.ForEach(func(k, v []byte) error {
			*part.entries++
			for _, text := range [][]byte{part.bucket, k, v} {
				hashFramed(sum, text)
			}
			d.passed(len(k) + len(v))
			return nil
		})
		if err != nil {
			return BesideKeys{}, fmt.Errorf("read the bucket %s: %w", part.bucket, err)
		}
	}
	beside.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return beside, nil
}

// hashFramed hashes a text with its length before it, so that no two lists of texts are hashed alike.
func hashFramed(sum hash.Hash, text []byte) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	_, _ = sum.Write(text)
}
