package backup

import (
	"context"
	"fmt"

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
	Bucket      *store.Bucket
	Key         string // of the snapshot; empty: LatestOf says which
	LatestOf    Whose
	Version     etcdutil.Version // that the cluster is to come to run
	VolumeBytes int64            // of each member's volume; 0: not known
}

// Preflight finds out, before anything is made or stopped, whether a backup can be restored. It reads the manifest and
// looks at the snapshot without reading it. The manifest it returns is what the restore is then held to.
func Preflight(ctx context.Context, o PreflightOptions) (Manifest, error) {
	m, err := o.find(ctx)
	if err != nil {
		return Manifest{}, err
	}
	object, err := o.Bucket.Stat(ctx, m.Key)
	if err != nil {
		return Manifest{}, fmt.Errorf("look for the snapshot of the manifest %s: %w", ManifestKey(m.Key), err)
	}
	if object.Size != m.SizeBytes {
		return Manifest{}, fail(ReasonObjectDamaged, "%s has %d bytes in the store, and its manifest says %d",
			m.Key, object.Size, m.SizeBytes)
	}
	if err := m.fitsVersion(o.Version); err != nil {
		return Manifest{}, err
	}
	if need := roomToRestore(m.SizeBytes); o.VolumeBytes > 0 && o.VolumeBytes < need {
		return Manifest{}, fail(ReasonVolumeTooSmall,
			"restoring %s takes %d bytes on each volume, and spec.storage.size gives %d: make it %s or more. "+
				"Volumes of an existing cluster keep their size: create a new cluster from the backup",
			m.Key, need, o.VolumeBytes, mebibytes(need))
	}
	return m, nil
}

// mebibytes is a size as a spec gives it, never less.
func mebibytes(size int64) string { return fmt.Sprintf("%dMi", (size+1<<20-1)>>20) }

func (o PreflightOptions) find(ctx context.Context) (Manifest, error) {
	if o.Key == "" {
		return Latest(ctx, o.Bucket, o.LatestOf)
	}
	return readPlaced(ctx, o.Bucket, o.Key)
}

// fitsVersion refuses what a newer minor wrote. A lower etcdutl restores a higher snapshot without complaint, and the
// lower etcd then exits. What an older one wrote is restored with that minor, and the cluster goes up from there.
func (m Manifest) fitsVersion(wanted etcdutil.Version) error {
	wrote, err := etcdutil.ParseVersion(m.EtcdVersion)
	if err != nil {
		return fail(ReasonManifestInvalid, "read the manifest of %s: %w", m.Key, err)
	}
	if why := etcdutil.WhyNotBegin(wrote, wanted); why != "" {
		return fail(ReasonVersionDiffers, "the backup cannot be restored for spec.version %s: %s. Set spec.version to "+
			"%s.x, or name another backup", wanted, why, wrote.MinorString())
	}
	return nil
}
