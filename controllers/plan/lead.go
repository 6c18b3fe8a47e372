package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// moveLeader hands leadership to the member that a person named a moment ago. What keeps it from that is told until the
// request ends. A name that no member has holds nothing up: report warns of it. See docs/decisions/0048.
func moveLeader(o pass) *proposal {
	asked, leader := o.Desired.Lead, o.Leader()
	taker := o.Find(asked.Name)
	if asked.Name == "" || taker.Member == nil || taker.Member.ID == o.Membership.Leader {
		return nil
	}
	if why := whyNotLead(o, taker); why != "" {
		return wait(facts.ReasonMoveLeader, "The annotation etcdsteward.dev/move-leader names %s, which %s. The "+
			"operator moves leadership there as soon as it can, until %s. After that, ask again.", asked.Name, why,
			asked.Until.UTC().Format(time.RFC3339)).answering().yielding()
	}
	return act(changes.MoveLeader{From: leader.Name, To: taker.Name, FromID: leader.Member.ID, ToID: taker.Member.ID},
		"the annotation etcdsteward.dev/move-leader names %s.", taker.Name)
}

// whyNotLead says what keeps a member from leadership now, as the rest of a sentence that begins with "which", or "".
// One that is about to stop would have to hand over again.
func whyNotLead(o pass, r facts.Replica) string {
	d := o.due
	soon := []string{d.Restart.Name, d.Succeeded.Name, d.Leave.Name, d.Defragment.Name}
	switch {
	case !r.IsVoter():
		return "has no vote yet"
	case o.Leader().Member == nil:
		return "can take over only while the member that leads answers the operator"
	case !isWell(o.Incarnation, r):
		return "does not serve"
	case slices.Contains(soon, r.Name) || o.IsFenced(r):
		return "is about to stop"
	}
	return ""
}
