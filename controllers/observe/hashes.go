package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// hashPatience is what a member may take to hash its keys: a moment, and a second for each hashedEachSecond bytes of
// its database. On two busy processors 550 MB took 0.9 s from memory.
const (
	hashPatience     = 4 * time.Second
	hashedEachSecond = 128 << 20
)

// newest asks a member for the hash of what it holds now.
const newest = 0

// addHashes asks every voter that answers for the hash of its keys, at the lowest revision that any of them has: only
// hashes of one revision can be compared. One that does not answer, or has compacted that revision, has none.
//
// A revision that history was compacted to is special. The process that compacted it tells the hash that it had made
// then, of the compaction before; one that started since hashes anew, and the two say nothing of each other. Where no
// one writes that stays so. Only what is asked for as the newest revision is hashed anew by every process.
func (s survey) addHashes(ctx context.Context, replicas []facts.Replica) {
	asked := facts.Filter(replicas, func(r facts.Replica) bool { return r.IsVoter() && r.Answer != nil })
	if len(asked) == 0 {
		return
	}
	revisionOf := func(r facts.Replica) int64 { return r.Answer.Revision }
	lowest := revisionOf(slices.MinFunc(asked, func(a, b facts.Replica) int {
		return cmp.Compare(revisionOf(a), revisionOf(b))
	}))
	s.askHashes(ctx, asked, lowest)
	if areOfTwoCompactions(asked) {
		s.askHashes(ctx, asked, newest)
	}
	if (facts.Incarnation{Members: asked}).CopiesDiffer() && s.holdNoKeys(ctx, asked) {
		for _, r := range asked {
			r.Answer.Hash = nil
		}
	}
}

// askHashes asks members one after the other, since one applies nothing while it hashes: the rest are a quorum. While
// CORRUPT stands there is nothing to apply, and clients wait for the end of it: all are asked at once.
func (s survey) askHashes(ctx context.Context, asked []facts.Replica, revision int64) {
	isCorrupt := func(a facts.Alarm) bool { return a.Name == facts.AlarmCorrupt }
	saysSo := func(r facts.Replica) bool { return slices.ContainsFunc(r.Answer.Alarms, isCorrupt) }
	var group errgroup.Group
	if !slices.ContainsFunc(asked, saysSo) {
		group.SetLimit(1)
	}
	for _, r := range asked {
		group.Go(func() error { s.addHash(ctx, r, revision); return nil })
	}
	_ = group.Wait()
}

func (s survey) addHash(ctx context.Context, r facts.Replica, revision int64) {
	client, isAsked := s.clients[r.Name]
	if !isAsked {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hashPatience+time.Duration(r.Answer.DBSize/hashedEachSecond)*time.Second)
	defer cancel()
	if h, err := client.HashKV(ctx, revision); err == nil {
		r.Answer.Hash = &facts.Hash{Sum: h.Hash, Revision: h.Revision, Compacted: h.CompactRevision}
	}
}

// areOfTwoCompactions reports hashes of one revision that cannot be compared all the same.
func areOfTwoCompactions(asked []facts.Replica) bool {
	heard := facts.Filter(asked, func(r facts.Replica) bool { return r.Answer.Hash != nil })
	return slices.ContainsFunc(heard, func(r facts.Replica) bool {
		first, own := heard[0].Answer.Hash, r.Answer.Hash
		return own.Revision == first.Revision && own.Compacted != first.Compacted
	})
}

// holdNoKeys reports that each member that told a hash says that there was no key at that revision. There etcd hashes
// also what a compaction has yet to take away, so a member that is at that differs from one that is done, and neither
// is wrong (etcd-io/etcd:server/storage/mvcc/hash.go WriteKeyValue).
func (s survey) holdNoKeys(ctx context.Context, asked []facts.Replica) bool {
	return !slices.ContainsFunc(asked, func(r facts.Replica) bool {
		client, isAsked := s.clients[r.Name]
		if r.Answer.Hash == nil || !isAsked {
			return false
		}
		hasSome, err := client.HoldsKeys(ctx, r.Answer.Hash.Revision)
		return err == nil && hasSome
	})
}
