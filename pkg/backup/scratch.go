package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

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

// writeScratchManifest leaves the manifest to the next steps.
func writeScratchManifest(dir string, m Manifest) error {
	text, err := m.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, scratchManifest), text, 0o600); err != nil {
		return scratchFailure("write the manifest", err)
	}
	return nil
}

// readScratchManifest reads what the first step wrote.
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
