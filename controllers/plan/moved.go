package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What is different about the beginning of a life that a restore in place moved to: the one before it ended, so it is never given up
// for another one without a person. What of it is lost before it serves is made up for later, as long as a quorum is left.

// hasMoved reports whether a restore in place moved to this life.
func (o Observation) hasMoved() bool { return len(o.Birth.Past) > 0 }

// goesOnWithout reports a birth that is not given up for a volume that was lost: one that was moved to, or that has answered with
// what was restored.
func (o Observation) goesOnWithout() bool {
	return o.hasMoved() || !o.Birth.Origin.IsZero() && slices.ContainsFunc(o.Replicas, hasWrites)
}

// firstMembers are those that a birth makes: all of them, or those whose volumes are what they were, where it goes on without the others.
func (o Observation) firstMembers() []Replica {
	if !o.goesOnWithout() {
		return o.birthReplicas()
	}
	return filter(o.birthReplicas(), func(r Replica) bool { return !o.hasLostVolume(r) && r.lostByOwnWord() == "" })
}

// lostAfterMove refuses to begin what could not serve any more.
func (o Observation) lostAfterMove() *proposal {
	left := o.firstMembers()
	if o.isAlive() || len(left) >= etcdutil.Quorum(len(o.Birth.Names)) {
		return nil
	}
	var lost []string
	for _, r := range o.birthReplicas() {
		if _, isLeft := find(left, r.Name); !isLeft {
			lost = append(lost, r.Name)
		}
	}
	return refuse(ReasonRestoreLost, "The cluster moved to what an EtcdRestore laid, and before that served, the volumes of %s were lost. What is left is no quorum. "+
		"The volumes of the life before are kept. Make and approve another EtcdRestore; or, to go on with what was before, see that spec.deletionPolicy is Retain, "+
		"delete the EtcdCluster and create it again: what it refuses then says how.", strings.Join(lost, ", ")).byHuman()
}
