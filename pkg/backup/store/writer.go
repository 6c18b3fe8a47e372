package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"golang.org/x/sys/unix"
)

const (
	writeSize     = 256 << 10
	writeBackSize = 16 << 20
)

// Writer writes one new object. It ends with Commit or Abort; only after a Commit without an error is there an object.
type Writer struct {
	key    string
	bucket *Bucket
	blob   *blob.Writer
	buffer *bufio.Writer // each write to most stores costs a switch to the goroutine that uploads
	file   *os.File      // of a volume

	written, flushed int64
	cancel           context.CancelFunc
	done             bool
}

// Create begins an object that must not exist: ErrExists if it does, here or at Commit. Nothing is ever overwritten
// that a look can find, see creator. When the context ends before Commit has returned, there is no object.
func (b *Bucket) Create(ctx context.Context, key string) (*Writer, error) {
	if err := b.check(key); err != nil {
		return nil, err
	}
	// Not every store knows conditional writes, so we look as well; keys have a random part, so this is a second line.
	if err := b.isFree(ctx, key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Writer{key: key, bucket: b, cancel: cancel}
	writer, err := b.blob.NewWriter(ctx, key, &blob.WriterOptions{
		BufferSize:     partSize,
		MaxConcurrency: uploadConcurrency,
		ContentType:    "application/octet-stream",
		IfNotExist:     true,
		BeforeWrite: func(as func(any) bool) error {
			as(&w.file)
			b.tameS3(key, as)
			return nil
		},
	})
	if err != nil {
		cancel()
		return nil, b.failed(classify(err, ErrStore), key)
	}
	w.blob, w.buffer = writer, bufio.NewWriterSize(writer, writeSize)
	return w, nil
}

// isFree is nil where no object has that key. Its error names the key.
func (b *Bucket) isFree(ctx context.Context, key string) error {
	_, err := b.Stat(ctx, key)
	switch {
	case err == nil:
		return b.failed(ErrExists, key)
	case errors.Is(err, ErrNotFound):
		return nil
	}
	return err
}

// Write sends the next bytes. It may return before they have left, and blocks while too many are under way.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	if err != nil {
		return n, w.bucket.failed(classify(err, ErrStore), w.key)
	}
	w.written += int64(n)
	w.writeBack()
	return n, nil
}

// writeBack has the disk of a volume begin with what it was given, so that Commit does not wait for all of it.
func (w *Writer) writeBack() {
	if w.file == nil || w.written-w.flushed < writeBackSize {
		return
	}
	const begin = 2 // SYNC_FILE_RANGE_WRITE; a hint, so an error means no more than a longer Commit
	_ = syscall.SyncFileRange(int(w.file.Fd()), w.flushed, w.written-w.flushed, begin)
	w.flushed = w.written
}

// Commit ends the object and makes it visible. After an error there is none of ours.
func (w *Writer) Commit() error {
	if w.done {
		return errors.New("the object is already ended")
	}
	if err := w.commit(); err != nil {
		return w.bucket.failed(classify(err, ErrStore), w.key)
	}
	return nil
}

func (w *Writer) commit() error {
	err := w.buffer.Flush()
	if err == nil {
		err = syncBeforeRename(w.file)
	}
	if err != nil {
		w.Abort()
		return err
	}
	w.done = true
	defer w.cancel()
	if err := w.blob.Close(); err != nil {
		return err
	}
	if w.file == nil {
		return nil
	}
	return settle(w.bucket.root, w.file)
}

// Abort gives the object up: nothing of it becomes visible, and the store is told to forget its parts. After Commit it
// does nothing, so that it can be deferred.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	// Closing a writer whose context has ended is how gocloud.dev abandons one.
	w.cancel()
	_ = w.blob.Close()
}

// WriteSmall creates an object from bytes at hand.
func (b *Bucket) WriteSmall(ctx context.Context, key string, content []byte) error {
	ctx, cancel := callContext(ctx)
	defer cancel()
	w, err := b.Create(ctx, key)
	if err != nil {
		return answered(ctx, err)
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		return answered(ctx, err)
	}
	return answered(ctx, w.Commit())
}

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
