package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"

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
		return Found{}, fmt.Errorf("the snapshot of the manifest %s: %w", ManifestKey(m.Key), err)
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
	case errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrNoBucket):
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

// bucketMembers has the members as JSON by their IDs in hexadecimal (etcd-io/etcd:server/storage/schema/membership.go).
var bucketMembers = []byte("members")

// CheckMember fails when the database of a member that has ended is none to begin anew with: it does not know the
// member that is to have lived on it, or knows it as a learner, or the alarm CORRUPT accuses it. A member's ID is
// made from the token of its cluster and its incarnation, so no other cluster has it, nor an earlier incarnation of
// this one.
func CheckMember(database, name string, id etcdutil.ID) error {
	lived, err := within(database, func(dir *os.Root, name string) (resident, error) {
		return readDatabase(dir, name, func(tx *bolt.Tx, _ *tree) (resident, error) { return residentOf(tx, id) })
	})
	switch {
	case err != nil:
		return fail(ReasonNoSource, "read the database of member %s: %w", name, err)
	case !lived.isKnown:
		return fail(ReasonForeignCluster,
			"the volume of member %s holds data of another cluster, or of another incarnation of this one: of the "+
				"members %s, and not of %s",
			name, strings.Join(lived.members, ", "), id)
	case lived.isLearner:
		return fail(ReasonNoSource, "member %s is a learner, which may lack what the voters had agreed on", name)
	case lived.isCorrupt:
		return fail(ReasonNoSource,
			"in the data of member %s the alarm CORRUPT accuses that member, or no member by name", name)
	}
	return nil
}

// resident is what a database says of the member that is to have lived on it.
type resident struct {
	members   []string // all that it knows
	isKnown   bool
	isLearner bool
	isCorrupt bool
}

func residentOf(tx *bolt.Tx, id etcdutil.ID) (resident, error) {
	var lived resident
	alarms, err := readAlarms(tx.Bucket(bucketAlarm))
	if err != nil {
		return lived, err
	}
	lived.isCorrupt = etcdutil.IsCalledCorrupt(alarms, id)
	members := tx.Bucket(bucketMembers)
	if members == nil {
		return lived, nil
	}
	err = members.ForEach(func(k, v []byte) error {
		lived.members = append(lived.members, string(k))
		if got, err := etcdutil.ParseID(string(k)); err != nil || got != id {
			return nil //nolint:nilerr // a key that is no ID is nobody's
		}
		var member struct {
			IsLearner bool `json:"isLearner"`
		}
		lived.isKnown = true
		err := json.Unmarshal(v, &member)
		lived.isLearner = member.IsLearner
		return err
	})
	return lived, err
}

// Names in the scratch directory, which the steps of one backup share. The step between them that runs the cluster's
// own image has no more of it than the last two: the first of these to read, and the second to write.
const (
	scratchSource   = "source.db"     // the stream as it came
	scratchManifest = "manifest.json" // as it is written to the store
	scratchFetched  = "fetched.db"    // as it came back from the store
	scratchRestored = "restored"      // the data directory that etcdutl makes of it
)

// databaseFile is where a data directory has its keys.
var databaseFile = filepath.Join("member", "snap", "db")

// removeScratch removes what an earlier run of a step has left: steps may be run again in the same Pod.
func removeScratch(dir string, names ...string) error {
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return scratchFailure("remove "+name, err)
		}
	}
	return nil
}

func createScratch(dir, name string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, scratchFailure("create "+name, err)
	}
	return file, nil
}

// checkRoom fails early where a file of this size can never fit.
func checkRoom(dir string, size int64) error {
	free, err := freeBytes(dir)
	if err != nil {
		return scratchFailure("look for room", err)
	}
	if free < size {
		return fail(ReasonScratchFull, "the scratch directory has %d bytes free, and the snapshot has %d", free, size)
	}
	return nil
}

func freeBytes(dir string) (int64, error) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return int64(fs.Bavail) * fs.Bsize, err
}

func writeScratchManifest(dir string, m Manifest) error {
	if err := os.WriteFile(filepath.Join(dir, scratchManifest), m.Encode(), 0o600); err != nil {
		return scratchFailure("write the manifest", err)
	}
	return nil
}

func readScratchManifest(dir string) (Manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, scratchManifest))
	if err != nil {
		return Manifest{}, scratchFailure("read the manifest", err)
	}
	// It names its own place here; what reads or writes the store with it checks the place.
	m, err := parseUnplaced(text)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the manifest in the scratch directory: %w", err)
	}
	return m, nil
}
