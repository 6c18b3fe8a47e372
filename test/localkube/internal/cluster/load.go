package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

// Load makes the images of a docker-archive known to every node: at once to those that run, to the others when they start.
func (c *Cluster) Load(ctx context.Context, archive string) error {
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	kept, err := c.keep(archive)
	if err != nil {
		return err
	}
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		if proc.PID(c.Paths, n.Name, "containerd") == 0 {
			continue
		}
		wg.Go(func() { errs[i] = c.runner().Import(ctx, n.Name, kept) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// keep copies an archive to where starting nodes find it. It replaces what was loaded from a file of that name before,
// and makes every node forget that it has it: the same archive may come back after another was loaded in between.
func (c *Cluster) keep(archive string) (string, error) {
	data, err := os.Open(archive)
	if err != nil {
		return "", fmt.Errorf("opening the archive: %w", err)
	}
	defer func() { _ = data.Close() }()
	if err := os.MkdirAll(c.Paths.Archives(), 0o755); err != nil {
		return "", fmt.Errorf("keeping the archive: %w", err)
	}
	tmp, err := os.CreateTemp(c.Paths.Archives(), "loading-")
	if err != nil {
		return "", fmt.Errorf("keeping the archive: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(tmp, hash), data); err != nil {
		return "", fmt.Errorf("keeping the archive: %w", errors.Join(err, tmp.Close()))
	}
	if err := tmp.Close(); err != nil {
		return "", fmt.Errorf("keeping the archive: %w", err)
	}
	base := strings.TrimSuffix(filepath.Base(archive), ".tar")
	if err := c.forget(base); err != nil {
		return "", err
	}
	const enough = 8
	kept := filepath.Join(c.Paths.Archives(), base+"@"+hex.EncodeToString(hash.Sum(nil)[:enough])+".tar")
	if err := os.Rename(tmp.Name(), kept); err != nil {
		return "", fmt.Errorf("keeping the archive: %w", err)
	}
	return kept, nil
}

func (c *Cluster) forget(base string) error {
	for _, pattern := range []string{
		filepath.Join(c.Paths.Archives(), base+"@*.tar"),
		filepath.Join(c.Paths.Node("*").Imported(), base+"@*.tar"),
	} {
		old, err := filepath.Glob(pattern)
		if err != nil {
			return fmt.Errorf("looking for archives named %s: %w", base, err)
		}
		for _, file := range old {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("forgetting an archive: %w", err)
			}
		}
	}
	return nil
}
