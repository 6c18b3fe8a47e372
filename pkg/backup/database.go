package backup

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
)

// errUnreadable marks a file that is not a sound database.
var errUnreadable = errors.New("the database is not readable")

// withDatabase opens a copy that nobody writes, read-only. A damaged page makes bbolt panic, and one past the end
// faults; both are errors here.
func withDatabase(path string, do func(tx *bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, p)
		}
	}()
	db, err := bolt.Open(path, 0o400, &bolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketKey) == nil || tx.Bucket(bucketMeta) == nil {
			return fmt.Errorf("%w: it is not etcd's", errUnreadable)
		}
		return do(tx)
	})
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
	return uintptr(min(tx.Size(), file.Size()))
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
