package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"golang.org/x/sys/unix"
)

// openVolume keeps objects as plain files without companions, written under another name in the same directory and
// renamed when complete.
func openVolume(root string) (*blob.Bucket, error) {
	if root == "" {
		return nil, errors.New("no place where the volume is mounted was given")
	}
	bucket, err := fileblob.OpenBucket(root, &fileblob.Options{
		NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700,
	})
	if err != nil {
		return nil, fmt.Errorf("open the volume: %w", err)
	}
	return bucket, nil
}

// checkReadable fails where a directory cannot be read: gocloud.dev passes over it without a word, and what is not seen
// is not there to whoever looks for the newest.
func checkReadable(root, below string) error {
	top := filepath.Join(root, below)
	return filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed since
			return nil
		}
		return err
	})
}

// syncBeforeRename makes a volume's file durable before it gets its name.
func syncBeforeRename(file *os.File) error {
	if file == nil {
		return nil
	}
	if err := file.Sync(); err != nil {
		return err
	}
	forgetPages(file)
	return nil
}

// forgetPages has the kernel drop what it remembers of a volume's file, so that whoever reads it next reads what the
// volume has: a proof that comes right after the writing would be one of the node's memory. It is advice: without it
// all works, and proves less.
func forgetPages(file *os.File) {
	if file != nil {
		_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
}

// settle makes the name of what was written into a file survive a power failure: its directory and those above it, up
// to the root. It goes by the file and not by the key, parts of which fileblob writes otherwise.
func settle(root string, file *os.File) error {
	for dir := filepath.Dir(file.Name()); ; dir = filepath.Dir(dir) {
		if err := syncDirectory(dir); err != nil {
			return fmt.Errorf("write the directory through: %w", err)
		}
		if dir == filepath.Clean(root) || len(dir) <= len(root) {
			return nil
		}
	}
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
