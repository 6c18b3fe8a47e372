package backup

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// PruneOptions say which backups of which cluster stay.
type PruneOptions struct {
	Transfer
	Whose  Whose // with its UID: another cluster of the same name is never touched
	Policy Policy
	Held   []string // keys of snapshots that stay whatever the policy says
	Ask    []string // keys of snapshots: Pruned.Gone says which of them are no backups any more
	Now    time.Time
}

// Pruned says what was removed and what is left.
type Pruned struct {
	Kept      int `json:"kept"`      // backups
	Removed   int `json:"removed"`   // backups
	Leftovers int `json:"leftovers"` // objects that belonged to no backup, and are removed
	// Gone are the directories of those that were asked for and have no manifest, as far as there is room. Nothing is
	// said to be gone of a store that has no backup at all: it may be another one.
	Gone   []string   `json:"gone,omitempty"`
	Newest *Remaining `json:"newest,omitempty"`
	Oldest *Remaining `json:"oldest,omitempty"`
	// Unchecked is how many of those that are kept are signed while the store's Secret has no manifest-key: nothing
	// tells them from forged ones, and new ones are not signed.
	Unchecked int `json:"unchecked,omitempty"`
	// NotRead are manifests that cannot be trusted, and why. They are neither removed nor counted.
	NotRead     []string `json:"notRead,omitempty"`
	NotReadMore int      `json:"notReadMore,omitempty"` // further ones, for which there is no room
}

// Remaining is a backup that is kept.
type Remaining struct {
	Key         string    `json:"key"`
	Revision    int64     `json:"revision"`
	StartedAt   time.Time `json:"startedAt"` // what was written before is in it
	CompletedAt time.Time `json:"completedAt"`
}

const (
	// leftoverAge is how old an object without a manifest is that nobody will write one for: a backup takes a week at
	// most, and clocks differ.
	leftoverAge = 8 * 24 * time.Hour
	// maxObjects bounds what is looked through: each backup has two.
	maxObjects = 4 * maxBackups

	maxPruned   = 3900 // bytes of a result as JSON: the kubelet keeps 4096
	maxNotRead  = 200  // bytes of one key, and of one reason
	maxUntruths = 10   // reasons, if there is room for them
	maxGone     = 64   // of those that were asked for
	maxGoneText = 2000 // bytes of them
)

// Prune removes what a policy does not keep: of a backup the manifest first, so that what is left of it when something
// fails is no backup. With it go objects that no backup came of, once they are older than any backup takes. Nothing is
// removed unless all that is there was listed, and each manifest was read or found unsound.
func Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	o.setDefaults()
	ctx, p := o.start(ctx, max(commitLimit, o.Stall))
	defer p.stop()
	pruned, err := (&pruning{PruneOptions: o, pulse: p}).run(ctx)
	return pruned, p.blame(ctx, err)
}

type pruning struct {
	PruneOptions
	pulse *pulse
	known map[string]Manifest // by key
}

func (p *pruning) run(ctx context.Context) (Pruned, error) {
	directories, err := p.list(ctx)
	if err != nil {
		return Pruned{}, err
	}
	if err := p.askForManifests(ctx, directories); err != nil {
		return Pruned{}, err
	}
	backups, notRead, err := p.read(ctx, directories)
	if err != nil {
		return Pruned{}, err
	}
	obsolete := p.Policy.Obsolete(backups, p.Now)
	pruned := Pruned{}
	for _, b := range obsolete {
		if err := p.remove(ctx, ManifestKey(b.Key), b.Key); err != nil {
			return Pruned{}, err
		}
		delete(p.known, b.Key)
		pruned.Removed++
	}
	for _, key := range p.leftovers(directories) {
		if err := p.remove(ctx, key); err != nil {
			return Pruned{}, err
		}
		pruned.Leftovers++
	}
	pruned.Leftovers += p.forgetUploads(ctx)
	p.leave(&pruned, slices.DeleteFunc(backups, func(b Kept) bool { return slices.Contains(obsolete, b) }))
	if pruned.Kept > 0 {
		if pruned.Gone, err = p.gone(ctx); err != nil {
			return Pruned{}, err
		}
	}
	return pruned.name(notRead), nil
}

func (p *pruning) list(ctx context.Context) (map[string][]store.Object, error) {
	below := p.Bucket.Key(p.Whose.Namespace, p.Whose.Name, p.Whose.UID)
	directories, seen := map[string][]store.Object{}, 0
	err := p.Bucket.List(ctx, below, func(object store.Object) error {
		p.moved()
		directory, name, _ := strings.Cut(strings.TrimPrefix(object.Key, below+"/"), "/")
		if !directoryName.MatchString(directory) || name != snapshotObject && name != manifestObject &&
			!strayName.MatchString(name) {
			return nil
		}
		if seen++; seen > maxObjects {
			return fail(ReasonTooMany, "the store has more than %d objects of %s: remove old ones by hand, once",
				maxObjects, p.Whose)
		}
		directories[path.Dir(object.Key)] = append(directories[path.Dir(object.Key)], object)
		return nil
	})
	return directories, err
}

// askForManifests asks by name for the manifest of each snapshot that would be a leftover: a list can leave out what is
// there. One that is found makes a backup like any other.
func (p *pruning) askForManifests(ctx context.Context, directories map[string][]store.Object) error {
	for directory, objects := range directories {
		snapshot := named(objects, snapshotObject)
		if snapshot == nil || named(objects, manifestObject) != nil || !p.isOld(*snapshot) {
			continue
		}
		p.moved()
		manifest, err := p.Bucket.Stat(ctx, ManifestKey(snapshot.Key))
		switch {
		case err == nil:
			directories[directory] = append(objects, manifest)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return nil
}

// isOld says that an object is older than any write takes: by the clock of the store, and by that of the Pod that began
// to write it.
func (p *pruning) isOld(object store.Object) bool {
	return p.Now.Sub(object.ModTime) > leftoverAge && p.hasOldName(path.Base(path.Dir(object.Key)))
}

// hasOldName says so of a directory, by the time in its name.
func (p *pruning) hasOldName(directory string) bool {
	text, _, _ := strings.Cut(directory, "-")
	begun, err := time.Parse(directoryTime, text)
	return err == nil && p.Now.Sub(begun) > leftoverAge
}

func named(objects []store.Object, name string) *store.Object {
	for i := range objects {
		if path.Base(objects[i].Key) == name {
			return &objects[i]
		}
	}
	return nil
}

// read gives the backups. One whose snapshot is gone, or of another size than its manifest says, is not counted: who
// relies on it would have none.
func (p *pruning) read(ctx context.Context, directories map[string][]store.Object) ([]Kept, []unsound, error) {
	var keys []string
	for directory, objects := range directories {
		if named(objects, manifestObject) != nil {
			keys = append(keys, directory+"/"+snapshotObject)
		}
	}
	found, err := readManifests(ctx, p.Bucket, keys, p.moved)
	if err != nil {
		return nil, nil, err
	}
	var backups []Kept
	p.known = map[string]Manifest{}
	for _, m := range found.sound {
		if !p.Whose.owns(m) {
			continue
		}
		p.known[m.Key] = m
		snapshot := named(directories[path.Dir(m.Key)], snapshotObject)
		switch {
		case m.ClusterUID != p.Whose.UID:
			found.doubt(m, "it is of the cluster with the UID %s", m.ClusterUID)
		case snapshot == nil:
			found.doubt(m, "its snapshot is gone")
		case snapshot.Size != m.SizeBytes:
			found.doubt(m, "its snapshot has %d bytes, and it says %d", snapshot.Size, m.SizeBytes)
		default:
			b := keptOf(m)
			b.Held = slices.Contains(p.Held, m.Key)
			backups = append(backups, b)
		}
	}
	slices.SortFunc(backups, newer)
	return backups, found.unsound, nil
}

// leftovers are the objects that no backup came of or that a write left behind, once they are old. A snapshot without a
// manifest may be restored by its key, and then stays.
func (p *pruning) leftovers(directories map[string][]store.Object) []string {
	var keys []string
	for directory, objects := range directories {
		isBackup := named(objects, manifestObject) != nil || slices.Contains(p.Held, directory+"/"+snapshotObject)
		for _, object := range objects {
			isStray := strayName.MatchString(path.Base(object.Key))
			if (isStray || !isBackup) && p.isOld(object) {
				keys = append(keys, object.Key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// forgetUploads is done as far as the store lets us: not every server can list uploads, and not everybody may.
func (p *pruning) forgetUploads(ctx context.Context) int {
	p.moved()
	below := p.Bucket.Key(p.Whose.Namespace, p.Whose.Name, p.Whose.UID)
	isOurs := func(key string) bool {
		directory, name, _ := strings.Cut(strings.TrimPrefix(key, below+"/"), "/")
		return directoryName.MatchString(directory) && name == snapshotObject && p.hasOldName(directory)
	}
	forgotten, _ := p.Bucket.ForgetUploads(ctx, below, p.Now.Add(-leftoverAge), isOurs)
	return forgotten
}

// remove deletes in this order. A volume, which nobody can be called off from, is not touched any more either once we
// are to stop.
func (p *pruning) remove(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.moved()
		if err := p.Bucket.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// moved says that the store does something.
func (p *pruning) moved() { p.pulse.allow(p.pulse.limit) }

// leave describes what is kept, the newest first.
func (p *pruning) leave(pruned *Pruned, kept []Kept) {
	pruned.Kept = len(kept)
	if len(kept) > 0 {
		pruned.Newest, pruned.Oldest = p.remaining(kept[0]), p.remaining(kept[len(kept)-1])
	}
	for _, b := range kept {
		if p.Bucket.ManifestKey() == nil && p.known[b.Key].HMAC != "" {
			pruned.Unchecked++
		}
	}
}

func (p *pruning) remaining(b Kept) *Remaining {
	m := p.known[b.Key]
	return &Remaining{Key: m.Key, Revision: m.Revision, StartedAt: m.StartedAt, CompletedAt: m.CompletedAt}
}

// gone asks the store itself, so that what came after its list is not said to be gone.
func (p *pruning) gone(ctx context.Context) ([]string, error) {
	below := p.Bucket.Key(p.Whose.Namespace, p.Whose.Name, p.Whose.UID) + "/"
	var names []string
	for room, asked := maxGoneText, 0; asked < len(p.Ask) && len(names) < maxGone; asked++ {
		key := p.Ask[asked]
		directory, isOurs := strings.CutPrefix(path.Dir(key), below)
		if _, isThere := p.known[key]; isThere || !isOurs || !directoryName.MatchString(directory) {
			continue
		}
		if room -= len(directory) + 3; room < 0 {
			break
		}
		p.moved()
		_, err := p.Bucket.Stat(ctx, ManifestKey(key))
		if errors.Is(err, store.ErrNotFound) {
			names = append(names, directory)
		} else if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// name says what was not read, as far as there is room.
func (p Pruned) name(notRead []unsound) Pruned {
	for i, u := range notRead {
		with := p
		with.NotRead, with.NotReadMore = append(slices.Clone(p.NotRead), u.String()), len(notRead)
		if text, err := json.Marshal(with); i == maxUntruths || err != nil || len(text) > maxPruned {
			p.NotReadMore = len(notRead) - i
			return p
		}
		p.NotRead = with.NotRead
	}
	return p
}
