package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// checkMinor tells what keeps a cluster at the minor version that it runs. The stop is of that minor until then, so no
// rule knows of the next one, and everything else of the spec is followed. See facts.WhyStay.
func checkMinor(o judge.View) *proposal {
	held, stays := o.Desired.Held, o.Desired.Choices.Version.MinorString()
	switch {
	case held.Why == "":
		return nil
	case held.Passes:
		return wait(facts.ReasonMinorHeld, "Members stay at etcd %s for now: %s. They go on to %s once every "+
			"member serves and votes.", stays, held.Why, o.Desired.Target).yielding()
	}
	return refuse(facts.ReasonMinorHeld, "Members go on to etcd %s once this is put right: %s. Until then they stay "+
		"at etcd %s.", o.Desired.Target, held.Why, stays).byHuman().yielding()
}
