package backup

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// torn is a small database whose pages a test damages.
type torn struct {
	content  []byte
	pageSize int
	root     int // of the bucket key: a branch page
	buckets  int // the page that lists the buckets
}

func tearable(t testing.TB) torn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	putTiny(t, path, 8_000, 1)
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	d := torn{pageSize: db.Info().PageSize}
	must(t, db.View(func(tx *bolt.Tx) error {
		d.root, d.buckets = int(tx.Bucket(bucketKey).Root()), int(tx.Cursor().Bucket().Root())
		return nil
	}))
	must(t, db.Close())
	d.content, err = os.ReadFile(path)
	must(t, err)
	if d.count(d.root) < 70 {
		t.Fatalf("the root of the keys has %d children", d.count(d.root))
	}
	return d
}

func (d torn) page(id int) []byte { return d.content[id*d.pageSize : (id+1)*d.pageSize] }

func (d torn) count(id int) int { return int(binary.NativeEndian.Uint16(d.page(id)[10:])) }

// element is what a page says of one of its entries.
func (d torn) element(id, i int) []byte {
	return d.page(id)[pageHeaderSize+i*pageElement:][:pageElement]
}

func (d torn) child(i int) int { return int(binary.NativeEndian.Uint64(d.element(d.root, i)[8:])) }

func (d torn) setChild(i, id int) {
	binary.NativeEndian.PutUint64(d.element(d.root, i)[8:], uint64(id))
}

// inline is the page of the bucket meta, which lies within the page that lists the buckets.
func (d torn) inline() []byte {
	e := d.element(d.buckets, 1)
	start := pageHeaderSize + pageElement + binary.NativeEndian.Uint32(e[4:]) + binary.NativeEndian.Uint32(e[8:])
	return d.page(d.buckets)[start+pageHeaderSize:]
}

// circle makes the root of the keys each of its own children.
func (d torn) circle() {
	for i := range d.count(d.root) {
		d.setChild(i, d.root)
	}
}

// chain makes a branch with one child of every page of keys but the last.
func (d torn) chain() {
	last := d.count(d.root) - 1
	for i := range last {
		from, to := d.page(d.child(i)), uint64(d.child(i+1))
		binary.NativeEndian.PutUint16(from[8:], branchPage)
		binary.NativeEndian.PutUint16(from[10:], 1)
		clear(from[pageHeaderSize:][:pageElement])
		binary.NativeEndian.PutUint64(from[pageHeaderSize+8:], to)
	}
	binary.NativeEndian.PutUint16(d.page(d.root)[10:], 1)
}

// inspectSoon fails where a database is read without end.
func inspectSoon(t testing.TB, content []byte) error {
	t.Helper()
	path, done := filepath.Join(t.TempDir(), "db"), make(chan error, 1)
	must(t, os.WriteFile(path, content, 0o600))
	go func() {
		_, err := Inspect(path)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it is still being read")
		return nil
	}
}

func TestADatabaseWhosePagesMakeNoTreeIsNotReadable(t *testing.T) {
	put16, put32 := binary.NativeEndian.PutUint16, binary.NativeEndian.PutUint32
	for name, damage := range map[string]func(d torn){
		"a branch that is each of its own children": func(d torn) { d.circle() },
		"a page with two parents":                   func(d torn) { d.setChild(1, d.child(0)) },
		"a branch that points beyond the file":      func(d torn) { d.setChild(0, 1<<40) },
		"a branch that points before the tree":      func(d torn) { d.setChild(0, 0) },
		"a branch that points at another page":      func(d torn) { copy(d.page(d.child(0)), d.page(d.child(1))) },
		"a branch without children":                 func(d torn) { put16(d.page(d.root)[10:], 0) },
		"branches that are too deep":                func(d torn) { d.chain() },
		"a page of zeros":                           func(d torn) { clear(d.page(d.child(3))) },
		"a page of which the second half is 0":      func(d torn) { clear(d.page(d.root)[pageHeaderSize+16:]) },
		"a page that is longer than the file":       func(d torn) { put32(d.page(d.child(3))[12:], 1<<20) },
		"a page with more entries than it has":      func(d torn) { put16(d.page(d.child(3))[10:], 1<<16-1) },
		"a page that runs into the next":            func(d torn) { put32(d.page(d.child(3))[12:], 1) },
		"an entry that begins outside its page":     func(d torn) { put32(d.element(d.child(3), 2)[4:], 1<<13) },
		"an entry that ends outside its page":       func(d torn) { put32(d.element(d.child(3), 2)[12:], 1<<13) },
		"entries that share their bytes":            func(d torn) { put32(d.element(d.child(3), 2)[12:], 1<<10) },
		"a branch's key outside its page":           func(d torn) { put32(d.element(d.root, 2)[4:], 1<<13) },
		"a bucket that is too short":                func(d torn) { put32(d.element(d.buckets, 1)[12:], 8) },
		"a bucket within that is a branch":          func(d torn) { put16(d.inline()[8:], branchPage) },
		"a bucket within that has too much":         func(d torn) { put16(d.inline()[10:], 9) },
	} {
		t.Run(name, func(t *testing.T) {
			d := tearable(t)
			must(t, inspectSoon(t, d.content))
			damage(d)
			if err := inspectSoon(t, d.content); !errors.Is(err, errUnreadable) {
				t.Errorf("it is read: %v", err)
			}
		})
	}
}

// Files that are copied while etcd writes hold pages of several moments, each of which is sound.
func TestADatabaseWhoseKeysAreInNoOrderIsNotReadable(t *testing.T) {
	d := tearable(t)
	third, fifth := d.child(3), d.child(5)
	d.setChild(3, fifth)
	d.setChild(5, third)
	path := filepath.Join(t.TempDir(), "db")
	must(t, os.WriteFile(path, d.content, 0o600))
	if facts, err := Inspect(path); !errors.Is(err, errEntry) {
		t.Errorf("it holds %+v, %v", facts, err)
	}
	if _, err := HashKeys(path, 8_000, 0); !errors.Is(err, errEntry) {
		t.Errorf("it is hashed: %v", err)
	}
}

func TestWhatIsInUseOfADatabaseIsItsSizeWithoutFreePages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	putTiny(t, path, 8_000, 1)
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketKey).Cursor()
		for i, k := 0, []byte(nil); i < 6_000; i++ {
			k, _ = cursor.First()
			must(t, tx.Bucket(bucketKey).Delete(k))
		}
		return nil
	}))
	var size int64
	must(t, db.Update(func(tx *bolt.Tx) error { size = tx.Size(); return nil })) // what the last one freed is free
	stats, page := db.Stats(), int64(db.Info().PageSize)
	want := size - int64(stats.FreePageN+stats.PendingPageN)*page // as etcd counts
	must(t, db.Close())
	facts, err := Inspect(path)
	must(t, err)
	if list := want - facts.InUseBytes; list < 0 || list > 2*page || want > size/2 {
		t.Errorf("%d of %d bytes are in use, and etcd would count %d with the list of free pages", facts.InUseBytes,
			size, want)
	}
}
