package apply

import (
	"context"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// How fast entries are added to raft's log, so that clients' own writes have room. Several at once share a write to
// disk.
const (
	entriesPerSecond = 600
	entriesAtOnce    = 8
)

// coverLog adds entries until the leader has applied as many as the change names. Clients' own writes count.
func (s step) coverLog(ctx context.Context, c changes.CoverLog) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	if err := s.stillLeads(ctx); err != nil {
		return err
	}
	status, err := leader.Status(ctx)
	if err != nil {
		return etcdError(err, "asking how far raft's log is")
	}
	if status.RaftAppliedIndex >= c.Until {
		return nil
	}
	return etcdError(addEntries(ctx, leader, c.Until-status.RaftAppliedIndex),
		"adding entries to raft's log")
}

// addEntries stops at the first one that is refused.
func addEntries(ctx context.Context, leader client.Client, entries uint64) error {
	limit := rate.NewLimiter(entriesPerSecond, entriesAtOnce)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(entriesAtOnce)
	for range entries {
		if limit.Wait(ctx) != nil {
			break // a call failed, or the pass ended; the next one goes on from what was applied
		}
		group.Go(func() error { return leader.AppendEntry(ctx) })
	}
	return group.Wait()
}
