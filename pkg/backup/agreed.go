package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// hashRate is how fast, at worst, a member is thought to hash its keys: bytes per second of its database.
const hashRate = 20 << 20

const (
	// witnessInterval is how often members are asked again that could not confirm a snapshot.
	witnessInterval = 200 * time.Millisecond
	// maxNoWitness bounds what is said of them: it is part of a Pod's last words.
	maxNoWitness = 500
)

// hashOnline asks for the hash of a member's keys at the revision of the snapshot: of another voter than the snapshot
// is of, since one disk cannot testify against itself. Where none that etcd lists gives it in time, the member itself
// does, and the hash says who did not. A hash that a member cannot give any more, because it compacted past the
// revision, is errCompactedPast: a newer snapshot can be hashed.
func (t *taking) hashOnline(ctx context.Context, facts Facts, size int64) (KeysHash, error) {
	deadline := 30*time.Second + time.Duration(size/hashRate)*time.Second
	others := slices.DeleteFunc(slices.Clone(t.cluster.voters), t.member.isListedAs)
	if len(others) > 0 {
		hash, err := t.awaitWitness(ctx, facts, deadline)
		if !errors.Is(err, errNoWitness) {
			return hash, err
		}
		if t.cluster.isCalledCorrupt(t.member) { // by now
			return KeysHash{}, t.member.corrupt()
		}
	}
	hash, err := t.member.hash(ctx, facts, deadline)
	hash.OnlyVoter, hash.NoWitness = len(others) == 0, t.cluster.whyUnheard(others)
	return hash, err
}

var errNoWitness = errors.New("no other voter gave its hash in time")

// awaitWitness gives members time that are a moment behind, or being restarted, and notes of each why it gave no hash.
func (t *taking) awaitWitness(ctx context.Context, facts Facts, deadline time.Duration) (KeysHash, error) {
	for until := time.Now().Add(t.Patience); ; t.cluster.ask(ctx) {
		for _, m := range t.cluster.witnesses(t.member) {
			hash, err := m.hash(ctx, facts, deadline)
			if err == nil || isFinal(ctx, err) {
				return hash, err
			}
			m.unfit = err
		}
		if time.Now().After(until) {
			return KeysHash{}, errNoWitness
		}
		select {
		case <-ctx.Done():
			return KeysHash{}, ctx.Err()
		case <-time.After(witnessInterval):
		}
	}
}

// isFinal says that it is of no use to ask again, nor to ask others.
func isFinal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || ReasonOf(err) == ReasonAuthRequired || errors.Is(err, errCompactedPast)
}

// isListedAs reports whether an entry of etcd's list is this member. One that never answered is known by its name.
func (m *member) isListedAs(entry *pb.Member) bool {
	if m.status == nil {
		return m.Name == entry.GetName()
	}
	return m.id() == etcdutil.ID(entry.GetID())
}

// whyUnheard says of each of these voters why it confirmed nothing.
func (s *sources) whyUnheard(voters []*pb.Member) string {
	var why []string
	for _, voter := range voters {
		i := slices.IndexFunc(s.members, func(m *member) bool { return m.isListedAs(voter) })
		switch {
		case i < 0:
			why = append(why, fmt.Sprintf("member %s (%s) had no Pod when the backup began", voter.GetName(),
				etcdutil.ID(voter.GetID())))
		case s.members[i].unfit == nil || client.IsUnreachable(s.members[i].unfit):
			why = append(why, fmt.Sprintf("member %s does not answer", s.members[i].Name))
		default:
			why = append(why, s.members[i].unfit.Error())
		}
	}
	text := strings.Join(why, "; ")
	return strings.ToValidUTF8(text[:min(len(text), maxNoWitness)], "")
}

// witnesses are the voters of the cluster beside the source: followers first, since hashing is work that the leader has
// no time for, and of them those that had applied most.
func (s *sources) witnesses(source *member) []*member {
	// One process may be reached by the addresses of two members.
	others := slices.DeleteFunc(s.fit(), func(m *member) bool { return m.id() == source.id() || !s.isVoter(m) })
	slices.SortStableFunc(others, func(a, b *member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(b.status.GetRaftAppliedIndex(), a.status.GetRaftAppliedIndex()))
	})
	return others
}

var errCompactedPast = errors.New("the cluster compacted past the snapshot's revision before it was hashed")

// hash asks one member. Of the revision at which it compacted last, a member remembers the hash from before the
// compaction (etcd-io/etcd:server/storage/mvcc/hash.go HashByRev), which nobody can compute from a snapshot; where
// nothing was written since, that revision is the current one too, and the current one is always hashed anew.
func (m *member) hash(ctx context.Context, facts Facts, deadline time.Duration) (KeysHash, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	hash, err := m.hashAt(ctx, facts.Revision)
	if err != nil || hash.CompactRevision >= facts.CompactRevision {
		return hash, err
	}
	hash, err = m.hashAt(ctx, 0)
	switch {
	case err != nil:
		return KeysHash{}, err
	case hash.CompactRevision < facts.CompactRevision:
		// A compaction moves no revision, so nothing above waited for it.
		return KeysHash{}, fail(ReasonHashUnavailable,
			"hash the keys of member %s: it has not compacted at %d yet, as the snapshot has", m.Name,
			facts.CompactRevision)
	case hash.Revision != facts.Revision:
		return KeysHash{}, fail(ReasonHashUnavailable, "hash the keys of member %s at revision %d: %w", m.Name,
			facts.Revision, errCompactedPast)
	}
	return hash, nil
}

// hashAt makes the call; revision 0 is the current one.
func (m *member) hashAt(ctx context.Context, revision int64) (KeysHash, error) {
	response, err := m.maintenance.HashKV(ctx, &pb.HashKVRequest{Revision: revision})
	if errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		return KeysHash{}, fail(ReasonHashUnavailable, "hash the keys of member %s at revision %d: %w", m.Name,
			revision, errCompactedPast)
	}
	if err != nil {
		return KeysHash{}, memberFailure(m, "hashing the keys", err)
	}
	if revision == 0 {
		// 3.5 names the revision in the header only.
		revision = response.GetHashRevision()
		if revision == 0 {
			revision = response.GetHeader().GetRevision()
		}
	}
	// Never compacted is -1 to etcd and 0 to us.
	return KeysHash{Hash: response.GetHash(), Revision: revision, Member: m.Name,
		CompactRevision: max(0, response.GetCompactRevision())}, nil
}

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
