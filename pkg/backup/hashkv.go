package backup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// hashRate is how fast, at worst, a member is thought to hash its keys: bytes per second of its database.
const hashRate = 20 << 20

// hashOnline asks for the hash of a member's keys at the revision of the snapshot: of another member than the snapshot
// is of, if one answers, since one disk cannot testify against itself. A hash that no member can give any more, because
// all have compacted past the revision, is errCompactedPast: a newer snapshot can be hashed.
func (s *sources) hashOnline(ctx context.Context, source *member, facts Facts, size int64) (KeysHash, error) {
	deadline := 30*time.Second + time.Duration(size/hashRate)*time.Second
	var last error
	for _, m := range append(s.witnesses(source), source) {
		hash, err := m.hash(ctx, facts, deadline)
		if err == nil {
			hash.Member = m.Name
			return hash, nil
		}
		if ctx.Err() != nil || ReasonOf(err) == ReasonAuthRequired {
			return KeysHash{}, err
		}
		last = err
	}
	return KeysHash{}, fail(ReasonHashUnavailable, "no member hashed its keys at revision %d: %w", facts.Revision, last)
}

// witnesses are the voters of the cluster beside the source: followers first, since hashing is work that the leader has
// no time for, and of them those that had applied most.
func (s *sources) witnesses(source *member) []*member {
	var others []*member
	for _, m := range s.members {
		if m != source && m.status != nil && s.admit(m) == nil {
			others = append(others, m)
		}
	}
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
	hash, err := m.hashOnceThere(ctx, facts.Revision)
	if err != nil || hash.CompactRevision >= facts.CompactRevision {
		return hash, err
	}
	hash, err = m.hashAt(ctx, 0)
	switch {
	case err != nil:
		return KeysHash{}, err
	case hash.Revision != facts.Revision:
		return KeysHash{}, fail(ReasonHashUnavailable, "hash the keys of member %s at revision %d: %w", m.Name,
			facts.Revision, errCompactedPast)
	case hash.CompactRevision < facts.CompactRevision:
		// A compaction moves no revision, so nothing above waited for it.
		return KeysHash{}, fail(ReasonHashUnavailable,
			"hash the keys of member %s: it has not compacted at %d yet, as the snapshot has", m.Name,
			facts.CompactRevision)
	}
	return hash, nil
}

// hashOnceThere gives a member that is behind a moment to apply what the source of the snapshot had applied.
func (m *member) hashOnceThere(ctx context.Context, revision int64) (KeysHash, error) {
	for patience := time.Now().Add(statusDeadline); ; {
		hash, err := m.hashAt(ctx, revision)
		if !errors.Is(err, rpctypes.ErrFutureRev) || time.Now().After(patience) {
			return hash, err
		}
		select {
		case <-ctx.Done():
			return KeysHash{}, err
		case <-time.After(catchUpInterval):
		}
	}
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
	return KeysHash{Hash: response.GetHash(), Revision: revision,
		CompactRevision: max(0, response.GetCompactRevision())}, nil
}
