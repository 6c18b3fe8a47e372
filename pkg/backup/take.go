package backup

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Identity says whose backup it is. It becomes part of keys and of the manifest.
type Identity struct {
	ClusterNamespace, ClusterName, ClusterUID string
	ClusterID                                 etcdutil.ID // 0: not known
	Incarnation                               int64
	BackupUID                                 string
	Schedule                                  string // empty: none
}

// TakeOptions are for one backup.
type TakeOptions struct {
	Transfer
	Identity  Identity
	Endpoints []Endpoint
	TLS       *tls.Config // nil: plain HTTP
	Scratch   string      // a directory with room for the database
	Verify    bool        // the manifest is left to Compare, which writes it once the backup is proven

	Patience time.Duration // how long a second member that can confirm the keys is waited for; 30 s by default
}

const (
	maxAttempts     = 3
	defaultPatience = 30 * time.Second
	// commitLimit is for a store that puts the parts of an object together, which moves no bytes of ours.
	commitLimit  = 2 * time.Minute
	cleanupLimit = 5 * time.Second
)

// Take streams a snapshot of the cluster into the store, checks it against another member, and describes it in a
// manifest, which goes to the scratch directory and, last of all, to the store: at once, or where it is to be proven
// after that. When it fails there is no manifest, and what it uploaded is removed as far as the store still answers. A
// member that fails is followed by another; bytes that stop moving end it.
func Take(ctx context.Context, o TakeOptions) (Manifest, error) {
	o.setDefaults()
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	if err := removeScratch(o.Scratch, scratchSource, scratchManifest, scratchFetched, scratchRestored); err != nil {
		return Manifest{}, err
	}
	o.Progress.enter(StageConnecting, 0)
	cluster, err := connect(o.Endpoints, o.TLS, o.Identity.ClusterID)
	if err != nil {
		return Manifest{}, err
	}
	defer cluster.close()
	var failed error
	for range maxAttempts {
		candidates, err := cluster.survey(ctx) // anew each time: more was written, and members change
		if err != nil {
			return Manifest{}, errors.Join(err, failed)
		}
		t := &taking{TakeOptions: o, cluster: cluster, member: candidates[0]}
		manifest, err := t.run(ctx)
		if err == nil || ctx.Err() != nil || !worthRepeating(err) {
			return manifest, err
		}
		failed = err
	}
	return Manifest{}, fmt.Errorf("stopped after %d attempts: %w", maxAttempts, failed)
}

// worthRepeating says that another attempt may do better. An object that exists, although nobody else knows its name,
// is our own: the store's answer to the first request was lost, and the second was refused.
func worthRepeating(err error) bool {
	reason := ReasonOf(err)
	return reason == ReasonMemberFailed || reason == ReasonObjectExists || errors.Is(err, errCompactedPast)
}

// taking is one attempt, of one member.
type taking struct {
	TakeOptions
	cluster *sources
	member  *member
	started time.Time
	version string // of the member, when its snapshot was begun
	key     string
	begun   bool // nobody else has objects in this attempt's directory: what is there is ours to remove
}

func (t *taking) run(ctx context.Context) (Manifest, error) {
	t.member.tried++
	t.started = t.cluster.asked.UTC().Truncate(time.Second)
	key, err := t.newKey()
	if err != nil {
		return Manifest{}, err
	}
	t.key = key
	if err := t.cluster.awaitCaughtUp(ctx, t.member); err != nil {
		return Manifest{}, err
	}
	t.version = t.member.status.GetVersion()
	manifest, err := t.store(ctx)
	if err != nil && t.begun {
		t.discard(ctx)
	}
	return manifest, err
}

func (t *taking) store(ctx context.Context) (Manifest, error) {
	sent, err := t.upload(ctx)
	if err != nil {
		return Manifest{}, err
	}
	if err := checkStored(ctx, t.Bucket, t.key, sent.size); err != nil {
		return Manifest{}, err
	}
	debug.FreeOSMemory() // the parts of the upload: what follows maps the database
	manifest, err := t.prove(ctx, sent)
	if err != nil {
		return Manifest{}, err
	}
	if err := writeScratchManifest(t.Scratch, manifest); err != nil || t.Verify {
		return manifest, err
	}
	return manifest, publish(ctx, t.Transfer, manifest)
}

// newKey names a place nobody else has: two backups in one second, and two clusters in one bucket, differ.
func (t *taking) newKey() (string, error) {
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("make a random name: %w", err)
	}
	who := t.Identity
	directory := t.started.Format(directoryTime) + "-" + hex.EncodeToString(random)
	return t.Bucket.Key(who.ClusterNamespace, who.ClusterName, who.ClusterUID, directory, snapshotObject), nil
}

// upload streams the member's snapshot to the scratch directory and the store at once.
func (t *taking) upload(ctx context.Context) (streamed, error) {
	if err := removeScratch(t.Scratch, scratchSource); err != nil {
		return streamed{}, err
	}
	file, err := createScratch(t.Scratch, scratchSource)
	if err != nil {
		return streamed{}, err
	}
	defer file.Close()
	ctx, p := t.start(ctx, t.Stall)
	defer p.stop()
	object, err := t.Bucket.Create(ctx, t.key)
	if err != nil {
		return streamed{}, p.blame(ctx, err)
	}
	t.begun = true // a commit that failed may have been done all the same
	defer object.Abort()
	p.allow(t.Stall)
	room := func(total int64) error { return checkRoom(t.Scratch, total) }
	sent, err := t.member.stream(ctx, p, sinks{scratch: file, store: object, room: room})
	if err != nil {
		return streamed{}, p.blame(ctx, err)
	}
	if err := file.Close(); err != nil {
		return streamed{}, scratchFailure("write the snapshot", err)
	}
	p.expect(waitsForStore)
	p.allow(max(commitLimit, t.Stall))
	if err := object.Commit(); err != nil {
		return streamed{}, p.blame(ctx, err)
	}
	return sent, nil
}

// prove compares the copy at hand with what a member says its keys hash to, and describes it.
func (t *taking) prove(ctx context.Context, sent streamed) (Manifest, error) {
	t.Progress.enter(StageHashing, sent.size)
	path := filepath.Join(t.Scratch, scratchSource)
	facts, err := Inspect(path)
	if err != nil {
		return Manifest{}, fail(ReasonStreamDamaged, "read the snapshot: %w", err)
	}
	if facts.Revision < t.cluster.revision {
		return Manifest{}, fail(ReasonMemberFailed, "the snapshot of member %s ends at revision %d; a quorum has %d",
			t.member.Name, facts.Revision, t.cluster.revision)
	}
	online, err := t.hashOnline(ctx, facts, sent.size)
	if err != nil {
		return Manifest{}, err
	}
	// The member may have compacted since; hashing our copy as if it had been compacted there too saves taking all
	// anew.
	own, err := HashKeys(path, online.Revision, online.CompactRevision)
	if err != nil {
		return Manifest{}, fail(ReasonStreamDamaged, "hash the snapshot: %w", err)
	}
	if own != online.Hash {
		return Manifest{}, fail(ReasonHashMismatch,
			"at revision %d, compacted at %d, member %s hashes its keys to %d and the snapshot of member %s to %d",
			online.Revision, online.CompactRevision, online.Member, online.Hash, t.member.Name, own)
	}
	return t.describe(sent, facts, online).sealed(), nil
}

func (t *taking) describe(sent streamed, facts Facts, online KeysHash) Manifest {
	who := t.Identity
	return Manifest{
		FormatVersion: formatVersion, Key: t.key,
		ClusterNamespace: who.ClusterNamespace, ClusterName: who.ClusterName, ClusterUID: who.ClusterUID,
		ClusterID:   t.member.clusterID().String(),
		Incarnation: who.Incarnation, BackupUID: who.BackupUID, Schedule: who.Schedule,
		Member: t.member.Name, EtcdVersion: t.version, StorageVersion: facts.StorageVersion,
		Revision: facts.Revision, CompactRevision: facts.CompactRevision, TotalKeys: facts.TotalKeys,
		SizeBytes: sent.size, InUseBytes: facts.InUseBytes, SHA256: sent.sha256, KeysHash: online,
		AuthEnabled: facts.AuthEnabled, Alarms: facts.Alarms, BesideKeys: &facts.BesideKeys,
		StartedAt: t.started, CompletedAt: time.Now().UTC().Truncate(time.Second),
	}
}

// discard removes what this attempt stored; its name is random, so it is nobody else's. A manifest whose writing failed
// may be there all the same, and goes first; while it may be there its snapshot stays, since a manifest without one
// would be taken for the newest backup.
func (t *taking) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	if err := t.Bucket.Delete(ctx, ManifestKey(t.key)); err == nil {
		_ = t.Bucket.Delete(ctx, t.key)
	}
}

// publish writes a manifest to the store: from then on there is a backup. That the same one is there already is
// success: the store's answer to an earlier request was lost, or the step is run again.
func publish(ctx context.Context, t Transfer, manifest Manifest) error {
	manifest = manifest.signed(t.Bucket.ManifestKey())
	text := manifest.Encode()
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
