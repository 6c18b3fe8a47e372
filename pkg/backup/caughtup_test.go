package backup

import (
	"context"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

// A follower that is cut off from the others, or behind, does not know what they have acknowledged. Only a quorum does.
func TestASnapshotHoldsAllThatAQuorumHasAgreedOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		revision int64 // that the follower says it has
		moves    bool
		want     Reason
	}{
		"once the member that is asked holds it":                     {5, true, ""},
		"and is none while it does not":                              {5, false, ReasonMemberFailed},
		"and is none without it, whatever the member says of itself": {1000, false, ReasonMemberFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const agreed = 12
			_, follower := pair(t)
			follower.status.Header.Revision = tc.revision
			if tc.moves {
				follower.onStatus = func(s *pb.StatusResponse) { s.Header.Revision++ }
			}
			follower.onRead = func() (int64, error) { return max(agreed, tc.revision), nil }
			var from int64
			follower.send = func(content []byte, s pb.Maintenance_SnapshotServer) error {
				follower.mu.Lock()
				from = follower.status.Header.Revision
				follower.mu.Unlock()
				return sendAll(content, s)
			}
			bucket, root := volumeBucket(t)
			_, err := Take(context.Background(), liarOptions(t, bucket, follower.serve(t, "follower")))
			if tc.want != "" {
				wantReason(t, err, tc.want)
				if left := stored(t, root); len(left) > 0 {
					t.Errorf("the store has %v", left)
				}
				return
			}
			must(t, err)
			if from < agreed {
				t.Errorf("the snapshot was begun at revision %d", from)
			}
		})
	}
}

// Users, alarms and leases have no revision: what is committed of them is known by its place in raft's log.
func TestASnapshotIsTakenOnceItsMemberHasAppliedWhatIsCommitted(t *testing.T) {
	const committed = 1010
	leader, follower := pair(t)
	leader.status.RaftIndex = committed
	follower.onStatus = func(s *pb.StatusResponse) { s.RaftAppliedIndex++ }
	var from uint64
	follower.send = func(content []byte, s pb.Maintenance_SnapshotServer) error {
		follower.mu.Lock()
		from = follower.status.RaftAppliedIndex
		follower.mu.Unlock()
		return sendAll(content, s)
	}
	m, err := takeOfPair(t, leader, follower)
	must(t, err)
	if m.Member != "follower" || from < committed {
		t.Errorf("the snapshot is of %s, begun at index %d", m.Member, from)
	}
}

func TestWithoutAQuorumThatAnswersNoSnapshotIsTaken(t *testing.T) {
	leader, follower := pair(t)
	for _, l := range []*liar{leader, follower} {
		l.onRead = func() (int64, error) { return 0, rpctypes.ErrGRPCTimeout }
	}
	_, err := takeOfPair(t, leader, follower)
	wantReason(t, err, ReasonNoSource)
	if n := leader.snapshots() + follower.snapshots(); n != 0 {
		t.Errorf("%d snapshots were taken", n)
	}
}

func TestAnyMemberMaySayWhatAQuorumHasAgreedOn(t *testing.T) {
	leader, follower := pair(t)
	leader.onRead = func() (int64, error) { return 0, rpctypes.ErrGRPCTimeout }
	m, err := takeOfPair(t, leader, follower)
	must(t, err)
	expectWitness(t, m, "leader")
}
