package backup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
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

// expectWitness wants another member's hash.
func expectWitness(t testing.TB, m Manifest, witness string) {
	t.Helper()
	if m.KeysHash.Member != witness || m.Member == witness || m.KeysHash.NoWitness != "" || m.KeysHash.OnlyVoter {
		t.Errorf("of %s, and compared: %+v", m.Member, m.KeysHash)
	}
}

// expectNoWitness wants the hash of the member that the snapshot is of, and that it is said who did not confirm it.
func expectNoWitness(t testing.TB, m Manifest, named ...string) {
	t.Helper()
	if m.KeysHash.Member != m.Member || m.KeysHash.OnlyVoter || len(m.KeysHash.NoWitness) > maxNoWitness {
		t.Errorf("of %s, and compared: %+v", m.Member, m.KeysHash)
	}
	for _, name := range named {
		if !strings.Contains(m.KeysHash.NoWitness, name) {
			t.Errorf("%s is not named: %q", name, m.KeysHash.NoWitness)
		}
	}
}

func TestTheOnlyVoterOfAClusterIsItsOwnWitness(t *testing.T) {
	l := newLiar(t)
	learner := &pb.Member{ID: liarID + 9, Name: "m1", IsLearner: true}
	l.voters = append(l.voters, learner)
	bucket, _ := volumeBucket(t)
	m, err := Take(context.Background(), liarOptions(t, bucket, l.serve(t, "m0")))
	must(t, err)
	if m.KeysHash.Member != m.Member || !m.KeysHash.OnlyVoter || m.KeysHash.NoWitness != "" {
		t.Errorf("of %s, and compared: %+v", m.Member, m.KeysHash)
	}
}

// A member's Pod may be gone, and the cluster still has its vote.
func TestAVoterThatEtcdListsAndWhoseAddressIsNotKnownIsMissedAsAWitness(t *testing.T) {
	leader, follower := pair(t)
	bucket, _ := volumeBucket(t)
	m, err := Take(context.Background(), liarOptions(t, bucket, follower.serve(t, "follower")))
	must(t, err)
	expectNoWitness(t, m, leader.voters[0].Name)
}

func TestAWitnessThatCatchesUpAndDiffersIsHeard(t *testing.T) {
	leader, follower := pair(t)
	leader.diverge(t)
	var asked atomic.Int32
	leader.onHash = func() error {
		if asked.Add(1) < 4 {
			return rpctypes.ErrGRPCFutureRev
		}
		return nil
	}
	_, err := takeOfPair(t, leader, follower)
	wantReason(t, err, ReasonHashMismatch)
}

func TestAVoterThatAnswersAgainIsHeardAsAWitness(t *testing.T) {
	leader, follower := pair(t)
	var asked atomic.Int32
	leader.onStatus = func(s *pb.StatusResponse) {
		if s.Leader = 0; asked.Add(1) > 2 {
			s.Leader = liarID
		}
	}
	m, err := takeOfPair(t, leader, follower)
	must(t, err)
	expectWitness(t, m, "leader")
}

func TestASnapshotThatAWitnessHasCompactedPastIsTakenAgain(t *testing.T) {
	leader, follower := pair(t)
	var asked atomic.Int32
	leader.onHash = func() error {
		if asked.Add(1) == 1 {
			return rpctypes.ErrGRPCCompacted
		}
		return nil
	}
	m, err := takeOfPair(t, leader, follower)
	must(t, err)
	if m.KeysHash.Member == m.Member || leader.snapshots()+follower.snapshots() != 2 {
		t.Errorf("of %s, and compared: %+v", m.Member, m.KeysHash)
	}
}

func TestAMemberThatIsBehindOrFailsIsWaitedForOrLeftOut(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	for name, tc := range map[string]struct {
		onHash    func() error
		isWitness bool
	}{
		"a moment behind": {func() error {
			if asked.Add(1) < 4 {
				return rpctypes.ErrGRPCFutureRev
			}
			return nil
		}, true},
		"behind for long":       {func() error { return rpctypes.ErrGRPCFutureRev }, false},
		"going down":            {func() error { return status.Error(codes.Unavailable, "going down") }, false},
		"it knows no such call": {func() error { return status.Error(codes.Unimplemented, "HashKV") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leader, follower := pair(t)
			leader.onHash = tc.onHash
			bucket, _ := volumeBucket(t)
			o := liarOptions(t, bucket, leader.serve(t, "leader"), follower.serve(t, "follower"))
			if tc.isWitness {
				o.Patience = time.Minute // however busy the machine is
			}
			m, err := Take(context.Background(), o)
			must(t, err)
			if tc.isWitness {
				expectWitness(t, m, "leader")
			} else {
				expectNoWitness(t, m, "leader")
			}
		})
	}
}

func TestAMemberThatHasNotCompactedAsTheSnapshotHasIsLeftOut(t *testing.T) {
	leader, follower := pair(t)
	leader.hash.CompactRevision--
	m, err := takeOfPair(t, leader, follower)
	must(t, err)
	expectNoWitness(t, m, "leader")
}

func TestWithNoneButOneMemberAtHandNothingIsConfirmedInAnyRelease(t *testing.T) {
	t.Parallel()
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, version, 3, false)
			c.fill()
			bucket, _ := volumeBucket(t)
			o := c.options(bucket)
			o.Endpoints, o.Patience = o.Endpoints[:1], time.Second
			m, err := Take(context.Background(), o)
			must(t, err)
			expectNoWitness(t, m, "m1", "m2")
		})
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

func TestOneProcessAtTheAddressesOfTwoMembersIsNoWitnessOfItself(t *testing.T) {
	leader, follower := pair(t)
	bucket, _ := volumeBucket(t)
	at := leader.serve(t, "leader")
	o := liarOptions(t, bucket, at, Endpoint{Name: "follower", URL: at.URL})
	_ = follower // is in the list, and nobody reaches it
	m, err := Take(context.Background(), o)
	must(t, err)
	if m.KeysHash.NoWitness == "" || m.KeysHash.OnlyVoter {
		t.Errorf("of %s, and compared: %+v", m.Member, m.KeysHash)
	}
}

func TestAMemberThatIsAccusedWhileAWitnessIsWaitedForGivesNoBackup(t *testing.T) {
	leader, follower := pair(t)
	leader.onHash = func() error { return rpctypes.ErrGRPCFutureRev }
	var asked atomic.Int32
	follower.onStatus = func(s *pb.StatusResponse) {
		if asked.Add(1) > 4 {
			s.Version, s.Errors = "3.9.9", []string{"alarm:CORRUPT "}
		}
	}
	_, err := takeOfPair(t, leader, follower)
	wantReason(t, err, ReasonNoSource)
}
