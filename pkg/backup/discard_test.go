package backup

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestASnapshotWhoseManifestCannotBeRemovedStays(t *testing.T) {
	for name, stuck := range map[string]bool{"the manifest goes": false, "the manifest stays": true} {
		t.Run(name, func(t *testing.T) {
			bucket, root := volumeBucket(t)
			attempt := &taking{TakeOptions: TakeOptions{Transfer: Transfer{Bucket: bucket}}, key: bucket.Key("team", "demo", "u-1", "d", snapshotObject)}
			directory := filepath.Join(root, filepath.Dir(attempt.key))
			manifest := filepath.Join(directory, manifestObject)
			if stuck { // what is not empty cannot be removed
				manifest = filepath.Join(manifest, "stuck")
			}
			must(t, os.MkdirAll(filepath.Dir(manifest), 0o700))
			must(t, os.WriteFile(manifest, nil, 0o600))
			must(t, os.WriteFile(filepath.Join(directory, snapshotObject), nil, 0o600))
			attempt.discard(context.Background())
			want := 0
			if stuck {
				want = 2
			}
			if left := stored(t, root); len(left) != want {
				t.Errorf("the store has %v", left)
			}
		})
	}
}

// A write to a volume whose server is away does not return, whatever becomes of its context.
func TestAStepThatIsWaitedForSaysThatItsBytesStandStill(t *testing.T) {
	heard := make(chan error, 1)
	ctx, p := Transfer{Progress: &Progress{OnStall: func(err error) { heard <- err }}}.start(context.Background(), 50*time.Millisecond)
	defer p.stop()
	p.expect(waitsForStore)
	wantReason(t, <-heard, ReasonStoreStalled)
	if ctx.Err() == nil {
		t.Error("what moves the bytes was not told")
	}
}
