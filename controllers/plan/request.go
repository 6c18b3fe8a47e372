package plan

import "slices"

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

// Standing says how a request stands.
func (o Observation) Standing(r Request) Standing { return o.current().Standing(r) }

func (o view) Standing(r Request) Standing {
	switch {
	case o.Birth.Restore == r.ID && o.Birth.ClusterID == 0:
		return StandingMoved
	case o.cameOf(r.ID):
		return StandingComplete
	case o.Birth.Next.Restore == r.ID:
		return StandingLaying
	case !o.canBeFollowed():
		return StandingUnborn
	case r.Approval == "":
		return StandingMissing
	case !o.approved[r.ID]:
		return StandingStale
	}
	if o.Ahead(r) != "" {
		return StandingAnother
	}
	return StandingApproved
}

// Ahead is the name of the EtcdRestore that is carried out before this one, or "".
func (o Observation) Ahead(r Request) string { return o.current().Ahead(r) }

func (o view) Ahead(r Request) string {
	if chosen, ok := o.chosen(); ok && chosen.ID != r.ID {
		return chosen.Name
	}
	return ""
}

// approvals are the requests, by ID, that quote the evidence of this observation.
func (o view) approvals() map[string]bool {
	if len(o.Requests) == 0 {
		return nil
	}
	evidence, out := o.Evidence(), map[string]bool{}
	for _, r := range o.Requests {
		out[r.ID] = evidence.Accepts(r.Approval)
	}
	return out
}

// approvedNow is the EtcdRestore of that identity, if it quotes the evidence of this very observation and nothing came
// of it yet.
func (o view) approvedNow(id string) (Request, bool) {
	i := slices.IndexFunc(o.Requests, func(r Request) bool { return r.ID == id })
	if id == "" || i < 0 || !o.approved[id] || o.incarnationOfRequest(id) != "" {
		return Request{}, false
	}
	return o.Requests[i], true
}

// cameOf reports whether this incarnation of the cluster, or one before it, came of the request.
func (o Incarnation) cameOf(id string) bool {
	for _, past := range o.Birth.Former {
		if past.Restore == id {
			return true
		}
	}
	return o.Birth.Restore == id
}

// canBeFollowed reports whether there is an incarnation that another one can be restored beside: one whose identity is
// written down, or one that a restore in place switched over to and that never got so far.
func (o Incarnation) canBeFollowed() bool {
	return o.Birth.Exists() && !o.Birth.Void && (o.Birth.ClusterID != 0 || len(o.Birth.Former) > 0)
}

// chosen is the request that is carried out: the one that is being restored, or else the oldest one that is approved on
// the evidence there is, and that nothing came of yet.
func (o view) chosen() (Request, bool) {
	for _, r := range o.Requests {
		if r.ID == o.Birth.Next.Restore && r.Approval != "" && !o.isOvertaken() {
			return r, true
		}
	}
	if len(o.Requests) == 0 || !o.Birth.Next.IsZero() || !o.canBeFollowed() {
		return Request{}, false
	}
	for _, r := range o.Requests {
		if o.approved[r.ID] && !o.cameOf(r.ID) {
			return r, true
		}
	}
	return Request{}, false
}
