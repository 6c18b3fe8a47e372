package backup

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// Listed is what lies in a store where a backup has its place.
type Listed struct {
	Key      string
	Manifest *Manifest // nil where no sound one speaks of it
	Why      string    // why it is no backup, or "" for one
}

// List gives what lies in the places of backups, by its key: of one cluster, of all those of a name or of a namespace,
// as far as whose says.
func List(ctx context.Context, bucket *store.Bucket, whose Whose) ([]Listed, error) {
	sizes, err := listPlaces(ctx, bucket, whose)
	if err != nil {
		return nil, err
	}
	var withManifest []string
	all := map[string]Listed{}
	for key := range sizes {
		snapshot := path.Join(path.Dir(key), snapshotObject)
		all[snapshot] = Listed{Key: snapshot, Why: "it has no manifest: its backup goes on, did not end, failed its " +
			"comparison, or was removed"}
		if path.Base(key) == manifestObject {
			withManifest = append(withManifest, snapshot)
		}
	}
	found, err := readManifests(ctx, bucket, withManifest, func() {})
	if err != nil {
		return nil, err
	}
	for _, u := range found.unsound {
		all[u.key] = Listed{Key: u.key, Why: "its manifest cannot be trusted: " + u.why.Error()}
	}
	for _, m := range found.sound {
		size, isThere := sizes[m.Key]
		all[m.Key] = listed(m, size, isThere)
	}
	return inOrder(all), nil
}

func listed(m Manifest, size int64, isThere bool) Listed {
	l := Listed{Key: m.Key, Manifest: &m}
	switch {
	case !isThere:
		l.Why = "its snapshot is gone"
	case size != m.SizeBytes:
		l.Why = "its snapshot has another size than its manifest says"
	}
	return l
}

func inOrder(all map[string]Listed) []Listed {
	var ordered []Listed
	for _, l := range all {
		ordered = append(ordered, l)
	}
	slices.SortFunc(ordered, func(a, b Listed) int { return cmp.Compare(a.Key, b.Key) })
	return ordered
}

// listPlaces are the sizes of snapshots and manifests, by their keys.
func listPlaces(ctx context.Context, bucket *store.Bucket, whose Whose) (map[string]int64, error) {
	wanted := []string{whose.Namespace, whose.Name, whose.UID}
	sizes := map[string]int64{}
	err := bucket.List(ctx, bucket.Prefix(), func(object store.Object) error {
		if !isOwnPlace(bucket, path.Join(path.Dir(object.Key), snapshotObject)) {
			return nil
		}
		parts := strings.Split(strings.TrimPrefix(object.Key, bucket.Key("")), "/")
		if name := parts[4]; name != snapshotObject && name != manifestObject {
			return nil
		}
		for i, want := range wanted {
			if want != "" && parts[i] != want {
				return nil
			}
		}
		if len(sizes) == maxObjects {
			return fail(ReasonTooMany, "the store has more than %d objects of backups: name one cluster", maxObjects)
		}
		sizes[object.Key] = object.Size
		return nil
	})
	return sizes, err
}
