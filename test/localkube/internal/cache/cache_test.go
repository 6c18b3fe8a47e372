package cache

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestEveryTargetIsBuiltAtTheVersionItsDirectoryNames(t *testing.T) {
	targets := append((&Cache{EtcdVersions: etcdVersions}).targets(), etcdTarget(nextEtcd))
	for _, version := range kubernetesVersions {
		targets = append(targets, kubernetesTarget(version))
	}
	for _, target := range targets {
		mod, sum := target.moduleFiles()
		_, version, _ := strings.Cut(target.Directory, "-")
		for _, pkg := range target.Packages {
			if !requires(string(mod), pkg, "v"+version) {
				t.Errorf("%s: no requirement of %s at v%s", target.Directory, pkg, version)
			}
			if !strings.Contains(string(mod), "\t"+pkg+"\n") && !strings.Contains(string(mod), "tool "+pkg+"\n") {
				t.Errorf("%s: %s is not named as a tool, so a tidy go.mod would lose it", target.Directory, pkg)
			}
		}
		if len(sum) == 0 {
			t.Errorf("%s has no sums", target.Directory)
		}
	}
}

// requires says whether a go.mod has the module of a package at a version: the module is a prefix of the package.
func requires(mod, pkg, version string) bool {
	for line := range strings.Lines(mod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[1] == version && strings.HasPrefix(pkg+"/", fields[0]+"/") {
			return true
		}
	}
	return false
}

func TestKubernetesAndItsStagedModulesMoveTogether(t *testing.T) {
	for _, version := range kubernetesVersions {
		t.Run(version, func(t *testing.T) { expectStaged(t, version) })
	}
}

func expectStaged(t *testing.T, version string) {
	t.Helper()
	mod, _ := kubernetesTarget(version).moduleFiles()
	staged := "v0" + strings.TrimPrefix(version, "1")
	replaced := 0
	for line := range strings.Lines(string(mod)) {
		if fields := strings.Fields(line); strings.Contains(line, "=>") {
			replaced++
			if fields[0] != fields[2] || fields[3] != staged {
				t.Errorf("%s is not replaced by itself at %s", strings.TrimSpace(line), staged)
			}
		}
	}
	if replaced < 20 {
		t.Errorf("only %d staged modules are replaced", replaced)
	}
}

func TestWhatFailedHalfwayIsNotInTheCache(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Progress: io.Discard}
	dir := filepath.Join(c.Dir, "thing")
	broken := errors.New("broken")
	err := c.once(dir, "making it", func(tmp string) error {
		if err := os.WriteFile(filepath.Join(tmp, "half"), nil, 0o600); err != nil {
			return err
		}
		return broken
	})
	if _, missing := os.Stat(dir); !errors.Is(err, broken) || missing == nil {
		t.Fatalf("the failure is hidden (%v) or half a thing is there", err)
	}
	if _, err := os.Stat(dir + ".tmp"); err == nil {
		t.Error("what the failed attempt wrote takes space")
	}
	if err := os.MkdirAll(filepath.Join(dir+".tmp", "half"), 0o700); err != nil { // as after a kill
		t.Fatal(err)
	}
	if err := c.once(dir, "making it", func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "half")); err == nil {
		t.Error("what the failed attempt wrote is there")
	}
	if err := c.once(dir, "making it", func(string) error { return broken }); err != nil {
		t.Errorf("it is made twice: %v", err)
	}
}

func TestNodesShareLayersButNotDatabases(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	files := map[string]bool{"content/blob": true, "snapshots/1/fs/etcd": true, "bolt/meta.db": false}
	for name := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	for name, shared := range files {
		if got := inode(t, filepath.Join(from, name)) == inode(t, filepath.Join(to, name)); got != shared {
			t.Errorf("%s is shared: %v, want %v", name, got, shared)
		}
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no inode")
	}
	return stat.Ino
}
