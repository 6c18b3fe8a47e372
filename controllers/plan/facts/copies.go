package facts

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Copies of the data that differ. A member that starts compares its copy with those of its peers, and stops when any
// one of them differs: so a good member beside a corrupt one says the same as a corrupt one beside good ones, and an
// alarm may name the wrong member. Only the hashes of all voters at one revision show whose copy is right.

// Hash is what a member's keys add up to. Two can be compared when they are of the same revision, compacted at the same
// one.
type Hash struct {
	Sum                 uint32
	Revision, Compacted int64
}

// comparesWith reports whether two hashes speak of the same revisions.
func (h Hash) comparesWith(other Hash) bool {
	return h.Revision == other.Revision && h.Compacted == other.Compacted
}

// sameCopies are the voters with this very hash.
func (o Incarnation) sameCopies(h Hash) []Replica {
	return Filter(o.Voters(), func(r Replica) bool {
		return r.Answer != nil && r.Answer.Hash != nil && *r.Answer.Hash == h
	})
}

// StandsAlone reports a voter whose copy no other voter has, while a majority of all voters has the same other one.
func (o Incarnation) StandsAlone(r Replica) bool {
	if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil || len(o.sameCopies(*r.Answer.Hash)) != 1 {
		return false
	}
	return slices.ContainsFunc(o.Voters(), func(other Replica) bool {
		return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash) &&
			o.HasMajority(*other.Answer.Hash)
	})
}

// HasMajority reports a copy that a majority of all voters holds.
func (o Incarnation) HasMajority(h Hash) bool {
	return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))
}
