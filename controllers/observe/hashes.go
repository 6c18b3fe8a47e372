package observe

import (
	"context"
	"sync"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// hashPatience bounds what the members take to compute their hashes, all at once: a few seconds for a database of 8
// GiB.
const hashPatience = 4 * time.Second

// addHashes asks every voter that answers for the hash of its keys, at the lowest revision that any of them has: only
// hashes of one revision can be compared. One that does not answer, or has compacted that revision, has none.
func (s survey) addHashes(ctx context.Context, replicas []facts.Replica) {
	var revision int64
	for _, r := range replicas {
		if r.IsVoter() && r.Answer != nil && (revision == 0 || r.Answer.Revision < revision) {
			revision = r.Answer.Revision
		}
	}
	ctx, cancel := context.WithTimeout(ctx, hashPatience)
	defer cancel()
	var group sync.WaitGroup
	for _, r := range replicas {
		client, isAsked := s.clients[r.Name]
		if !r.IsVoter() || r.Answer == nil || !isAsked {
			continue
		}
		group.Go(func() {
			if h, err := client.HashKV(ctx, revision); err == nil {
				r.Answer.Hash = &facts.Hash{Sum: h.Hash, Revision: h.Revision, Compacted: h.CompactRevision}
			}
		})
	}
	group.Wait()
}
