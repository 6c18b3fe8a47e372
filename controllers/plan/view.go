package plan

// view is what rules read: an observation, with the incarnation that they look after. Each of its members is judged
// once.
type view struct {
	Observation
	Incarnation
	judged   map[string]Judgement // by name
	approved map[string]bool      // the requests, by ID, whose approval quotes the evidence of this observation
}

// current is the view of the current incarnation.
func (o Observation) current() view {
	v := o.on(o.Current)
	v.approved = v.approvals()
	return v
}

// on is the view of one incarnation.
func (o Observation) on(in Incarnation) view {
	return view{Observation: o, Incarnation: in, judged: map[string]Judgement{}}
}

// ofNext is the view of the incarnation that a restore in place prepares.
func (o Observation) ofNext() view {
	in := o.Next
	in.Birth, in.Membership.Why = o.Current.Birth.Next.Birth(), "nothing of it runs"
	return o.on(in)
}

// Judge is how a member is: see signs.go.
func (v view) Judge(r Replica) Judgement {
	j, isJudged := v.judged[r.Name]
	if !isJudged {
		j = judge(v, r)
		v.judged[r.Name] = j
	}
	return j
}

// Judgements are how the members of the current incarnation are, by name.
func (o Observation) Judgements() map[string]Judgement {
	v := o.on(o.Current)
	for _, r := range v.Members {
		v.Judge(r)
	}
	return v.judged
}

// isLost reports data that is certainly gone, or another's.
func (v view) isLost(r Replica) bool { return v.Judge(r).IsLost() }

// FormerMembers are what is left of every former incarnation.
func (o Observation) FormerMembers() []Replica {
	var out []Replica
	for _, in := range o.Former {
		out = append(out, in.Members...)
	}
	return out
}
