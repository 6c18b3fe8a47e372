package backup

import (
	"context"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// What was written before a backup began is in it, also where a follower had not applied it yet when it was asked.
func TestASnapshotIsTakenOnceTheFollowerHoldsWhatAnyMemberHeld(t *testing.T) {
	const held = 12
	leader, follower := pair(t)
	leader.status.Header.Revision = held
	follower.status.Header.Revision = held - 5
	follower.onStatus = func(s *pb.StatusResponse) { s.Header.Revision++ }
	var from int64
	follower.send = func(content []byte, s pb.Maintenance_SnapshotServer) error {
		follower.mu.Lock()
		from = follower.status.Header.Revision
		follower.mu.Unlock()
		return sendAll(content, s)
	}
	bucket, _ := volumeBucket(t)
	m, err := Take(context.Background(), liarOptions(t, bucket, leader.serve(t, "leader"), follower.serve(t, "follower")))
	must(t, err)
	if m.Member != "follower" || from < held {
		t.Errorf("the snapshot is of %s, begun at revision %d", m.Member, from)
	}
}

func TestAFollowerThatDoesNotCatchUpIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	leader, follower := pair(t)
	leader.status.Header.Revision = 12
	follower.status.Header.Revision = 11
	bucket, root := volumeBucket(t)
	m, err := Take(context.Background(), liarOptions(t, bucket, leader.serve(t, "leader"), follower.serve(t, "follower")))
	must(t, err)
	if m.Member != "leader" || follower.snapshots() != 0 {
		t.Errorf("the snapshot is of %s; %d of the follower were begun", m.Member, follower.snapshots())
	}
	if left := stored(t, root); len(left) != 2 {
		t.Errorf("the store has %v", left)
	}
}
