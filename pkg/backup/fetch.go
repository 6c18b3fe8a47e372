package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// maxCuts bounds how often an object is read on after the connection ended.
const maxCuts = 100

// FetchOptions are for reading one backup back.
type FetchOptions struct {
	Transfer
	Scratch string // where Take left its manifest, with room for the database
}

// Fetched is what was read back.
type Fetched struct {
	Key       string `json:"key"`
	SizeBytes int64  `json:"sizeBytes"`
	SHA256    string `json:"sha256"`

	Revision  int64     `json:"revision"`
	StartedAt time.Time `json:"startedAt"` // what was written before is in it

	// Unconfirmed says that no other member confirmed its keys: that it is restored proves no more than that.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// Fetch reads the snapshot that Take stored back from the store into the scratch directory, and requires that it is
// what was written.
func Fetch(ctx context.Context, o FetchOptions) (Fetched, error) {
	if err := removeScratch(o.Scratch, scratchSource, scratchFetched, scratchRestored); err != nil {
		return Fetched{}, err
	}
	// It is mounted alone where etcdutl runs. The kubelet would make it, and make it root's.
	if err := os.Mkdir(filepath.Join(o.Scratch, scratchRestored), 0o700); err != nil {
		return Fetched{}, scratchFailure("make "+scratchRestored, err)
	}
	written, err := readScratchManifest(o.Scratch)
	if err != nil {
		return Fetched{}, err
	}
	if err := Download(ctx, written, scratchFetched, o); err != nil {
		return Fetched{}, err
	}
	return Fetched{
		Key: written.Key, SizeBytes: written.SizeBytes, SHA256: written.SHA256, Revision: written.Revision,
		StartedAt: written.StartedAt, Unconfirmed: written.KeysHash.NoWitness != "",
	}, nil
}

// FetchNewest is Fetch of the newest backup that the store has, whoever took it.
func FetchNewest(ctx context.Context, whose Whose, o FetchOptions) (Fetched, error) {
	newest, err := Latest(ctx, o.Bucket, whose)
	if err != nil {
		return Fetched{}, err
	}
	if err := writeScratchManifest(o.Scratch, newest); err != nil {
		return Fetched{}, err
	}
	return Fetch(ctx, o)
}

// Download reads a manifest's snapshot from the store into a new file of the scratch directory. What is not of exactly
// the manifest's size and hash is refused, and the file removed. It is not written through: whoever reads it next does
// so at once or not at all, and the disk need never see it.
func Download(ctx context.Context, m Manifest, name string, o FetchOptions) error {
	o.setDefaults()
	if err := checkRoom(o.Scratch, m.SizeBytes); err != nil {
		return err
	}
	file, err := createScratch(o.Scratch, name)
	if err != nil {
		return err
	}
	if err = o.fetch(ctx, m, &tally{file: file, broken: scratchFailure}); err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// fetch brings a snapshot, which has to be of the manifest's size and hash.
func (t Transfer) fetch(ctx context.Context, m Manifest, to *tally) error {
	sum := sha256.New()
	to.sum = sum
	if err := t.bring(ctx, m.Key, m.SizeBytes, to); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return fail(ReasonObjectDamaged, "%s came back with the SHA-256 %s, and should have %s", m.Key, got, m.SHA256)
	}
	return nil
}

// bring reads an object of which the size is known into a file, and closes that. It watches that bytes come.
func (t Transfer) bring(ctx context.Context, key string, size int64, to *tally) error {
	defer to.file.Close()
	t.Progress.enter(StageFetching, size)
	ctx, p := t.start(ctx, t.Stall)
	defer p.stop()
	to.pulse = p
	err := p.blame(ctx, readInto(ctx, t.Bucket, key, size, to))
	if to.failed == nil && err == nil {
		to.failed = to.file.Close()
	}
	if to.failed != nil {
		return to.broken("write the snapshot", to.failed)
	}
	return err
}

// readInto reads an object of which the size is known, as long as bytes of it come. A connection that ends before the
// last one says nothing of the object: what is missing is asked for anew.
func readInto(ctx context.Context, bucket *store.Bucket, key string, want int64, to *tally) error {
	for cuts := 0; ; cuts++ {
		from := to.count
		err := readOn(ctx, bucket, key, want, to)
		isCut := to.count > from && to.count < want && to.failed == nil && ctx.Err() == nil
		if err == nil || !isCut || cuts == maxCuts {
			return err
		}
	}
}

// readOn reads what follows the bytes that came so far. Only the store itself can say that an object has another size.
func readOn(ctx context.Context, bucket *store.Bucket, key string, want int64, to *tally) error {
	reader, size, err := bucket.OpenAt(ctx, key, to.count)
	if err != nil {
		return fmt.Errorf("read the snapshot back: %w", err)
	}
	defer reader.Close()
	if size >= 0 && size != want {
		return fail(ReasonObjectDamaged, "%s has %d bytes in the store, and should have %d", key, size, want)
	}
	// One byte more than there should be is enough to know.
	_, err = io.CopyBuffer(to, io.LimitReader(reader, want+1-to.count), make([]byte, 256<<10))
	switch {
	case to.failed != nil:
		return to.failed
	case err != nil:
		return fmt.Errorf("read %s back, %d of %d bytes: %w", key, to.count, want, err)
	case to.count != want:
		return fail(ReasonObjectDamaged, "%s gave %d bytes, and should have %d", key, to.count, want)
	}
	return nil
}

// tally writes, hashes and counts.
type tally struct {
	file   io.WriteCloser
	broken func(doing string, err error) error // says so of the disk that the file is on
	sum    io.Writer                           // never fails
	pulse  *pulse
	count  int64
	failed error // of the file
}

func (t *tally) Write(p []byte) (int, error) {
	_, _ = t.sum.Write(p)
	n, err := t.file.Write(p)
	t.failed = err
	t.count += int64(n)
	t.pulse.beat(n)
	return n, err
}
