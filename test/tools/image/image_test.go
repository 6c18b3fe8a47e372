package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestTheSameBinariesGiveTheSameArchive(t *testing.T) {
	first, second := archive(t, t.TempDir()), archive(t, t.TempDir())
	a, errA := os.ReadFile(first)
	b, errB := os.ReadFile(second)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !bytes.Equal(a, b) {
		t.Error("two builds of the same files differ")
	}
}

func TestTheImageRunsTheManagerAsANonRootUser(t *testing.T) {
	img, err := tarball.ImageFromPath(archive(t, t.TempDir()), nil)
	if err != nil {
		t.Fatal(err)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if cf.Config.User != "65532:65532" {
		t.Errorf("user is %q", cf.Config.User)
	}
	if len(cf.Config.Entrypoint) != 1 || cf.Config.Entrypoint[0] != "/manager" {
		t.Errorf("entrypoint is %q", cf.Config.Entrypoint)
	}
}

func TestAnEntrypointThatIsNotInTheImageIsRefused(t *testing.T) {
	_, err := parse([]string{"-out", "x", "-tag", "example.com/x:dev", "-entrypoint", "/agent", "/manager=/dev/null"})
	if err == nil {
		t.Error("accepted")
	}
}

func archive(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "manager")
	if err := os.WriteFile(binary, []byte("a static binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out", "image.tar")
	err := run([]string{
		"-out", out, "-tag", "ghcr.io/etcdsteward/etcd-steward:dev", "-entrypoint", "/manager", "/manager=" + binary, "/sub/agent=" + binary,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
