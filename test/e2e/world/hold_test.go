package world

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

func TestAHoldKeepsADatabaseThatIsWrittenAnewAndNothingElse(t *testing.T) {
	snap := filepath.Join(t.TempDir(), "demo-0", "member", "snap")
	if err := os.MkdirAll(snap, 0o755); err != nil {
		t.Fatal(err)
	}
	hold, err := holdIn(snap)
	if errors.Is(err, unix.EPERM) {
		needs.Unfit(t, "only root decides who opens files")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(snap, "db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		file, err := os.CreateTemp(snap, "db.tmp.*") // as etcd does
		opened <- errors.Join(err, file.Close())
	}()
	if member := <-hold.begun; member != "demo-0" {
		t.Errorf("%q is held, not demo-0", member)
	}
	select {
	case err := <-opened:
		t.Fatalf("it was opened while it is held: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	hold.Release()
	hold.Release()
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if _, err := os.ReadFile(filepath.Join(snap, "db")); err != nil {
		t.Error(err)
	}
}
