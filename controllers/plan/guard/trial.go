package guard

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// guardTrial has another etcd tried once, beside a member that runs there.
func guardTrial(o facts.View, p changes.Place) string {
	_, isThere := o.TrialOf(p.Member)
	switch r := o.Find(p.Member); {
	case isThere:
		return "another trial Pod of " + p.Member + " is there."
	case r.Member == nil || !r.IsRunning() || r.Pod.Node != p.Node:
		return p.Member + " does not run on " + p.Node + "."
	}
	return ""
}

// guardDeleteTrial has nothing deleted but what was seen as a trial.
func guardDeleteTrial(o facts.View, ref facts.PodRef) string {
	if t, isThere := o.TrialOf(ref.Name); !isThere || t.UID != ref.UID {
		return "the trial Pod of " + ref.Name + " is another one by now."
	}
	return ""
}
