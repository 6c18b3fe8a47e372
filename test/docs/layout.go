package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// samples is the directory that pages apply from.
const samples = "samples"

// layOut makes the directory look like the repository to what a page does in it: what make writes into dist, and config,
// with stores in the samples that exist.
func (t *terminal) layOut() error {
	from, to := filepath.Join(t.root, "config"), filepath.Join(t.dir, "config")
	if err := os.MkdirAll(filepath.Join(to, samples), 0o700); err != nil {
		return fmt.Errorf("making a directory to work in: %w", err)
	}
	if err := os.Symlink(filepath.Join(t.root, "dist"), filepath.Join(t.dir, "dist")); err != nil {
		return fmt.Errorf("linking dist: %w", err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("reading the repository: %w", err)
	}
	for _, e := range entries {
		if e.Name() == samples {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("restoring out config: %w", err)
		}
	}
	return t.stageSamples(filepath.Join(from, samples), filepath.Join(to, samples))
}

func (t *terminal) stageSamples(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no samples in %s: %w", from, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading a sample: %w", err)
		}
		if text, err = t.store.stage(text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600); err != nil {
			return fmt.Errorf("writing a sample: %w", err)
		}
	}
	return nil
}

// explain prints what a person would look at first.
func (t *terminal) explain(ctx context.Context) {
	for _, args := range [][]string{
		{"get", "etcd,etcdbackups,etcdbackupschedules,jobs,pods,pvc", "-o", "wide"},
		{"describe", "etcd,etcdbackups"},
		{"logs", "--selector=" + v1alpha1.LabelName + "=" + v1alpha1.MemberNameValue, "--all-containers", "--prefix", "--tail=10"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		command := append(t.kubectl(), args...)
		out, _ := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		fmt.Printf("\n---- kubectl %v\n%s", args, out)
	}
}
