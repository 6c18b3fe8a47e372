package dial

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// every is a key, and the end of a range, that takes in all keys.
var every = []byte{0}

func (c *etcdClient) HoldsKeys(ctx context.Context, revision int64) (bool, error) {
	r, err := call(ctx, c, readDeadline, c.kv.Range, &pb.RangeRequest{Key: every, RangeEnd: every, Revision: revision,
		Limit: 1, KeysOnly: true, Serializable: true})
	if err != nil {
		return false, fmt.Errorf("looking for a key at revision %d: %w", revision, err)
	}
	return len(r.GetKvs()) > 0, nil
}
