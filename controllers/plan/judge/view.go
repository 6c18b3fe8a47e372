package judge

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// View is what rules read: the facts of one incarnation, and how each of its members is.
type View struct {
	facts.View
	judged map[string]Judgement // by name: each member is judged once
}

// Of is the view in which members are judged.
func Of(v facts.View) View { return View{View: v, judged: map[string]Judgement{}} }

// Judge is how a member is: see signs.go.
func (v View) Judge(r facts.Replica) Judgement {
	j, isJudged := v.judged[r.Name]
	if !isJudged {
		j = judge(v, r)
		v.judged[r.Name] = j
	}
	return j
}

// IsLost reports data that is certainly gone, or another's.
func (v View) IsLost(r facts.Replica) bool { return v.Judge(r).IsLost() }

// Members is how the members of the current incarnation are, by name.
func Members(o facts.Observation) map[string]Judgement {
	v := Of(o.On(o.Current))
	for _, r := range v.Members {
		v.Judge(r)
	}
	return v.judged
}
