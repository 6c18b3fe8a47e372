package backup

import (
	"context"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// readDeadline is for an answer that a quorum has to agree on.
const readDeadline = 5 * time.Second

// agreedKey is read for the revision that comes with the answer. It need not exist.
const agreedKey = "etcdsteward.dev/health"

// agreed is what a quorum of the members had agreed on when it was asked. All that was acknowledged by then is at or
// before revision and index; index counts what has no revision as well: users, alarms, leases.
type agreed struct {
	voters   []*pb.Member
	revision int64
	index    uint64
}

func (a *agreed) isReachedBy(status *pb.StatusResponse) bool {
	return status.GetHeader().GetRevision() >= a.revision && status.GetRaftAppliedIndex() >= a.index
}

func (a *agreed) isVoter(m *member) bool {
	return slices.ContainsFunc(a.voters, m.isListedAs)
}

// agree asks, through one member, for what a quorum has agreed on. What a member says of itself can be of the past: it
// may be cut off from the others, or apply what they agree on slowly. The leader is asked first, and is the last of the
// members.
func (s *sources) agree(ctx context.Context, members []*member) error {
	if len(members) == 0 {
		return s.noSource()
	}
	var errs []error
	for _, m := range slices.Backward(members) {
		found, err := m.askQuorum(ctx)
		if err == nil {
			s.agreed = found
			break
		}
		errs = append(errs, err)
	}
	if len(errs) == len(members) {
		return joinNoSource(errs)
	}
	for _, m := range s.fit() {
		s.revision = max(s.revision, m.status.GetHeader().GetRevision())
		s.index = max(s.index, m.status.GetRaftIndex())
	}
	return nil
}

// askQuorum asks once more for the status, after the quorum: by then the member has applied what that had agreed on.
func (m *member) askQuorum(ctx context.Context) (agreed, error) {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	list, err := pb.NewClusterClient(m.conn.ActiveConnection()).MemberList(ctx,
		&pb.MemberListRequest{Linearizable: true})
	if err != nil {
		return agreed{}, memberFailure(m, "reading the list of members", err)
	}
	read, err := pb.NewKVClient(m.conn.ActiveConnection()).Range(ctx, &pb.RangeRequest{Key: []byte(agreedKey)})
	if err != nil {
		return agreed{}, memberFailure(m, "reading the revision that a quorum has", err)
	}
	voters := slices.DeleteFunc(list.GetMembers(), (*pb.Member).GetIsLearner)
	return agreed{voters: voters, revision: read.GetHeader().GetRevision()}, m.ask(ctx)
}
