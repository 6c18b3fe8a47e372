package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

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

// scratchFailure names an error of the local disk.
func scratchFailure(doing string, err error) error {
	return diskFailure(ReasonScratchFailed, ReasonScratchFull, doing+" in the scratch directory", err)
}

// volumeFailure names an error of the member's volume.
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
