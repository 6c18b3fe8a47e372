package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/host"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/network"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

// Down ends every process and removes every trace. It goes by what it finds, not by what `up` said it did, so that it
// works on whatever a killed run left, and twice.
func (c *Cluster) Down() error {
	state, err := c.readState()
	if err != nil && !errors.Is(err, ErrNotUp) {
		// A state that cannot be read must not keep the rest from being removed.
		c.say("%v", err)
	}
	if err := proc.KillAll(c.Paths); err != nil {
		return err
	}
	if err := network.Down(); err != nil {
		return err
	}
	if err := host.UnmountBelow(c.Paths.Root); err != nil {
		return err
	}
	if err := host.RestoreSettings(state.KernelSettings); err != nil {
		return err
	}
	host.RemoveDirs(state.MadeDirectories)
	return c.removeFiles()
}

// removeFiles removes the state last, so that a `down` that was killed can be repeated with all it has to know.
func (c *Cluster) removeFiles() error {
	entries, err := os.ReadDir(c.Paths.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the state directory: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(c.Paths.Root, e.Name())
		if path == c.Paths.State() {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing %s: %w", path, err)
		}
	}
	err = os.RemoveAll(c.Paths.Root)
	if errors.Is(err, unix.EBUSY) {
		// It is a mount of its own, which is not for us to undo. It is empty.
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing the state directory: %w", err)
	}
	return nil
}

// isLeftOver says whether anything of an earlier run is there.
func (c *Cluster) isLeftOver() bool {
	namespaces, err := network.Left()
	files, _ := os.ReadDir(c.Paths.Root)
	return err != nil || len(namespaces) > 0 || len(files) > 0 || proc.AnyLeft()
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
