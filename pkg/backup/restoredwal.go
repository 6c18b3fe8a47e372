package backup

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// A member's write-ahead log may lie on a volume of its own. etcdutl prepares it there as it prepares the data, and it
// is put in its place before these: data in their place say that all is.

// stagedWAL is an argument of etcdutl.
const stagedWAL = "wal"

// onWAL does something on the volume of the log, where that has one.
func (p Place) onWAL(do func(wal *os.Root) error) error {
	if p.WAL == "" {
		return nil
	}
	wal, err := os.OpenRoot(p.WAL)
	if err != nil {
		return volumeFailure("open the directory of the log", err)
	}
	defer wal.Close()
	return do(wal)
}

// clearWAL removes the log that an earlier run has prepared and, where no data are in their place, the one that it has
// put in its own: no member ever started beside it.
func (p Place) clearWAL(isRestored bool) error {
	return p.onWAL(func(wal *os.Root) error {
		names := []string{p.staging()}
		if !isRestored {
			names = append(names, p.target())
		}
		for _, name := range names {
			if err := wal.RemoveAll(name); err != nil {
				return volumeFailure("remove the log that an earlier run has left", err)
			}
		}
		return nil
	})
}

// hasLog reports that etcdutl made a log.
func (a *activation) hasLog() (isThere bool) {
	find := func(volume *os.Root, names ...string) {
		for _, name := range names {
			logs, err := fs.Glob(volume.FS(), path.Join(name, "*.wal"))
			isThere = isThere || err == nil && len(logs) > 0
		}
	}
	if a.WAL == "" {
		find(a.volume, a.staged(path.Join(stagedData, "member", "wal")))
		return isThere
	}
	err := a.onWAL(func(wal *os.Root) error { find(wal, a.staged(stagedWAL), a.target()); return nil })
	return isThere && err == nil
}

// moveWAL makes the log the member's, unless an earlier run came so far. It is written through before and after.
func (a *activation) moveWAL() error {
	return a.onWAL(func(wal *os.Root) error {
		if _, err := wal.Lstat(a.staged(stagedWAL)); !errors.Is(err, fs.ErrNotExist) {
			if err := moveLog(wal, a.Place); err != nil {
				return volumeFailure("put the restored log in its place", err)
			}
		}
		for _, name := range []string{a.Incarnation, a.staging(), "."} {
			if err := syncFile(wal, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return volumeFailure("write a directory through", err)
			}
		}
		return nil
	})
}

func moveLog(wal *os.Root, p Place) error {
	if err := syncTree(wal, p.staged(stagedWAL)); err != nil {
		return err
	}
	if err := wal.MkdirAll(p.Incarnation, 0o700); err != nil {
		return err
	}
	return wal.Rename(p.staged(stagedWAL), p.target())
}
