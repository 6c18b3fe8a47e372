// Package backup takes a snapshot of a running etcd cluster into a store, reads it back, and proves that what was
// restored from it is what the cluster had. It knows nothing of Kubernetes.
//
// A backup is two objects in a directory of its own: snapshot.db, the stream as etcd sends it with its SHA-256 trailer,
// and manifest.json, written last, which says what the snapshot is. A snapshot without a manifest is no backup.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// Names of a backup's two objects in its directory.
const (
	snapshotObject = "snapshot.db"
	manifestObject = "manifest.json"
)

// formatVersion is of the manifest. A reader refuses all others: what it does not know it cannot check.
const formatVersion = 1

const maxManifest = 64 << 10

// Manifest says what a snapshot is, and enough to prove it.
type Manifest struct {
	FormatVersion int    `json:"formatVersion"`
	Key           string `json:"key"` // of the snapshot: a manifest found beside another object is not its own

	ClusterNamespace string `json:"clusterNamespace"`
	ClusterName      string `json:"clusterName"`
	ClusterUID       string `json:"clusterUID"`
	ClusterID        string `json:"clusterID"` // etcd's, hexadecimal
	Incarnation      int64  `json:"incarnation"`
	BackupUID        string `json:"backupUID"`
	Schedule         string `json:"schedule,omitempty"` // that made it; empty: somebody did, by hand

	Member         string `json:"member"`                   // that the snapshot was taken from
	EtcdVersion    string `json:"etcdVersion"`              // of that member
	StorageVersion string `json:"storageVersion,omitempty"` // of the data; empty below 3.6

	Revision        int64 `json:"revision"`
	CompactRevision int64 `json:"compactRevision"` // 0: never compacted
	TotalKeys       int64 `json:"totalKeys"`       // that exist at Revision
	SizeBytes       int64 `json:"sizeBytes"`       // of the object, with the trailer
	// InUseBytes is SizeBytes without free pages; 0: the release that made it did not count them.
	InUseBytes int64 `json:"inUseBytes,omitempty"`

	SHA256   string   `json:"sha256"` // of the whole object, hexadecimal
	KeysHash KeysHash `json:"keysHash"`

	AuthEnabled bool     `json:"authEnabled"`
	Alarms      []string `json:"alarms,omitempty"` // "NOSPACE 8e9e05c52164694d"

	// BesideKeys is what the snapshot holds beside its keys; nil: the release that made it did not look.
	BesideKeys *BesideKeys `json:"besideKeys,omitempty"`

	StartedAt   time.Time `json:"startedAt"`
	CompletedAt time.Time `json:"completedAt"`

	// Proven says that the store's copy was restored and compared before this was written. Where it is missing that was
	// not asked for, or an earlier release wrote the manifest.
	Proven bool `json:"proven,omitempty"`

	// HMAC is the HMAC-SHA256 of this manifest's canonical JSON with HMAC and Digest empty, by the key of its store,
	// hexadecimal. Empty: the store had no key.
	HMAC string `json:"hmac,omitempty"`

	// Digest is the SHA-256 of this manifest's canonical JSON with Digest empty.
	Digest string `json:"digest"`
}

// KeysHash is etcd's hash of the keys (HashKV) as a member of the running cluster gave it.
type KeysHash struct {
	Hash            uint32 `json:"hash"`
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"` // of the member when it hashed; at or above the snapshot's own
	Member          string `json:"member"`          // that gave it; another one than the snapshot is of, if one could

	// Where the member that the snapshot is of gave the hash itself: that no other member votes, or why none of those
	// that do gave it.
	OnlyVoter bool   `json:"onlyVoter,omitempty"`
	NoWitness string `json:"noWitness,omitempty"`
}

func (m Manifest) sealed() Manifest {
	m.Digest = ""
	sum := sha256.Sum256(m.Encode())
	m.Digest = hex.EncodeToString(sum[:])
	return m
}

// Encode is the manifest's canonical JSON, the only text that ParseManifest takes for it.
func (m Manifest) Encode() []byte { return encode(m) }

// encode is for types that can always be written as JSON.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return text
}

// ParseManifest reads a manifest that was found at key, which is the manifest's own. It takes exactly what Encode
// makes: an unknown or doubled field, a word in other letters, another order, anything behind the object are refused,
// and so is a manifest whose digest is not its own or that belongs beside another object.
func ParseManifest(text []byte, key string) (Manifest, error) {
	m, err := parseUnplaced(text)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the manifest %s: %w", key, err)
	}
	if key != ManifestKey(m.Key) || path.Base(m.Key) != snapshotObject {
		return Manifest{}, fail(ReasonManifestForeign, "read the manifest %s: it belongs to %q", key, m.Key)
	}
	return m, nil
}

// parseUnplaced is ParseManifest for a text whose place is not known.
func parseUnplaced(text []byte) (Manifest, error) {
	if len(text) > maxManifest {
		return Manifest{}, fail(ReasonManifestInvalid, "it is larger than %d bytes", maxManifest)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, fail(ReasonManifestInvalid, "it is damaged: %w", err)
	}
	if m.FormatVersion != formatVersion {
		return Manifest{}, fail(ReasonManifestInvalid, "it has format %d, and this release reads %d", m.FormatVersion,
			formatVersion)
	}
	if !bytes.Equal(m.Encode(), text) {
		return Manifest{}, fail(ReasonManifestInvalid, "it is not as it was written")
	}
	if m.sealed().Digest != m.Digest {
		return Manifest{}, fail(ReasonManifestInvalid, "its digest is not its own")
	}
	return m, m.plausible()
}

// plausible refuses numbers that no snapshot has, so that nobody has to think of them again.
func (m Manifest) plausible() error {
	switch {
	case m.Revision < 1, m.CompactRevision < 0, m.CompactRevision > m.Revision, m.TotalKeys < 0:
		return fail(ReasonManifestInvalid, "its revisions are impossible")
	case m.SizeBytes%sectorSize != trailerSize, m.InUseBytes < 0, m.InUseBytes > m.SizeBytes:
		return fail(ReasonManifestInvalid, "it names an impossible size")
	case m.KeysHash.Revision != m.Revision, m.KeysHash.CompactRevision < m.CompactRevision,
		m.KeysHash.CompactRevision > m.Revision:
		return fail(ReasonManifestInvalid, "it has a hash of another revision")
	}
	return nil
}

// ManifestKey is where the manifest of a snapshot is.
func ManifestKey(snapshotKey string) string { return path.Join(path.Dir(snapshotKey), manifestObject) }

// ReadManifest reads the manifest of the snapshot at key from the store and checks it.
func ReadManifest(ctx context.Context, bucket *store.Bucket, snapshotKey string) (Manifest, error) {
	key := ManifestKey(snapshotKey)
	text, err := bucket.ReadSmall(ctx, key, maxManifest)
	if err != nil {
		return Manifest{}, err
	}
	m, err := ParseManifest(text, key)
	if err != nil {
		return Manifest{}, err
	}
	if m.Key != snapshotKey {
		return Manifest{}, fail(ReasonManifestForeign, "the manifest %s belongs to %q", key, m.Key)
	}
	if err := m.checkSignature(bucket.ManifestKey()); err != nil {
		return Manifest{}, fmt.Errorf("read the manifest %s: %w", key, err)
	}
	return m, nil
}

// Reason is a word for what went wrong, for conditions and alerts.
type Reason string

// Reasons of failures.
const (
	ReasonInternal    Reason = "Failed"      // nothing better is known
	ReasonInterrupted Reason = "Interrupted" // we were told to stop

	// The store.
	ReasonStoreConfig      Reason = "StoreMisconfigured"
	ReasonStoreDenied      Reason = "StoreAccessDenied"
	ReasonStoreNotFound    Reason = "StoreNotFound" // the bucket, or an object that should be there
	ReasonStoreUnreachable Reason = "StoreUnreachable"
	ReasonStoreRedirected  Reason = "StoreRedirected"
	ReasonStoreThrottled   Reason = "StoreThrottled"
	ReasonStoreFull        Reason = "StoreFull"
	ReasonStoreStalled     Reason = "StoreStalled" // no byte moved for the stall time
	ReasonStoreFailed      Reason = "StoreFailed"
	ReasonObjectExists     Reason = "ObjectExists"
	ReasonTooMany          Reason = "TooManyBackups" // to look through
	ReasonHoldsTooOld      Reason = "HoldsTooOld"    // somebody may restore by now what was not held
	ReasonClocksDiffer     Reason = "ClocksDiffer"   // what is old cannot be told

	// The cluster.
	ReasonNoSource        Reason = "NoSource"        // no member qualifies
	ReasonForeignCluster  Reason = "ForeignCluster"  // another cluster answers
	ReasonAuthRequired    Reason = "AuthRequired"    // etcd does not let us
	ReasonMemberFailed    Reason = "MemberFailed"    // the member's answer broke off or was refused
	ReasonStreamStalled   Reason = "StreamStalled"   // no byte came for the stall time
	ReasonStreamDamaged   Reason = "StreamDamaged"   // size or trailer do not fit
	ReasonHashUnavailable Reason = "HashUnavailable" // no member can hash the snapshot's revision any more
	ReasonHashMismatch    Reason = "HashMismatch"    // the member and the snapshot differ

	// What was stored, and what came of it.
	ReasonManifestInvalid  Reason = "ManifestInvalid"
	ReasonManifestForeign  Reason = "ManifestForeign"  // a sound manifest of something else
	ReasonManifestUnsigned Reason = "ManifestUnsigned" // the store's key does not vouch for it
	ReasonObjectDamaged    Reason = "ObjectDamaged"
	ReasonRestoreDiffers   Reason = "RestoreDiffers"

	// Here.
	ReasonScratchFull   Reason = "ScratchFull"
	ReasonScratchFailed Reason = "ScratchFailed"
)

// Failure is an error with its reason. Its text is for people and holds no secret.
type Failure struct {
	Reason Reason
	Err    error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// fail makes a Failure as fmt.Errorf makes an error.
func fail(reason Reason, format string, args ...any) error {
	return &Failure{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// storeReasons is in the order in which they are tried.
var storeReasons = []struct {
	err    error
	reason Reason
}{
	{store.ErrConfig, ReasonStoreConfig},
	{store.ErrDenied, ReasonStoreDenied},
	{store.ErrNotFound, ReasonStoreNotFound},
	{store.ErrRedirected, ReasonStoreRedirected},
	{store.ErrStalled, ReasonStoreStalled},
	{store.ErrThrottled, ReasonStoreThrottled},
	{store.ErrFull, ReasonStoreFull},
	{store.ErrExists, ReasonObjectExists},
	{store.ErrUnreachable, ReasonStoreUnreachable},
	{store.ErrOutside, ReasonManifestForeign},
	{store.ErrTooLarge, ReasonManifestInvalid},
	{store.ErrDamaged, ReasonObjectDamaged},
	{store.ErrStore, ReasonStoreFailed},
}

// ReasonOf is the reason of an error of this package.
func ReasonOf(err error) Reason {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Reason
	}
	for _, known := range storeReasons {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	if errors.Is(err, context.Canceled) {
		return ReasonInterrupted
	}
	return ReasonInternal
}

func scratchFailure(doing string, err error) error {
	return diskFailure(ReasonScratchFailed, ReasonScratchFull, doing+" in the scratch directory", err)
}

func volumeFailure(doing string, err error) error {
	return diskFailure(ReasonVolumeFailed, ReasonVolumeFull, doing+" on the member's volume", err)
}

// diskFailure tells a disk that is full from one that fails.
func diskFailure(failed, full Reason, doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		failed = full
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // where it is mounted says nothing to who reads this
	}
	return fail(failed, "%s: %w", doing, err)
}
