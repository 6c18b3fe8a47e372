package dial

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// commits is how many transactions etcd commits until it tells what is in use. Pages of what was deleted are free when
// a transaction begins and no reader from before is left, and are counted when that transaction ends. etcd's own reader
// ends a moment after a commit, so it may take one more (etcd-io/etcd:server/storage/backend/backend.go begin,
// batch_tx.go unsafeCommit; etcd-io/bbolt:tx.go close).
const commits = 3

func (c *etcdClient) SizeInUse(ctx context.Context) (int64, error) {
	for range commits {
		if err := c.commit(ctx); err != nil {
			return 0, fmt.Errorf("having etcd commit: %w", err)
		}
	}
	status, err := c.Status(ctx)
	return status.DBSizeInUse, err
}

// commit has etcd commit, which it does before it sends a snapshot, also where an alarm keeps it from all writes. No
// more of that is read than the first piece.
func (c *etcdClient) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	sent, err := c.maintenance.Snapshot(ctx, &pb.SnapshotRequest{})
	if err == nil {
		_, err = sent.Recv()
	}
	return rpctypes.Error(err)
}
