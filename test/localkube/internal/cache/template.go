package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/images"
)

// formatVersion changes whenever the images are built differently from the same binaries.
const formatVersion = "5"

// Template is a containerd root that has every image, unpacked. Nodes get a copy of it, which takes a fraction of the
// time and of the disk that importing takes.
func (c *Cache) Template() (string, error) {
	out, err := exec.Command("containerd", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking containerd for its version: %w", err)
	}
	parts := []string{formatVersion, strings.TrimSpace(string(out))}
	for _, v := range c.EtcdVersions {
		parts = append(parts, c.targetDir(etcdTarget(v)))
	}
	return filepath.Join(c.Dir, "containerd-"+digest(parts...)), nil
}

func (c *Cache) makeTemplate(ctx context.Context) error {
	dir, err := c.Template()
	if err != nil {
		return err
	}
	return c.once(dir, "writing images", func(tmp string) error {
		work, err := os.MkdirTemp("", "localkube-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		archives, err := c.writeImages(ctx, work)
		if err != nil {
			return err
		}
		return importInto(ctx, tmp, work, archives)
	})
}

// importInto runs a containerd for as long as it takes to import the archives. Its mounts end with it.
func importInto(ctx context.Context, root, work string, archives []string) error {
	socket := filepath.Join(work, "containerd.sock")
	config := filepath.Join(work, "config.toml")
	text := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\n"+
		"disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n",
		root, filepath.Join(work, "state"), socket)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "containerd", "--config", config, "--log-level", "error")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	err := importAll(ctx, socket, archives)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	// It is asked to end, so that its databases are whole, and what it says then is no news.
	_ = cmd.Wait()
	return err
}

func importAll(ctx context.Context, socket string, archives []string) error {
	if err := images.WaitReady(ctx, socket, time.Minute); err != nil {
		return err
	}
	for _, a := range archives {
		if err := images.Import(ctx, socket, a); err != nil {
			return err
		}
	}
	return nil
}

// CopyTemplate gives a node its containerd root. Blobs and unpacked layers are never written to again, so links to the
// same files will do where the filesystem allows it: nodes then share them on disk and in memory. Databases are copied.
func (c *Cache) CopyTemplate(to string) error {
	from, err := c.Template()
	if err != nil {
		return err
	}
	return copyTree(from, to)
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("copying the images: %w", err)
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if err := copyEntry(path, filepath.Join(to, relative), d); err != nil {
			return fmt.Errorf("copying the images: %w", err)
		}
		return nil
	})
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return copyDir(from, to)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case filepath.Ext(from) == ".db":
		return copyFile(from, to)
	}
	if err := os.Link(from, to); !errors.Is(err, syscall.EXDEV) {
		return err
	}
	return copyFile(from, to)
}

// copyDir keeps the mode exactly, sticky bit and all, whatever the umask.
func copyDir(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode())
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode())
}
