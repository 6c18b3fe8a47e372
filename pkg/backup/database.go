package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
)

// errUnreadable marks a file that is not a sound database.
var errUnreadable = errors.New("the database is not readable")

// withDatabase is withDatabaseIn for a path that is ours.
func withDatabase(path string, do func(tx *bolt.Tx) error) error {
	return within(filepath.Dir(path), func(dir *os.Root) error { return withDatabaseIn(dir, filepath.Base(path), do) })
}

// within works on what is below a directory: no link that lies there leads out of it.
func within(path string, do func(dir *os.Root) error) error {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir)
}

// withDatabaseIn is withTree for what needs no page of it.
func withDatabaseIn(dir *os.Root, name string, do func(tx *bolt.Tx) error) error {
	return withTree(dir, name, func(tx *bolt.Tx, _ *tree) error { return do(tx) })
}

// withTree opens a copy that nothing writes any more, read-only. Others may have made the file. Its pages
// are checked before bbolt follows them. A damaged page makes bbolt panic, and one past the end faults; both are errors
// here.
func withTree(dir *os.Root, name string, do func(tx *bolt.Tx, t *tree) error) (err error) {
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
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		t, err := checkTree(tx, file)
		if err != nil {
			return err
		}
		if tx.Bucket(bucketKey) == nil || tx.Bucket(bucketMeta) == nil {
			return fmt.Errorf("%w: it is not etcd's", errUnreadable)
		}
		return do(tx, t)
	})
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
