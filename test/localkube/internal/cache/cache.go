package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	// Kubernetes is the version of all its programs; empty: KubernetesVersion.
	Kubernetes string
	// EtcdVersions are those that nodes have images of.
	EtcdVersions []string
	// Progress gets lines about each thing that is made; what is there already is silent.
	Progress io.Writer
	// Every is how often what takes long says how far it is.
	Every time.Duration
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
	const every = 20 * time.Second
	return &Cache{Dir: dir, EtcdVersions: etcdVersions, Progress: progress, Every: every}, nil
}

// Lock waits until no other process builds into this cache, or brings a localkube up or down. The lock ends with the
// process that holds it, however it ends.
func (c *Cache) Lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := c.waitLock(ctx, f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("waiting for the lock %s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}

// waitLock writes into the lock who has it, for those who wait.
func (c *Cache) waitLock(ctx context.Context, f *os.File) error {
	const pause = 200 * time.Millisecond
	for isFirst := true; ; isFirst = false {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if isFirst {
			c.say("waiting until another localkube has finished: %s\n", holder(f.Name()))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return os.WriteFile(f.Name(), fmt.Appendln(nil, os.Getpid()), 0o644)
}

// holder says which process has the lock, what it does and for how long it has. Of one that just ended or is another
// user's less is known.
func holder(lock string) string {
	pid, _ := os.ReadFile(lock)
	says := fmt.Sprintf("process %s", bytes.TrimSpace(pid))
	proc := filepath.Join("/proc", string(bytes.TrimSpace(pid)))
	command, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err == nil {
		command = bytes.ReplaceAll(bytes.TrimRight(command, "\x00"), []byte{0}, []byte(" "))
		says += fmt.Sprintf(" (%s", command)
		if dir, err := os.Readlink(filepath.Join(proc, "cwd")); err == nil {
			says += ", in " + dir
		}
		says += ")"
	}
	if info, err := os.Stat(lock); err == nil {
		says += fmt.Sprintf(" has had the lock for %.0f s", time.Since(info.ModTime()).Seconds())
	}
	return says
}

// Fill makes whatever is not there yet: binaries, images, and the containerd root with them.
func (c *Cache) Fill(ctx context.Context) error {
	if err := c.buildAll(ctx, c.targets()); err != nil {
		return err
	}
	return c.makeTemplate(ctx)
}

// FillEtcd makes the binaries of etcd that are not there yet, and nothing else. Go alone is enough for that.
func (c *Cache) FillEtcd(ctx context.Context) error { return c.buildAll(ctx, c.etcdTargets()) }

func (c *Cache) buildAll(ctx context.Context, targets []Target) error {
	for _, t := range targets {
		if err := c.build(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Binary is the path of a Kubernetes binary.
func (c *Cache) Binary(name string) string {
	return filepath.Join(c.targetDir(kubernetesTarget(c.kubernetes())), name)
}

// EtcdBinary is the path of a program of a release of etcd.
func (c *Cache) EtcdBinary(version, name string) string {
	return filepath.Join(c.targetDir(etcdTarget(version)), name)
}

// FillDriver makes what only the CSI driver needs.
func (c *Cache) FillDriver(ctx context.Context) error { return c.build(ctx, resizerTarget()) }

// Resizer has claims grow.
func (c *Cache) Resizer() string { return filepath.Join(c.targetDir(resizerTarget()), "csi-resizer") }

// Etcd is the etcd that the control plane runs.
func (c *Cache) Etcd() string { return c.EtcdBinary(controlPlaneEtcd, "etcd") }

// once makes a directory by filling a temporary one beside it and renaming that: there is no half-made directory under
// its final name, even if this process is killed.
func (c *Cache) once(dir, what string, fill func(tmp string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	start := time.Now()
	c.say("  %s\n", what)
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("making a directory of the cache: %w", err)
	}
	if err := fill(tmp); err != nil {
		_ = os.RemoveAll(tmp) // the disk may be full
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c.say("  %s: done after %.1f s\n", what, time.Since(start).Seconds())
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
