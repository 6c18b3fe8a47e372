package backup

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Inspected is all that can be known of a snapshot without its cluster.
type Inspected struct {
	Name string // its key, or the name of the file
	Examined
	EtcdVersion string    // that a restore begins with: of the member, or of a foreign snapshot the minor
	Manifest    *Manifest // nil where none speaks of it
}

// InspectObject downloads a snapshot and examines it, and holds it to its manifest if it has one.
func InspectObject(ctx context.Context, t Transfer, key, scratch string) (Inspected, error) {
	o := PreflightOptions{Transfer: t, Key: key}
	o.setDefaults()
	isForeign, err := o.isForeign(ctx)
	if err != nil {
		return Inspected{}, err
	}
	if err := o.checkSigned(isForeign); err != nil {
		return Inspected{}, err
	}
	object, err := o.Bucket.Stat(ctx, key)
	if err != nil {
		return Inspected{}, fmt.Errorf("look for the snapshot: %w", err)
	}
	if err := looksWhole(ctx, o.Bucket, object); err != nil {
		return Inspected{}, err
	}
	seen, err := examineObject(ctx, o.Transfer, object, scratch)
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
