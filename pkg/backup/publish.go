package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// publish writes a manifest to the store: from then on there is a backup. That the same one is there already is
// success: the store's answer to an earlier request was lost, or the step is run again.
func publish(ctx context.Context, t Transfer, manifest Manifest) error {
	manifest, err := manifest.signed(t.Bucket.ManifestKey())
	if err != nil {
		return err
	}
	text, err := manifest.Encode()
	if err != nil {
		return err
	}
	if _, err := ParseManifest(text, ManifestKey(manifest.Key)); err != nil {
		return fmt.Errorf("check the manifest before it is written: %w", err)
	}
	ctx, p := t.start(ctx, max(commitLimit, t.Stall))
	defer p.stop()
	return p.blame(ctx, writeManifest(ctx, t.Bucket, manifest, text))
}

func writeManifest(ctx context.Context, bucket *store.Bucket, manifest Manifest, text []byte) error {
	// Whoever finds the manifest takes the snapshot for granted.
	if err := checkStored(ctx, bucket, manifest.Key, manifest.SizeBytes); err != nil {
		return err
	}
	err := bucket.WriteSmall(ctx, ManifestKey(manifest.Key), text)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("write the manifest: %w", err)
	}
	stored, err := ReadManifest(ctx, bucket, manifest.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fail(ReasonObjectDamaged, "the store said that it took the manifest of %s, and does not have it",
			manifest.Key)
	case err == nil && stored.Digest != manifest.Digest:
		return fail(ReasonManifestForeign, "the store has another manifest of %s than the one that was written",
			manifest.Key)
	}
	return err
}

// checkStored looks whether the store agrees on the size: a store that lost the end without an error is found here at
// no cost, and not at the restore.
func checkStored(ctx context.Context, bucket *store.Bucket, key string, size int64) error {
	stored, err := bucket.Stat(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return fail(ReasonObjectDamaged, "the store said that it took %s, and does not have it", key)
	}
	if err != nil {
		return err
	}
	if stored.Size != size {
		return fail(ReasonObjectDamaged, "the store says that %s has %d bytes, and %d were sent", key, stored.Size,
			size)
	}
	return nil
}
