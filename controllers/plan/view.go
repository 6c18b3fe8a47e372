package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// current is the view of the current incarnation.
func current(o facts.Observation) judge.View {
	v := judge.Of(o.On(o.Current))
	v.Approved = approvals(v)
	return v
}
