package observe

import (
	"context"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// hashPatience is what a member may take to hash its keys: a moment, and a second for each hashedEachSecond bytes of
// its database. On two busy processors 550 MB took 0.9 s from memory.
const (
	hashPatience     = 4 * time.Second
	hashedEachSecond = 128 << 20
)

// addHashes asks every voter that answers for the hash of its keys, at the lowest revision that any of them has: only
// hashes of one revision can be compared. One that does not answer, or has compacted that revision, has none. A member
// applies nothing while it hashes, so they are asked one after the other: the rest are a quorum.
func (s survey) addHashes(ctx context.Context, replicas []facts.Replica) {
	var revision int64
	for _, r := range replicas {
		if r.IsVoter() && r.Answer != nil && (revision == 0 || r.Answer.Revision < revision) {
			revision = r.Answer.Revision
		}
	}
	for _, r := range replicas {
		if r.IsVoter() && r.Answer != nil {
			s.addHash(ctx, r, revision)
		}
	}
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
