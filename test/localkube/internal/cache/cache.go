package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Cache is a directory outside the source tree that survives `down` and is shared by all clones.
type Cache struct {
	Dir string
	// Progress gets one line for each thing that is made; what is there already is silent.
	Progress io.Writer
}

// Open finds the cache: $LOCALKUBE_CACHE, or etcd-steward/localkube under $XDG_CACHE_HOME or ~/.cache.
func Open(progress io.Writer) (*Cache, error) {
	dir := os.Getenv("LOCALKUBE_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("finding the cache: %w", err)
		}
		dir = filepath.Join(base, "etcd-steward", "localkube")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	return &Cache{Dir: dir, Progress: progress}, nil
}

// Lock waits until no other process builds into this cache, or brings a localkube up or down. The lock ends with the
// process that holds it, however it ends.
func (c *Cache) Lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		c.say("waiting for another localkube to finish\n")
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			return nil, fmt.Errorf("waiting for the lock: %w", err)
		}
	}
	return func() { _ = f.Close() }, nil
}

// Fill makes whatever is not there yet: binaries, images, and the containerd root with them.
func (c *Cache) Fill(ctx context.Context) error {
	for _, t := range targets() {
		if err := c.build(ctx, t); err != nil {
			return err
		}
	}
	return c.makeTemplate(ctx)
}

// Binary is the path of a Kubernetes binary.
func (c *Cache) Binary(name string) string {
	return filepath.Join(c.targetDir(kubernetesTarget()), name)
}

// Etcd is the etcd that the control plane runs.
func (c *Cache) Etcd() string {
	return filepath.Join(c.targetDir(etcdTarget(controlPlaneEtcd)), "etcd")
}

// CoreDNS is the path of its binary.
func (c *Cache) CoreDNS() string { return c.only("coredns") }

func (c *Cache) only(module string) string {
	for _, t := range targets() {
		if t.Module == module {
			return filepath.Join(c.targetDir(t), module)
		}
	}
	return ""
}

// once makes a directory by filling a temporary one beside it and renaming that: there is no half-made directory under
// its final name, whatever kills this process.
func (c *Cache) once(dir, what string, fill func(tmp string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	start := time.Now()
	c.say("  %-36s ", what)
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("making a directory of the cache: %w", err)
	}
	if err := fill(tmp); err != nil {
		c.say("failed\n")
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c.say("%6.1fs\n", time.Since(start).Seconds())
	return nil
}

func (c *Cache) say(format string, args ...any) { _, _ = fmt.Fprintf(c.Progress, format, args...) }

// digest is short enough for a file name and long enough to tell versions of one thing apart.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d %s", len(p), p)
	}
	const length = 6
	return hex.EncodeToString(h.Sum(nil)[:length])
}
