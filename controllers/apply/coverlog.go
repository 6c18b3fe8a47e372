package apply

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// How fast raft's log grows meanwhile: 370 entries a second. What clients write is part of that, so a busy cluster gets
// few entries more. Several at once share a write to disk.
const (
	entryBeat      = 100 * time.Millisecond
	entriesPerBeat = 37
	entriesAtOnce  = 8
)

// coverLog adds entries until the leader has applied as many as the change names. Clients' own writes count.
func (s step) coverLog(ctx context.Context, c changes.AppendEntries) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	return s.whileLeading(ctx, func(ctx context.Context) error {
		if c.Until == 0 {
			return etcdError(leader.AppendEntry(ctx), "adding an entry to raft's log")
		}
		status, err := leader.Status(ctx)
		if err != nil {
			return etcdError(err, "asking how far raft's log is")
		}
		return growLog(ctx, leader, status.RaftAppliedIndex, c.Until)
	})
}

// growLog adds to each beat what clients left of it, until the leader has applied as many entries.
func growLog(ctx context.Context, leader client.Client, applied, until uint64) error {
	beat := time.NewTicker(entryBeat)
	defer beat.Stop()
	for added := uint64(0); applied < until; {
		counted := applied + added
		select {
		case <-ctx.Done():
			return etcdError(ctx.Err(), "adding entries to raft's log")
		case <-beat.C:
		}
		status, err := leader.Status(ctx)
		if err != nil {
			return etcdError(err, "asking how far raft's log is")
		}
		applied = status.RaftAppliedIndex
		byClients := min(entriesPerBeat, max(applied, counted)-counted)
		added = min(entriesPerBeat-byClients, max(applied, until)-applied)
		if err := addEntries(ctx, leader, added); err != nil {
			return etcdError(err, "adding entries to raft's log")
		}
	}
	return nil
}

// addEntries stops at the first one that is refused. The next pass goes on from what was applied.
func addEntries(ctx context.Context, leader client.Client, entries uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(entriesAtOnce)
	for range entries {
		group.Go(func() error { return leader.AppendEntry(ctx) })
	}
	return group.Wait()
}
