package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Reasons of a backup that is sound and cannot be restored where it is wanted.
const (
	ReasonVersionDiffers Reason = "VersionDiffers"
	ReasonVolumeTooSmall Reason = "VolumeTooSmall"
)

// PreflightOptions name a backup, by its key or as the newest of a cluster, and what is to be restored from it.
type PreflightOptions struct {
	Transfer
	Key         string // of the snapshot; empty: LatestOf says which
	SHA256      string // of the snapshot at the key, as the EtcdBackup that is named has it; empty: any
	LatestOf    Whose
	Version     etcdutil.Version // that the cluster is to come to run
	VolumeBytes int64            // of each member's volume; 0: not known
	Scratch     string           // with room for a snapshot that has no manifest
}

// Found is the snapshot that a preflight found, and that the restore is then held to.
type Found struct {
	Key         string   `json:"key"`
	SHA256      string   `json:"sha256"` // of the whole object, hexadecimal
	SizeBytes   int64    `json:"sizeBytes"`
	InUseBytes  int64    `json:"inUseBytes,omitempty"` // of these, without free pages; 0: not known
	Revision    int64    `json:"revision"`
	EtcdVersion string   `json:"etcdVersion"` // of the member that it was taken from; of a foreign one the minor: 3.6.0
	AuthEnabled bool     `json:"authEnabled"`
	Alarms      []string `json:"alarms,omitempty"`

	// Foreign says that no manifest speaks of it: it is as whole as its own SHA-256 says, and nothing says that it was
	// ever compared with the members of its cluster.
	Foreign bool `json:"foreign,omitempty"`

	// PassedOver is how many newer backups the store's manifest-key does not vouch for.
	PassedOver int `json:"passedOver,omitempty"`
}

// Preflight finds out, before anything is made or stopped, whether a backup can be restored. Where a manifest speaks of
// the snapshot, that is read and the snapshot is not; where none does, the snapshot has to speak for itself.
func Preflight(ctx context.Context, o PreflightOptions) (Found, error) {
	o.setDefaults()
	isForeign, err := o.isForeign(ctx)
	if err != nil {
		return Found{}, err
	}
	look := o.lookAtBackup
	if isForeign {
		look = o.lookAtForeign
	}
	found, err := look(ctx)
	if err == nil && o.SHA256 != "" && found.SHA256 != o.SHA256 {
		return Found{}, fail(ReasonObjectDamaged, "%s has the SHA-256 %s, and the EtcdBackup says %s: another "+
			"snapshot lies there. To restore it all the same, name it by its key", o.Key, found.SHA256, o.SHA256)
	}
	return found, err
}

// lookAtBackup reads the manifest, and looks at the snapshot without reading it.
func (o *PreflightOptions) lookAtBackup(ctx context.Context) (Found, error) {
	m, passedOver, err := o.find(ctx)
	if err != nil {
		return Found{}, err
	}
	object, err := o.Bucket.Stat(ctx, m.Key)
	if err != nil {
		return Found{}, fmt.Errorf("look for the snapshot of the manifest %s: %w", ManifestKey(m.Key), err)
	}
	if object.Size != m.SizeBytes {
		return Found{}, fail(ReasonObjectDamaged, "%s has %d bytes in the store, and its manifest says %d",
			m.Key, object.Size, m.SizeBytes)
	}
	found := Found{Key: m.Key, SHA256: m.SHA256, SizeBytes: m.SizeBytes, InUseBytes: m.InUseBytes,
		Revision: m.Revision, EtcdVersion: m.EtcdVersion, AuthEnabled: m.AuthEnabled, Alarms: m.Alarms,
		PassedOver: passedOver}
	if err := found.fitsVersion(o.Version); err != nil {
		return Found{}, err
	}
	return found, o.fitsVolumes(m.Key, m.SizeBytes)
}

// isForeign says that no manifest speaks of the snapshot. Where the operator's own backups lie, any manifest does, and
// has to be sound. Elsewhere only one that names this very snapshot does: all others are of other tools.
func (o *PreflightOptions) isForeign(ctx context.Context) (bool, error) {
	if o.Key == "" {
		return false, nil
	}
	if path.Base(o.Key) != snapshotObject {
		return true, nil
	}
	text, err := o.Bucket.ReadSmall(ctx, ManifestKey(o.Key), maxManifest)
	isOwn := isOwnPlace(o.Bucket, o.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return true, nil
	case errors.Is(err, store.ErrTooLarge) && !isOwn:
		return true, nil
	case err != nil:
		return false, err
	}
	var named struct{ Key string }
	return !isOwn && (json.Unmarshal(text, &named) != nil || named.Key != o.Key), nil
}

// isOwnPlace reports a key as Take makes it: <namespace>/<name>/<UID>/<time>/snapshot.db. What lies there without a
// manifest is of a backup that did not end, failed its comparison, or was removed.
func isOwnPlace(bucket *store.Bucket, key string) bool {
	parts := strings.Split(strings.TrimPrefix(key, bucket.Key("")), "/")
	return len(parts) == 5 && directoryName.MatchString(parts[3]) && parts[4] == snapshotObject
}

// fitsVolumes refuses what the members' volumes have no room for.
func (o *PreflightOptions) fitsVolumes(key string, size int64) error {
	if need := roomToRestore(size); o.VolumeBytes > 0 && o.VolumeBytes < need {
		return fail(ReasonVolumeTooSmall,
			"restoring %s takes %d bytes on each volume, and spec.storage.size gives %d: make it %s or more. "+
				"Volumes of an existing cluster keep their size: create a new cluster from the backup",
			key, need, o.VolumeBytes, mebibytes(need))
	}
	return nil
}

// mebibytes is a size as a spec gives it, never less.
func mebibytes(size int64) string { return fmt.Sprintf("%dMi", (size+1<<20-1)>>20) }

// find is the manifest, and how many newer ones were passed over.
func (o *PreflightOptions) find(ctx context.Context) (Manifest, int, error) {
	if o.Key == "" {
		return latest(ctx, o.Bucket, o.LatestOf)
	}
	named, err := readPlaced(ctx, o.Bucket, o.Key)
	return named, 0, err
}

// fitsVersion refuses what a newer minor wrote. A lower etcdutl restores a higher snapshot without complaint, and the
// lower etcd then exits. What an older one wrote is restored with that minor, and the cluster goes up from there.
func (f Found) fitsVersion(wanted etcdutil.Version) error {
	wrote, err := etcdutil.ParseVersion(f.EtcdVersion)
	if err != nil {
		return fail(ReasonManifestInvalid, "read the manifest of %s: %w", f.Key, err)
	}
	if why := etcdutil.WhyNotBegin(wrote, wanted); why != "" {
		return fail(ReasonVersionDiffers, "the backup cannot be restored for spec.version %s: %s. Set spec.version to "+
			"%s.x, or name another backup", wanted, why, wrote.MinorString())
	}
	return nil
}
