package contract

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// After a compaction etcd frees pages as it commits, and under NOSPACE no client's write makes it commit. Who sends a
// snapshot meanwhile keeps the pages of its time.
func TestRealEtcdTellsWhatIsInUseAfterACompactionOnceItIsHadToCommitAndNoSnapshotIsSent(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			w.extra = []string{"--quota-backend-bytes=16777216"}
			p := &play{TB: t, world: w}
			p.startAll("a")
			revision := w.fillWithHistory(t, "a")
			full := p.status("a").DBSizeInUse
			if alarms := etcdutil.ParseAlarms(p.status("a").Errors); !slices.ContainsFunc(alarms,
				func(a etcdutil.Alarm) bool { return a.Name == "NOSPACE" }) {
				t.Fatalf("the alarms are %+v", alarms)
			}
			end := w.beginSnapshot(t, "a")
			p.accepted(func() error { return p.dial("a").Compact(p.Context(), revision) })
			if sends, err := p.dial("a").StreamsSnapshot(p.Context()); !sends || err != nil {
				t.Errorf("it sends a snapshot: %v (%v)", sends, err)
			}
			if inUse, err := p.dial("a").SizeInUse(p.Context()); inUse < full*9/10 || err != nil {
				t.Errorf("beside a snapshot %d of %d are in use (%v)", inUse, full, err)
			}
			end()
			p.until("the snapshot is no longer sent", func() bool {
				sends, err := p.dial("a").StreamsSnapshot(p.Context())
				return !sends && err == nil
			})
			for range 10 {
				if told := p.status("a").DBSizeInUse; told < full*9/10 {
					t.Fatalf("by itself etcd tells that %d of %d are in use: it need not be had to commit", told, full)
				}
				p.pass()
			}
			p.until("it is told what is in use", func() bool {
				inUse, err := p.dial("a").SizeInUse(p.Context())
				return err == nil && inUse < full/2
			})
			if told := p.status("a").DBSizeInUse; told > full/2 {
				t.Errorf("now its status tells %d of %d", told, full)
			}
		})
	}
}

// fillWithHistory writes one key until space has run out, and returns the revision that is reached.
func (w *realWorld) fillWithHistory(t *testing.T, name string) int64 {
	t.Helper()
	c := w.anyClient(t, name)
	value := strings.Repeat("x", 200<<10)
	var revision int64
	for {
		put, err := c.Put(t.Context(), "key", value)
		switch {
		case errors.Is(err, rpctypes.ErrNoSpace):
			return revision
		case err != nil:
			t.Fatal(err)
		}
		revision = put.Header.Revision
	}
}

// beginSnapshot begins to read a snapshot, and returns what ends that.
func (w *realWorld) beginSnapshot(t *testing.T, name string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	snapshot, err := w.anyClient(t, name).Snapshot(ctx)
	if err == nil {
		_, err = io.ReadFull(snapshot, make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { cancel(); _ = snapshot.Close() }
}

// anyClient is a client for what the operator's own does not do.
func (w *realWorld) anyClient(t *testing.T, name string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.address(name)}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
