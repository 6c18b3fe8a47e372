package plan

// Standing is how an EtcdRestore stands, read from the birth record and the evidence alone.
type Standing string

// The standings of a request.
const (
	StandingUnborn   Standing = "Unborn"          // there is no life yet that could be restored over
	StandingMissing  Standing = "ApprovalMissing" // it quotes no evidence
	StandingStale    Standing = "ApprovalStale"   // it quotes other evidence than there is now
	StandingAnother  Standing = "AnotherRestore"  // another one is carried out first
	StandingApproved Standing = "Approved"        // it is the one to be carried out; nothing of it is written down yet
	StandingLaying   Standing = "Laying"          // its life is laid beside the one that serves
	StandingMoved    Standing = "Moved"           // its life is the one that the birth record is of, and has no quorum yet
	StandingComplete Standing = "Complete"        // its life serves, or did
)

// Standing says how a request stands.
func (o Observation) Standing(r Request) Standing {
	switch {
	case o.Birth.Restore == r.ID && o.Birth.ClusterID == 0:
		return StandingMoved
	case o.cameOf(r.ID):
		return StandingComplete
	case o.Birth.Coming.Restore == r.ID:
		return StandingLaying
	case !o.canBeFollowed():
		return StandingUnborn
	case r.Approval == "":
		return StandingMissing
	case !o.Evidence().Accepts(r.Approval):
		return StandingStale
	}
	if o.Ahead(r) != "" {
		return StandingAnother
	}
	return StandingApproved
}

// Ahead is the name of the EtcdRestore that is carried out before this one, or "".
func (o Observation) Ahead(r Request) string {
	if chosen, ok := o.chosen(); ok && chosen.ID != r.ID {
		return chosen.Name
	}
	return ""
}

// cameOf reports whether this life of the cluster, or one before it, came of the request.
func (o Observation) cameOf(id string) bool {
	for _, past := range o.Birth.Past {
		if past.Restore == id {
			return true
		}
	}
	return o.Birth.Restore == id
}

// canBeFollowed reports whether there is a life that another one can be laid beside: one whose identity is written down, or one
// that a restore in place moved to and that never got so far.
func (o Observation) canBeFollowed() bool {
	return o.Birth.Exists && !o.Birth.Void && (o.Birth.ClusterID != 0 || len(o.Birth.Past) > 0)
}

// chosen is the request that is carried out: the one that is being laid, or else the oldest one that is approved on the evidence
// there is, and that nothing came of yet.
func (o Observation) chosen() (Request, bool) {
	for _, r := range o.Requests {
		if r.ID == o.Birth.Coming.Restore && r.Approval != "" && !o.isOvertaken() {
			return r, true
		}
	}
	if len(o.Requests) == 0 || !o.Birth.Coming.IsZero() || !o.canBeFollowed() {
		return Request{}, false
	}
	evidence := o.Evidence()
	for _, r := range o.Requests {
		if evidence.Accepts(r.Approval) && !o.cameOf(r.ID) {
			return r, true
		}
	}
	return Request{}, false
}
