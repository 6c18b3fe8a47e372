package facts

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Copies of the data that differ. Only the hashes of voters at one revision show whose copy is right: an alarm may name
// the wrong member. Where etcd itself compares before it serves, it stops when any one peer differs: so a good member
// beside a corrupt one says the same as a corrupt one beside good ones.

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

// IsToBeCompared reports a voter that answers with all that was committed, and that started from data which was not
// compared since.
func (o Incarnation) IsToBeCompared(r Replica) bool {
	return r.IsVoter() && r.IsUp() && r.IsSealed() && r.Pod.Uncompared && r.Pod.Process != "" && o.IsCaughtUp(r)
}

// CopiesDiffer reports two voters whose copies of the same revisions are not the same.
func (o Incarnation) CopiesDiffer() bool {
	var heard []Hash
	for _, r := range o.Voters() {
		if r.Answer == nil || r.Answer.Hash == nil {
			continue
		}
		own := *r.Answer.Hash
		if slices.ContainsFunc(heard, func(h Hash) bool { return h.comparesWith(own) && h != own }) {
			return true
		}
		heard = append(heard, own)
	}
	return false
}
