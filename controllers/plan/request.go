package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Standing is how an EtcdRestore stands, read from the birth record and the evidence alone.
type Standing string

// The standings of a request.
const (
	StandingUnborn   Standing = "Unborn"          // there is no incarnation yet that could be restored over
	StandingMissing  Standing = "ApprovalMissing" // it quotes no evidence
	StandingStale    Standing = "ApprovalStale"   // it quotes other evidence than there is now
	StandingAnother  Standing = "AnotherRestore"  // another one is carried out first
	StandingApproved Standing = "Approved"        // it is the one to be carried out; nothing of it is written down yet
	StandingLaying   Standing = "Laying"          // its incarnation is prepared beside the one that serves
	// its incarnation is the one that the birth record is of, and has no quorum yet
	StandingMoved    Standing = "Moved"
	StandingComplete Standing = "Complete" // its incarnation serves, or did
)

// StandingOf says how a request stands.
func StandingOf(o facts.Observation, r facts.Request) Standing { return standing(current(o), r) }

func standing(o judge.View, r facts.Request) Standing {
	switch {
	case o.Birth.Restore == r.ID && o.Birth.ClusterID == 0:
		return StandingMoved
	case isOnTheWayBack(o, r.ID):
		return StandingMoved
	case o.CameOf(r.ID):
		return StandingComplete
	case o.Birth.Next.Restore == r.ID:
		return StandingLaying
	case !o.CanBeFollowed():
		return StandingUnborn
	case r.Approval == "":
		return StandingMissing
	case !o.Approved[r.ID]:
		return StandingStale
	}
	if chosenBefore(o, r) != "" {
		return StandingAnother
	}
	return StandingApproved
}

// ChosenBefore is the name of the EtcdRestore that is carried out before this one, or "".
func ChosenBefore(o facts.Observation, r facts.Request) string { return chosenBefore(current(o), r) }

func chosenBefore(o judge.View, r facts.Request) string {
	if chosen, ok := chosenRequest(o); ok && chosen.ID != r.ID {
		return chosen.Name
	}
	return ""
}

// approvals are the requests, by ID, that quote the evidence of this observation.
func approvals(o judge.View) map[string]bool {
	if len(o.Requests) == 0 {
		return nil
	}
	evidence, out := evidenceNow(o), map[string]bool{}
	for _, r := range o.Requests {
		out[r.ID] = evidence.Accepts(r.Approval)
	}
	return out
}

// isOnTheWayBack reports the request for which the cluster went back to this incarnation, before that answers. When it
// first did nothing in the world says.
func isOnTheWayBack(o judge.View, id string) bool {
	n := len(o.Birth.Former)
	return n > 0 && o.Birth.Former[n-1].Back == id && id != "" && !o.HasQuorum()
}

// chosenRequest is the request that is carried out: the one that is being restored, or else the oldest one that is
// approved on the evidence there is, and that nothing came of yet.
func chosenRequest(o judge.View) (facts.Request, bool) {
	for _, r := range o.Requests {
		if r.ID == o.Birth.Next.Restore && r.Approval != "" && !o.IsOvertaken() {
			return r, true
		}
	}
	if len(o.Requests) == 0 || !o.Birth.Next.IsZero() || !o.CanBeFollowed() {
		return facts.Request{}, false
	}
	for _, r := range o.Requests {
		if o.Approved[r.ID] && !o.CameOf(r.ID) {
			return r, true
		}
	}
	return facts.Request{}, false
}
