package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// What comes from memory says nothing of the disk.
func TestWhatIsReadFromAVolumeComesFromTheVolumeAndNotFromTheNodesMemory(t *testing.T) {
	root := onDisk(t)
	bucket := open(t, Config{Volume: &Volume{Path: "some/prefix"}}, Options{VolumeRoot: root})
	key := bucket.Key("snapshot.db")
	path := filepath.Join(root, key)
	must(t, write(t, bucket, key, random(8<<20)))
	if share := remembered(t, path); share > 0.1 {
		t.Errorf("%.0f %% of what was written is still in memory", share*100)
	}

	_, err := os.ReadFile(path)
	must(t, err)
	if share := remembered(t, path); share < 0.9 {
		t.Fatalf("only %.0f %% of what somebody read is in memory: this shows nothing", share*100)
	}
	reader, _, err := bucket.Open(context.Background(), key)
	must(t, err)
	defer reader.Close()
	if share := remembered(t, path); share > 0.1 {
		t.Errorf("%.0f %% of what is to be read is still in memory", share*100)
	}
}

func TestAFileThatTheUserMayNotReadIsNoMatterOfCredentials(t *testing.T) {
	err := classify(&fs.PathError{Op: "open", Path: "legacy/db-2026-01-31_03-00", Err: syscall.EACCES}, ErrStore)
	if text := err.Error(); !errors.Is(err, ErrDenied) || !errors.Is(err, fs.ErrPermission) || strings.Contains(text, "credentials") ||
		!strings.Contains(text, fmt.Sprintf("user %d of group %d", os.Geteuid(), os.Getegid())) {
		t.Errorf("%v", err)
	}
}

// onDisk is a directory that is on a disk: below TMPDIR, or else beside this test.
func onDisk(t *testing.T) string {
	t.Helper()
	if dir := t.TempDir(); !isMemory(t, dir) {
		return dir
	}
	dir, err := os.MkdirTemp(".", "volume-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if isMemory(t, dir) {
		needs.Unfit(t, "TMPDIR and this tree are in memory, where nothing is of a disk")
	}
	return dir
}

func isMemory(t *testing.T, dir string) bool {
	t.Helper()
	var fs unix.Statfs_t
	must(t, unix.Statfs(dir, &fs))
	return fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC
}

// remembered is which share of a file's pages the kernel has in memory.
func remembered(t *testing.T, path string) float64 {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	info, err := file.Stat()
	must(t, err)
	content, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	defer func() { must(t, unix.Munmap(content)) }()
	pages := make([]byte, (len(content)+os.Getpagesize()-1)/os.Getpagesize())
	_, _, failed := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&content[0])), uintptr(len(content)), uintptr(unsafe.Pointer(&pages[0])))
	if failed != 0 {
		t.Fatal(failed)
	}
	there := 0
	for _, page := range pages {
		there += int(page & 1)
	}
	return float64(there) / float64(len(pages))
}
