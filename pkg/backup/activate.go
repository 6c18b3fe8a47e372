package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// ReasonRestoreIncomplete is of restored data that is not what was asked for.
const ReasonRestoreIncomplete Reason = "RestoreIncomplete"

// Activated is what a member will start from.
type Activated struct {
	Key      string `json:"key"`
	SHA256   string `json:"sha256"`
	Revision int64  `json:"revision"` // that the member begins at; 0: it was activated by an earlier run
	// AlreadyRestored says that an earlier run has put the data in place.
	AlreadyRestored bool `json:"alreadyRestored,omitempty"`
}

// Activate puts the data that etcdutl has restored where the member looks for it, whole or not at all: everything is
// written through before the one rename that makes it the member's, and the rename after it. Killed anywhere, it leaves
// the place empty, or the data in it; run again, it goes on, and once it has succeeded it only says so. Data of anybody
// else is never touched.
func Activate(place Place, origin Origin) (Activated, error) {
	return withVolume(place, func(volume *os.Root) (Activated, error) {
		if err := origin.Check(); err != nil {
			return Activated{}, err
		}
		a := &activation{Place: place, origin: origin, volume: volume}
		if err := a.look(); err != nil {
			return Activated{}, err
		}
		for _, step := range a.steps() {
			if err := step(); err != nil {
				return Activated{}, err
			}
		}
		return Activated{Key: origin.Key, SHA256: origin.SHA256, Revision: a.revision,
			AlreadyRestored: a.occupant == ours}, nil
	})
}

type activation struct {
	Place
	origin   Origin
	volume   *os.Root
	occupant occupant // where the data belongs, when this run began
	revision int64
}

// steps are what is left to do, in the order that makes a crash between any two harmless.
func (a *activation) steps() []func() error {
	if a.occupant == ours {
		return []func() error{a.clear, a.settle}
	}
	return []func() error{a.inspect, a.writeThrough, a.note, a.clear, a.moveWAL, a.move, a.settle}
}

func (a *activation) look() error {
	var err error
	if a.occupant, err = a.stands(a.volume, a.origin); err != nil {
		return err
	}
	if a.occupant == stranger {
		return a.refuseStranger()
	}
	return nil
}

// inspect proves that etcdutl did all of its work: a log is there, and the revisions are those of the snapshot, raised,
// with all of the past compacted. etcdutl counts from its newest entry, which compaction may have removed, so it may
// begin below.
func (a *activation) inspect() error {
	if !a.hasLog() {
		return fail(ReasonRestoreIncomplete, "the restored data of member %s has no log", a.Member)
	}
	facts, err := readDatabase(a.volume, a.staged(filepath.Join(stagedData, databaseFile)),
		func(tx *bolt.Tx, _ *tree) (Facts, error) { return readFacts(tx) })
	if err != nil {
		return fail(ReasonRestoreIncomplete, "read the restored data of member %s: %w", a.Member, err)
	}
	bump := a.origin.BumpRevision
	if facts.Revision > a.origin.Revision+bump || facts.Revision < bump || bump > 0 &&
		facts.CompactRevision != facts.Revision {
		return fail(ReasonRestoreIncomplete,
			"the restored data of member %s has the revisions %d to %d, and a snapshot of revision %d was to "+
				"be raised by %d",
			a.Member, facts.CompactRevision, facts.Revision, a.origin.Revision, bump)
	}
	a.revision = facts.Revision
	return nil
}

// writeThrough makes what etcdutl wrote survive a power failure: a database that was half written would be a member's.
func (a *activation) writeThrough() error {
	if err := syncTree(a.volume, a.staged(stagedData)); err != nil {
		return volumeFailure("write the restored data through", err)
	}
	return nil
}

func syncTree(volume *os.Root, top string) error {
	return fs.WalkDir(volume.FS(), top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() && !entry.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", entry.Name())
		}
		return syncFile(volume, name)
	})
}

// note records what is about to be moved, so that the next run knows it for its own.
func (a *activation) note() error {
	info, err := a.volume.Lstat(a.staged(stagedData))
	if err != nil {
		return volumeFailure("look at the restored data", err)
	}
	err = writeThrough(a.volume, a.staged(newRecord), a.recordOf(a.origin, inode(info)))
	if err == nil {
		err = a.volume.Rename(a.staged(newRecord), a.staged(stagedRecord))
	}
	if err != nil {
		return volumeFailure("write down what was restored", err)
	}
	return a.syncAll(a.staging(), a.Incarnation+".restore", ".")
}

// clear gives the room of the snapshot to the member. What lies beside data that is in place already is the empty data
// that an earlier step of this run made.
func (a *activation) clear() error {
	names := []string{stagedSnapshot}
	if a.occupant == ours {
		names = append(names, stagedData)
	}
	for _, name := range names {
		if err := a.volume.RemoveAll(a.staged(name)); err != nil {
			return volumeFailure("remove the snapshot", err)
		}
	}
	if a.occupant == ours {
		return a.clearWAL(true)
	}
	return nil
}

// move makes the data the member's. A rename never replaces a directory that holds anything.
func (a *activation) move() error {
	if err := a.volume.MkdirAll(a.Incarnation, 0o700); err != nil {
		return volumeFailure("make a directory", err)
	}
	if err := a.volume.Rename(a.staged(stagedData), a.target()); err != nil {
		return volumeFailure("put the restored data in its place", err)
	}
	return nil
}

// settle writes the rename through, also one of an earlier run that did not come so far.
func (a *activation) settle() error {
	return a.syncAll(a.Incarnation, a.staging(), ".")
}

func (a *activation) syncAll(directories ...string) error {
	for _, name := range directories {
		if err := syncFile(a.volume, name); err != nil {
			return volumeFailure("write a directory through", err)
		}
	}
	return nil
}

// writeThrough writes a file that survives a power failure once its directory does.
func writeThrough(volume *os.Root, name string, content []byte) error {
	if err := volume.WriteFile(name, content, 0o600); err != nil {
		return err
	}
	return syncFile(volume, name)
}

func syncFile(volume *os.Root, name string) error {
	file, err := volume.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// record says which backup the data beside it came from. The directory is named by its inode: it keeps that when it is
// renamed, and no other directory has it.
type record struct {
	FormatVersion int    `json:"formatVersion"`
	Incarnation   string `json:"incarnation"`
	Member        string `json:"member"`
	Origin        Origin `json:"origin"`
	Directory     uint64 `json:"directory"`
}

func (p Place) recordOf(origin Origin, directory uint64) []byte {
	return encode(record{FormatVersion: formatVersion, Incarnation: p.Incarnation, Member: p.Member,
		Origin: origin, Directory: directory})
}

// occupant is what is where a member's data belongs.
type occupant int

const (
	nothing  occupant = iota
	ours              // what this restore put there
	stranger          // anything else
)

// stands looks at where the member's data belongs.
func (p Place) stands(volume *os.Root, origin Origin) (occupant, error) {
	info, err := volume.Lstat(p.target())
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, nil
	}
	if err != nil {
		return stranger, volumeFailure("look for the member's data", err)
	}
	written, err := readPlain(volume, p.staged(stagedRecord))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stranger, volumeFailure("read what was restored", err)
	}
	if info.IsDir() && bytes.Equal(written, p.recordOf(origin, inode(info))) {
		return ours, nil
	}
	return stranger, nil
}

// refuseStranger is the sentence for data that is in the way. It is never touched.
func (p Place) refuseStranger() error {
	return fail(ReasonDataExists,
		"the volume of member %s already has data in %s, which this restore did not put there", p.Member, p.target())
}

func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
