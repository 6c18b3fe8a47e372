package backup

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// A foreign snapshot is one that no manifest speaks of: etcdctl saved it, another operator did, or a backup of this one
// left it and did not end. etcd puts the SHA-256 of all before it at the end of a snapshot, so one that is whole proves
// that by itself, and its database says the rest.

// ReasonNoSnapshot is of an object that is no snapshot of etcd.
const ReasonNoSnapshot Reason = "NotASnapshot"

// scratchForeign is where a foreign snapshot is looked at.
const scratchForeign = "foreign.db"

// takeAnother is what helps where the file itself cannot be put right.
const takeAnother = "Copy it to the store again, or take another one with etcdctl snapshot save"

// lookAtForeign downloads a foreign snapshot, and finds out what a manifest would say.
func (o *PreflightOptions) lookAtForeign(ctx context.Context) (Found, error) {
	seen, err := o.examine(ctx, true)
	if err != nil {
		return Found{}, err
	}
	found := Found{Key: o.Key, SHA256: seen.SHA256, SizeBytes: seen.SizeBytes,
		InUseBytes: seen.Facts.InUseBytes, Revision: seen.Facts.Revision, EtcdVersion: seen.Facts.minor(),
		AuthEnabled: seen.Facts.AuthEnabled, Alarms: seen.Facts.Alarms, Foreign: true}
	return found, found.fitsVersion(o.Version)
}

// examine downloads a snapshot and examines it. Where manifests are signed, one that anything could have put there is
// refused.
func (o *PreflightOptions) examine(ctx context.Context, isForeign bool) (Examined, error) {
	if isForeign && o.Bucket.ManifestKey() != nil {
		return Examined{}, fail(ReasonManifestUnsigned, "%s has no manifest, and the store's Secret has a "+
			"manifest-key. If you trust this snapshot, name a Secret without manifest-key", o.Key)
	}
	object, err := o.Bucket.Stat(ctx, o.Key)
	if err != nil {
		return Examined{}, err
	}
	if err := o.fitsVolumes(o.Key, object.Size); err != nil {
		return Examined{}, err
	}
	if err := looksWhole(ctx, o.Bucket, object); err != nil {
		return Examined{}, err
	}
	return examineObject(ctx, o.Transfer, object, o.Scratch)
}

// looksWhole tells by size and beginning what need not be downloaded.
func looksWhole(ctx context.Context, bucket *store.Bucket, object store.Object) error {
	var head []byte
	if object.Size > 0 {
		reader, _, err := bucket.Open(ctx, object.Key)
		if err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
		defer reader.Close()
		if head, err = io.ReadAll(io.LimitReader(reader, headSize)); err != nil {
			return fmt.Errorf("read the snapshot %s: %w", object.Key, err)
		}
	}
	return whyNoSnapshot(object.Key, head, object.Size)
}

// headSize covers the first words of a database: those of its page, and what bbolt knows its files by.
const headSize = 32

// bboltMagic is what bbolt knows its files by, behind the header of the page (etcd-io/bbolt:internal/common).
const bboltMagic, pageHeaderSize = 0xED0CDAED, 16

// packings are what compressed files begin with.
var packings = []struct{ name, magic string }{
	{"gzip", "\x1f\x8b"}, {"zstd", "\x28\xb5\x2f\xfd"}, {"xz", "\xfd7zXZ\x00"}, {"bzip2", "BZh"}, {"zip", "PK\x03\x04"},
	{"lz4", "\x04\x22\x4d\x18"}, {"zlib", "x\x9c"},
}

// whyNoSnapshot refuses what by its beginning and its size is no snapshot.
func whyNoSnapshot(name string, head []byte, size int64) error {
	for _, packing := range packings {
		if bytes.HasPrefix(head, []byte(packing.magic)) {
			return fail(ReasonNoSnapshot, "%s is no snapshot of etcd: it is compressed with %s. Unpack it, and store "+
				"what comes out", name, packing.name)
		}
	}
	isDatabase := len(head) >= pageHeaderSize+4 && binary.NativeEndian.Uint32(head[pageHeaderSize:]) == bboltMagic
	switch {
	case size == 0:
		return fail(ReasonNoSnapshot, "%s is no snapshot of etcd: it is empty. %s", name, takeAnother)
	case !isDatabase:
		return fail(ReasonNoSnapshot, "%s is no snapshot of etcd: it is no database of etcd. Name the file that "+
			"etcdctl snapshot save wrote, and unpack it first if it was compressed", name)
	case size%sectorSize == 0:
		return fail(ReasonNoSnapshot, "%s is no snapshot of etcd: it does not end with its SHA-256. It is a copy of a "+
			"member's database (snap/db), or it was cut short. Take a snapshot with etcdctl snapshot save", name)
	case size%sectorSize != trailerSize:
		return fail(ReasonObjectDamaged, "%s was cut short: %d bytes are no whole snapshot. %s", name, size,
			takeAnother)
	}
	return nil
}

// Examined is what a snapshot says of itself: it is whole, and etcd's.
type Examined struct {
	SizeBytes int64
	SHA256    string // of the whole file, hexadecimal
	Facts     Facts
}

// examineObject downloads a snapshot into the scratch directory, and examines it while it comes and there.
func examineObject(ctx context.Context, t Transfer, object store.Object, scratch string) (Examined, error) {
	if err := removeScratch(scratch, scratchForeign); err != nil {
		return Examined{}, err
	}
	kept := filepath.Join(scratch, scratchForeign)
	defer os.Remove(kept)
	if err := checkRoom(scratch, object.Size); err != nil {
		return Examined{}, err
	}
	file, err := createScratch(scratch, scratchForeign)
	if err != nil {
		return Examined{}, err
	}
	sum := newSeal()
	err = t.bring(ctx, object.Key, object.Size, &tally{file: file, broken: scratchFailure, sum: sum})
	if err != nil {
		return Examined{}, err
	}
	return examine(object.Key, sum, kept)
}

// examine says what a snapshot that went through the seal, and is kept there, holds.
func examine(name string, sum *seal, kept string) (Examined, error) {
	whole, err := sum.verify()
	if err != nil {
		return Examined{}, fail(ReasonObjectDamaged, "%s was changed or cut since etcd wrote it: the SHA-256 at its "+
			"end is not its own. %s", name, takeAnother)
	}
	facts, err := Inspect(kept)
	if err != nil {
		return Examined{}, fail(ReasonNoSnapshot, "%s cannot be read: %w. %s", name, err, takeAnother)
	}
	if facts.minor() == "" {
		return Examined{}, fail(ReasonNoSnapshot, "%s does not say which version of etcd wrote it: its cluster had "+
			"just begun. Take another one with etcdctl snapshot save, once that cluster has a leader", name)
	}
	return Examined{SizeBytes: sum.size, SHA256: whole, Facts: facts}, nil
}

// Inspected is all that can be known of a snapshot without its cluster.
type Inspected struct {
	Name string // its key, or the name of the file
	Examined
	EtcdVersion string    // that a restore begins with: of the member, or of a foreign snapshot the minor
	Manifest    *Manifest // nil where none speaks of it
}

// InspectObject downloads a snapshot and examines it, and holds it to its manifest if it has one.
func InspectObject(ctx context.Context, t Transfer, key, scratch string) (Inspected, error) {
	o := PreflightOptions{Transfer: t, Key: key, Scratch: scratch}
	o.setDefaults()
	isForeign, err := o.isForeign(ctx)
	if err != nil {
		return Inspected{}, err
	}
	seen, err := o.examine(ctx, isForeign)
	if err != nil || isForeign {
		return Inspected{Name: key, Examined: seen, EtcdVersion: seen.Facts.minor()}, err
	}
	m, err := readPlaced(ctx, o.Bucket, key)
	if err != nil {
		return Inspected{}, err
	}
	if seen.SHA256 != m.SHA256 {
		return Inspected{}, fail(ReasonObjectDamaged, "%s has the SHA-256 %s, and its manifest says %s", key,
			seen.SHA256, m.SHA256)
	}
	return Inspected{Name: key, Examined: seen, EtcdVersion: m.EtcdVersion, Manifest: &m}, nil
}

// InspectFile examines a file on this machine, and does not change it.
func InspectFile(name string) (Inspected, error) {
	found, err := filepath.EvalSymlinks(name)
	if err != nil {
		return Inspected{}, fail(ReasonInternal, "find the snapshot: %w", err)
	}
	file, err := os.Open(found)
	if err != nil {
		return Inspected{}, fail(ReasonInternal, "open the snapshot: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Inspected{}, fail(ReasonInternal, "look at the snapshot: %w", err)
	}
	head := make([]byte, min(headSize, info.Size()))
	if _, err := file.ReadAt(head, 0); err != nil {
		return Inspected{}, fail(ReasonInternal, "read the snapshot: %w", err)
	}
	if err := whyNoSnapshot(name, head, info.Size()); err != nil {
		return Inspected{}, err
	}
	sum := newSeal()
	if _, err := io.CopyBuffer(sum, file, make([]byte, 1<<20)); err != nil {
		return Inspected{}, fail(ReasonInternal, "read the snapshot: %w", err)
	}
	seen, err := examine(name, sum, found)
	return Inspected{Name: name, Examined: seen, EtcdVersion: seen.Facts.minor()}, err
}
