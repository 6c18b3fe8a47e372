package backup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAListSaysOfEachPlaceWhetherABackupLiesThere(t *testing.T) {
	bucket, root := volumeBucket(t)
	onDisk := func(key string) string { return filepath.Join(root, filepath.FromSlash(key)) }
	whole, other := restored(t, bucket, pruned, 5*day, 1), restored(t, bucket, Whose{Namespace: "team", Name: "other", UID: "u-9"}, 0, 2)
	broken, gone, cut := restored(t, bucket, pruned, 4*day, 3), restored(t, bucket, pruned, 3*day, 4), restored(t, bucket, pruned, 2*day, 5)
	unfinished := manifestOf(t, bucket, pruned, day, 6)
	must(t, bucket.WriteSmall(context.Background(), unfinished.Key, []byte("half")))
	must(t, bucket.WriteSmall(context.Background(), bucket.Key("legacy/demo.db"), []byte("of another tool")))
	must(t, os.WriteFile(onDisk(ManifestKey(broken.Key)), []byte("{}"), 0o600))
	must(t, os.Remove(onDisk(gone.Key)))
	must(t, os.WriteFile(onDisk(cut.Key), []byte("short"), 0o600))

	want := []struct{ key, why string }{
		{whole.Key, ""}, {broken.Key, "cannot be trusted"}, {gone.Key, "is gone"}, {cut.Key, "another size"},
		{unfinished.Key, "no manifest"}, {other.Key, ""},
	}
	listed, err := List(context.Background(), bucket, Whose{})
	must(t, err)
	if len(listed) != len(want) {
		t.Fatalf("got %+v", listed)
	}
	for i, l := range listed {
		isSound := want[i].why == "" && l.Why == "" && l.Manifest != nil
		if l.Key != want[i].key || !isSound && (want[i].why == "" || !strings.Contains(l.Why, want[i].why)) {
			t.Errorf("got %+v, want %+v", l, want[i])
		}
	}
	for _, whose := range []Whose{{Namespace: "team", Name: "other"}, {UID: "u-9"}} {
		listed, err := List(context.Background(), bucket, whose)
		if err != nil || len(listed) != 1 || listed[0].Key != other.Key {
			t.Errorf("of %+v: %+v, %v", whose, listed, err)
		}
	}
}

func TestASnapshotThatIsNotItsManifestsIsNotCalledGood(t *testing.T) {
	s := takeSpecimen(t)
	seen := snapshotOf(t, "3.6.0", "3.6.0")
	inspect := func() (Inspected, error) {
		return InspectObject(context.Background(), Transfer{Bucket: s.bucket}, s.manifest.Key, t.TempDir())
	}
	must(t, os.WriteFile(s.path(s.manifest.Key), seen, 0o600))
	_, err := inspect()
	wantReason(t, err, ReasonObjectDamaged)
	must(t, os.Remove(s.path(ManifestKey(s.manifest.Key))))
	inspected, err := inspect()
	if err != nil || inspected.Manifest != nil || inspected.EtcdVersion != "3.6.0" {
		t.Errorf("without a manifest: %+v, %v", inspected, err)
	}
}
