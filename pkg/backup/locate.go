package backup

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// Reasons of a backup that cannot be chosen.
const (
	ReasonNoBackup  Reason = "NoBackup"        // there is none
	ReasonAmbiguous Reason = "BackupAmbiguous" // backups of several clusters lie under one name
)

// Whose names the cluster whose backups are looked through. Two clusters may have had one name, one after the other or
// in two Kubernetes clusters that share a bucket; their objects' UIDs differ.
type Whose struct {
	Namespace, Name string
	UID             string // of the EtcdCluster; empty: whichever had the name, if it was one only
	Schedule        string // that made them; empty: whoever did
}

// owns tells the backups of the schedule from all others.
func (w Whose) owns(m Manifest) bool { return w.Schedule == "" || m.Schedule == w.Schedule }

func (w Whose) String() string { return w.Namespace + "/" + w.Name }

const (
	// maxBackups bounds what is looked through for the newest: one an hour for over two years.
	maxBackups = 20_000
	// readers is how many manifests are read at once.
	readers = 8
	// maxNamed is how many keys a refusal names.
	maxNamed = 3
)

// preferred orders as newer does, but that of backups of the same data a proven one comes first. Newer data that was
// not proven is never passed over: what a restore would lose with it, nothing tells afterwards.
func preferred(a, b Kept) int {
	if a.Incarnation == b.Incarnation && a.Revision == b.Revision && a.Proven != b.Proven {
		if a.Proven {
			return -1
		}
		return 1
	}
	return newer(a, b)
}

// Latest finds the newest complete backup of a cluster by what the manifests say: no name is ever read as a number or a
// time. It would rather not answer than answer with an older one: a manifest that cannot be trusted may be the
// newest's, and of two clusters of one name nobody can say which is meant. Both refusals name the keys to choose from.
// What the store's key does not vouch for is no backup.
func Latest(ctx context.Context, bucket *store.Bucket, whose Whose) (Manifest, error) {
	newest, _, err := latest(ctx, bucket, whose)
	return newest, err
}

// latest is Latest, and says how many newer backups were passed over because the store's key does not vouch for them.
func latest(ctx context.Context, bucket *store.Bucket, whose Whose) (Manifest, int, error) {
	keys, err := listBackups(ctx, bucket, whose)
	if err != nil {
		return Manifest{}, 0, err
	}
	found, err := readManifests(ctx, bucket, keys, func() {})
	if err != nil {
		return Manifest{}, 0, err
	}
	newest := map[string]Manifest{}
	for _, m := range found.sound {
		if !whose.owns(m) {
			continue
		}
		if best, known := newest[m.ClusterUID]; !known || preferred(keptOf(m), keptOf(best)) < 0 {
			newest[m.ClusterUID] = m
		}
	}
	chosen, err := choose(whose, newest, found)
	if err != nil {
		return Manifest{}, 0, err
	}
	return chosen, found.unsignedAfter(chosen), nil
}

func choose(whose Whose, newest map[string]Manifest, found manifests) (Manifest, error) {
	ordered := slices.SortedFunc(maps.Values(newest), func(a, b Manifest) int {
		return b.CompletedAt.Compare(a.CompletedAt)
	})
	damaged := slices.DeleteFunc(slices.Clone(found.unsound), unsound.isUnsigned)
	switch {
	case len(damaged) > 0:
		return Manifest{}, fail(ReasonManifestInvalid,
			"%d of the manifests of %s cannot be trusted, and one of them may be of the newest backup%s: %w",
			len(damaged), whose, suggest(ordered), damaged[0].why)
	case len(ordered) == 0 && len(found.unsound) > 0:
		return Manifest{}, fail(ReasonNoBackup, "the store has no complete backup of %s: its manifest-key does not "+
			"vouch for any of its manifests, of which there are %d: %v",
			whose, len(found.unsound), found.unsound[0].why)
	case len(ordered) == 0 && whose.Schedule != "":
		return Manifest{}, fail(ReasonNoBackup, "the store has no complete backup of %s that the schedule %s made",
			whose, whose.Schedule)
	case len(ordered) == 0:
		return Manifest{}, fail(ReasonNoBackup, "the store has no complete backup of %s", whose)
	case len(ordered) > 1:
		return Manifest{}, fail(ReasonAmbiguous, "the store has backups of %d clusters called %s%s", len(ordered),
			whose, suggest(ordered))
	}
	return ordered[0], nil
}

// suggest names what can be restored by its key.
func suggest(ordered []Manifest) string {
	if len(ordered) == 0 {
		return ""
	}
	var keys []string
	for _, m := range ordered[:min(len(ordered), maxNamed)] {
		keys = append(keys, m.Key)
	}
	return "; restore one by its key, such as " + strings.Join(keys, " or ")
}

func keptOf(m Manifest) Kept {
	return Kept{Key: m.Key, Incarnation: m.Incarnation, Revision: m.Revision, Time: m.CompletedAt, Proven: m.Proven}
}

// listBackups gives the keys of the snapshots that have a manifest, and of those of which a list may have left it out:
// whether it is there the store is asked by its name.
func listBackups(ctx context.Context, bucket *store.Bucket, whose Whose) ([]string, error) {
	below := bucket.Key(whose.Namespace, whose.Name)
	var keys []string
	err := bucket.List(ctx, below, func(object store.Object) error {
		// <UID>/<directory>/manifest.json or snapshot.db, and nothing that somebody else has put there.
		parts := strings.Split(strings.TrimPrefix(object.Key, below+"/"), "/")
		if len(parts) != 3 || whose.UID != "" && parts[0] != whose.UID ||
			parts[2] != manifestObject && parts[2] != snapshotObject {
			return nil
		}
		key := below + "/" + parts[0] + "/" + parts[1] + "/" + snapshotObject
		if len(keys) > 0 && keys[len(keys)-1] == key { // both are there, one after the other
			return nil
		}
		if len(keys) == maxBackups {
			return fail(ReasonAmbiguous, "the store has more than %d backups of %s; restore one by its key", maxBackups,
				whose)
		}
		keys = append(keys, key)
		return nil
	})
	return keys, err
}

type manifests struct {
	sound   []Manifest
	unsound []unsound
}

type unsound struct {
	key string // of its snapshot
	why error
}

// String is the end of the key, which tells it from others, and why it is not trusted.
func (u unsound) String() string {
	key := ManifestKey(u.key)
	why := strings.ReplaceAll(u.why.Error(), key, "it")
	if cut := len(key) - maxNotRead; cut > 0 {
		key = "…" + key[cut:]
	}
	if len(why) > maxNotRead {
		why = why[:maxNotRead] + "…"
	}
	return strings.ToValidUTF8(key+": "+why, "?")
}

func (found *manifests) doubt(m Manifest, format string, args ...any) {
	found.unsound = append(found.unsound, unsound{key: m.Key, why: fmt.Errorf(format, args...)})
}

// unsignedAfter counts what the store's key does not vouch for in the directories after that of a backup. Their names
// begin with a time. Nothing is decided by it: a clock may have been wrong, and the names may be anybody's.
func (found manifests) unsignedAfter(m Manifest) int {
	count, own := 0, path.Dir(m.Key)
	for _, u := range found.unsound {
		if other := path.Dir(u.key); u.isUnsigned() && path.Dir(other) == path.Dir(own) && other > own {
			count++
		}
	}
	return count
}

// directoryTime is how the time when an attempt began is in the name of its directory.
const directoryTime = "20060102T150405Z"

// directoryName is what Take calls the directory of an attempt. What is called otherwise is somebody else's.
var directoryName = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)

// strayName is what a killed process leaves on a volume.
var strayName = regexp.MustCompile(`^(snapshot[.]db|manifest[.]json)[.][0-9a-f]+[.]tmp$`)

// readManifests reads the manifests of snapshots, and calls moved after each. One that has gone since it was listed was
// removed on purpose.
func readManifests(ctx context.Context, bucket *store.Bucket, keys []string, moved func()) (manifests, error) {
	var (
		found manifests
		lock  sync.Mutex
	)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	take := func(key string) error {
		m, err := readPlaced(ctx, bucket, key)
		moved()
		lock.Lock()
		defer lock.Unlock()
		switch reason := ReasonOf(err); {
		case err == nil:
			found.sound = append(found.sound, m)
		case errors.Is(err, store.ErrNotFound):
		case reason == ReasonManifestInvalid, reason == ReasonManifestForeign, reason == ReasonManifestUnsigned:
			found.unsound = append(found.unsound, unsound{key: key, why: err})
		default:
			return err
		}
		return nil
	}
	for _, key := range keys {
		group.Go(func() error { return take(key) })
	}
	err := group.Wait()
	slices.SortFunc(found.unsound, func(a, b unsound) int { return cmp.Compare(a.key, b.key) })
	return found, err
}

// readPlaced reads a manifest and requires that it speaks of the cluster under whose name it lies.
func readPlaced(ctx context.Context, bucket *store.Bucket, key string) (Manifest, error) {
	m, err := ReadManifest(ctx, bucket, key)
	if err != nil {
		return Manifest{}, err
	}
	place := bucket.Key(m.ClusterNamespace, m.ClusterName, m.ClusterUID) + "/"
	if rest, inside := strings.CutPrefix(key, place); !inside || strings.Count(rest, "/") != 1 {
		return Manifest{}, fail(ReasonManifestForeign,
			"read the manifest %s: it is of the cluster %s/%s with the UID %s",
			ManifestKey(key), m.ClusterNamespace, m.ClusterName, m.ClusterUID)
	}
	return m, nil
}

// signed is the manifest with its HMAC, where the store has a key, and with the digest that it has then.
func (m Manifest) signed(key []byte) Manifest {
	if key == nil {
		return m
	}
	m.HMAC, m.Digest = "", ""
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write(m.Encode())
	m.HMAC = hex.EncodeToString(sum.Sum(nil))
	return m.sealed()
}

// checkSignature refuses a manifest that was not signed with the store's key. Without a key nothing can be checked.
func (m Manifest) checkSignature(key []byte) error {
	if hmac.Equal([]byte(m.signed(key).HMAC), []byte(m.HMAC)) {
		return nil
	}
	if m.HMAC == "" {
		return fail(ReasonManifestUnsigned, "it has no HMAC, and the store's Secret has a manifest-key. Name another "+
			"backup. If you trust this one, name a Secret without manifest-key")
	}
	return fail(ReasonManifestUnsigned, "its HMAC is not of the manifest-key in the store's Secret. Name another "+
		"backup, or a Secret with the key that this one was signed with")
}

// isUnsigned tells what the store's key does not vouch for from what is damaged. Unlike a damaged manifest it is not
// that of the newest backup: with the key it is of none.
func (u unsound) isUnsigned() bool { return ReasonOf(u.why) == ReasonManifestUnsigned }
