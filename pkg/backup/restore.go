package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"

	bolt "go.etcd.io/bbolt"
)

// logRoom is what etcdutl reserves for the new member's log: a segment, and one in advance
// (etcd-io/etcd:server/storage/wal/wal.go SegmentSizeBytes).
const logRoom = 2 * 64 << 20

// roomToRestore is what a restore takes on a volume at its height: the snapshot, the database made of it, and a log.
func roomToRestore(size int64) int64 { return 2*size + logRoom }

// RestoreOptions are for bringing one backup to one member's volume.
type RestoreOptions struct {
	Transfer
	Place  Place
	Origin Origin
}

// Restored is what lies on the volume.
type Restored struct {
	Key       string `json:"key"`
	SizeBytes int64  `json:"sizeBytes"`
	SHA256    string `json:"sha256"`
	// AlreadyRestored says that the member's data is in place from an earlier run, and that nothing was fetched.
	AlreadyRestored bool `json:"alreadyRestored,omitempty"`
}

// Restore brings the snapshot to where etcdutl finds it, and requires of it the size and hash of the origin. What an
// earlier run has left half done is removed first. Where the member's data has been restored already, it stays, and
// etcdutl gets an empty snapshot to restore, so that the steps after this one can be run again like any others;
// Activate throws it away.
func Restore(ctx context.Context, o RestoreOptions) (Restored, error) {
	o.setDefaults()
	return withVolume(o.Place, func(volume *os.Root) (Restored, error) {
		if err := o.Origin.Check(); err != nil {
			return Restored{}, err
		}
		return o.Place.restore(volume, o.Origin, o.Origin.Key, func() (Origin, error) {
			return o.Origin, o.fetchOn(ctx, volume)
		})
	})
}

func restoredFrom(origin Origin, already bool) Restored {
	return Restored{Key: origin.Key, SizeBytes: origin.SizeBytes, SHA256: origin.SHA256, AlreadyRestored: already}
}

// fetchOn brings the backup. It is not written through: after a power failure a restore starts over, and etcdutl checks
// what it reads.
func (o *RestoreOptions) fetchOn(ctx context.Context, volume *os.Root) error {
	if err := o.Place.checkRoom(o.Origin.SizeBytes); err != nil {
		return err
	}
	file, err := o.Place.create(volume)
	if err != nil {
		return err
	}
	wanted := Manifest{Key: o.Origin.Key, SizeBytes: o.Origin.SizeBytes, SHA256: o.Origin.SHA256}
	return o.fetch(ctx, wanted, &tally{file: file, broken: volumeFailure})
}

// restore brings the snapshot of a key, unless an earlier run has restored it. It removes what such a run has left, and
// of a snapshot that does not come whole nothing stays.
func (p Place) restore(volume *os.Root, earlier Origin, key string, bring func() (Origin, error)) (Restored, error) {
	state, err := p.stands(volume, earlier)
	switch {
	case err != nil:
		return Restored{}, err
	case state == stranger || state == ours && earlier.Key != key:
		return Restored{}, p.refuseStranger()
	case state == ours:
		return restoredFrom(earlier, true), errors.Join(p.clearWAL(true), p.restoreEmpty(volume))
	}
	if err := p.clearWAL(false); err != nil {
		return Restored{}, err
	}
	if err := volume.RemoveAll(p.staging()); err != nil {
		return Restored{}, volumeFailure("remove what an earlier run has left", err)
	}
	origin, err := bring()
	if err != nil {
		_ = volume.Remove(p.staged(stagedSnapshot)) // what is not whole is of no use, and takes room
	}
	return restoredFrom(origin, false), err
}

// create makes the file of the snapshot.
func (p Place) create(volume *os.Root) (*os.File, error) {
	if err := volume.MkdirAll(p.staging(), 0o700); err != nil {
		return nil, volumeFailure("make a directory", err)
	}
	file, err := volume.OpenFile(p.staged(stagedSnapshot), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, volumeFailure("create the snapshot", err)
	}
	return file, nil
}

// checkRoom fails before the first byte where the restore could not end.
func (p Place) checkRoom(size int64) error {
	free, err := freeBytes(p.Volume)
	if err != nil {
		return volumeFailure("look for room", err)
	}
	if need := roomToRestore(size); free < need {
		return fail(ReasonVolumeFull,
			"the volume of member %s has %d bytes free, and restoring a snapshot of %d takes %d: make room for %s "+
				"more where it lies",
			p.Member, free, size, need, mebibytes(need-free))
	}
	return nil
}

// restoreEmpty gives etcdutl a snapshot of an etcd that never held anything.
func (p Place) restoreEmpty(volume *os.Root) error {
	for _, name := range []string{stagedSnapshot, stagedData} {
		if err := volume.RemoveAll(p.staged(name)); err != nil {
			return volumeFailure("remove what an earlier run has left", err)
		}
	}
	if err := writeEmptySnapshot(p.onDisk(p.staged(stagedSnapshot))); err != nil {
		return volumeFailure("write an empty snapshot", err)
	}
	return nil
}

func writeEmptySnapshot(name string) error {
	db, err := bolt.Open(name, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("create %s: %w", path.Base(name), err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, bucket := range [][]byte{bucketKey, bucketMeta} {
			if _, err := tx.CreateBucketIfNotExists(bucket); err != nil {
				return err
			}
		}
		return nil
	})
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return appendTrailer(name)
}

func appendTrailer(name string) error {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	_, err = file.Write(sum.Sum(nil))
	return err
}

// Reasons of a member's volume.
const (
	ReasonVolumeFull   Reason = "VolumeFull"
	ReasonVolumeFailed Reason = "VolumeFailed"
	ReasonDataExists   Reason = "DataExists" // data is where the restored data should go, and not of this restore
)

// Place is a member's part of its volume. Its data goes to <incarnation>/<member>, and is prepared in
// <incarnation>.restore/<member>, where no etcd ever looks.
type Place struct {
	Volume      string // where it is mounted
	WAL         string // where the volume of its write-ahead log is mounted; empty where that lies beside the data
	Incarnation string
	Member      string
}

// Origin is the backup that a member's data is to come from, as the cluster's bootstrap record has it.
type Origin struct {
	Key          string `json:"key"` // of the snapshot
	SHA256       string `json:"sha256"`
	SizeBytes    int64  `json:"sizeBytes"`
	Revision     int64  `json:"revision"`
	BumpRevision int64  `json:"bumpRevision"` // by how much etcdutl raises it; all below is then compacted
}

// Names in the directory where a member's data is prepared. The first two are arguments of etcdutl.
const (
	stagedSnapshot = "snapshot.db"
	stagedData     = "data"
	stagedRecord   = "restored.json"
	newRecord      = "restored.json.new"
)

var (
	incarnationText = regexp.MustCompile(`^[a-z0-9]{1,63}$`)
	memberText      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	sha256Text      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Check refuses names that would be more than one directory each, and a backup that cannot be told from another.
func (p Place) Check() error {
	switch {
	case p.Volume == "":
		return errors.New("no place where the member's volume is mounted was given")
	case !incarnationText.MatchString(p.Incarnation):
		return fmt.Errorf("%q is not an incarnation", p.Incarnation)
	case !memberText.MatchString(p.Member):
		return fmt.Errorf("%q is not the name of a member", p.Member)
	}
	return nil
}

// Check refuses what no manifest says.
func (o Origin) Check() error {
	switch {
	case o.Key == "":
		return errors.New("no snapshot was named")
	case !sha256Text.MatchString(o.SHA256):
		return fmt.Errorf("%q is not a SHA-256", o.SHA256)
	case o.SizeBytes <= 0 || o.SizeBytes%sectorSize != trailerSize:
		return fmt.Errorf("%d is not the size of a snapshot", o.SizeBytes)
	case o.Revision < 1 || o.BumpRevision < 0 || o.Revision > math.MaxInt64-o.BumpRevision:
		return fmt.Errorf("the revision %d and its bump %d are not those of a restore", o.Revision, o.BumpRevision)
	}
	return nil
}

func (p Place) staging() string           { return path.Join(p.Incarnation+".restore", p.Member) }
func (p Place) staged(name string) string { return path.Join(p.staging(), name) }
func (p Place) target() string            { return path.Join(p.Incarnation, p.Member) }
func (p Place) onDisk(name string) string { return filepath.Join(p.Volume, filepath.FromSlash(name)) }

// withVolume opens the member's volume for what is to be done there.
func withVolume[T any](p Place, do func(volume *os.Root) (T, error)) (T, error) {
	var none T
	if err := p.Check(); err != nil {
		return none, err
	}
	volume, err := os.OpenRoot(p.Volume)
	if err != nil {
		return none, volumeFailure("open the directory", err)
	}
	defer volume.Close()
	return do(volume)
}
