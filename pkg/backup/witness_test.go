package backup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// diverge gives a member another value than the others have, and the hash that goes with it.
func (l *liar) diverge(t testing.TB) {
	t.Helper()
	database := withAnotherValue(t, l.content)
	path := filepath.Join(t.TempDir(), "db")
	must(t, os.WriteFile(path, database, 0o600))
	hash, err := HashKeys(path, l.hash.HashRevision, l.hash.CompactRevision)
	must(t, err)
	l.content, l.hash.Hash = sealed(database), hash
}

// pair is a leader and a follower, which a snapshot is taken of.
func pair(t testing.TB) (leader, follower *liar) {
	t.Helper()
	leader, follower = newLiar(t), newLiar(t)
	together(leader, follower)
	return leader, follower
}

func takeOfPair(t testing.TB, leader, follower *liar) (Manifest, error) {
	t.Helper()
	bucket, _ := volumeBucket(t)
	return Take(context.Background(), liarOptions(t, bucket, leader.serve(t, "leader"), follower.serve(t, "follower")))
}

func TestTheKeysOfASnapshotAreComparedWithThoseOfAnotherMember(t *testing.T) {
	leader, follower := pair(t)
	m, err := takeOfPair(t, leader, follower)
	if err != nil || m.Member != "follower" || m.KeysHash.Member != "leader" {
		t.Errorf("of %q, compared with %q: %v", m.Member, m.KeysHash.Member, err)
	}
}

func TestTheLeaderIsAskedForAHashLast(t *testing.T) {
	leader, follower := pair(t)
	other := newLiar(t)
	together(leader, follower, other)
	leader.status.RaftAppliedIndex += 5
	bucket, _ := volumeBucket(t)
	o := liarOptions(t, bucket, leader.serve(t, "leader"), follower.serve(t, "follower"), other.serve(t, "other"))
	m, err := Take(context.Background(), o)
	if err != nil || m.Member == "leader" || m.KeysHash.Member == "leader" || m.KeysHash.Member == m.Member {
		t.Errorf("of %q, compared with %q: %v", m.Member, m.KeysHash.Member, err)
	}
}

func TestAMemberThatHoldsOtherKeysThanTheOthersIsNoBackup(t *testing.T) {
	leader, follower := pair(t)
	follower.diverge(t)
	_, err := takeOfPair(t, leader, follower)
	wantReason(t, err, ReasonHashMismatch)
	for _, name := range []string{"member leader", "member follower"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
}

func TestAMemberThatIsBehindOrFailsIsWaitedForOrLeftOut(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	for name, tc := range map[string]struct {
		onHash  func() error
		witness string
	}{
		"a moment behind": {func() error {
			if asked.Add(1) < 4 {
				return rpctypes.ErrGRPCFutureRev
			}
			return nil
		}, "leader"},
		"behind for long":       {func() error { return rpctypes.ErrGRPCFutureRev }, "follower"},
		"compacted further":     {func() error { return rpctypes.ErrGRPCCompacted }, "follower"},
		"going down":            {func() error { return status.Error(codes.Unavailable, "going down") }, "follower"},
		"it knows no such call": {func() error { return status.Error(codes.Unimplemented, "HashKV") }, "follower"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leader, follower := pair(t)
			leader.onHash = tc.onHash
			m, err := takeOfPair(t, leader, follower)
			if err != nil || m.KeysHash.Member != tc.witness {
				t.Errorf("compared with %q, want %q: %v", m.KeysHash.Member, tc.witness, err)
			}
		})
	}
}

func TestAMemberThatHasNotCompactedAsTheSnapshotHasIsLeftOut(t *testing.T) {
	leader, follower := pair(t)
	leader.hash.CompactRevision--
	m, err := takeOfPair(t, leader, follower)
	if err != nil || m.KeysHash.Member != "follower" {
		t.Errorf("compared with %q: %v", m.KeysHash.Member, err)
	}
}

func TestMembersOfEveryReleaseTestifyForEachOther(t *testing.T) {
	t.Parallel()
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, version, 3, false)
			c.fill()
			bucket, _ := volumeBucket(t)
			m, err := Take(context.Background(), c.options(bucket))
			must(t, err)
			if m.KeysHash.Member == m.Member || m.KeysHash.Member == "" {
				t.Errorf("of %q, compared with %q", m.Member, m.KeysHash.Member)
			}
		})
	}
}
