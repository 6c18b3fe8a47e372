package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

func otherOperator(o judge.View) *proposal {
	if !o.Birth.Exists() || o.ClaimedBy == "" || o.ClaimedBy == o.Cluster.Operator {
		return nil
	}
	return refuse(facts.ReasonOtherOperator,
		"This cluster is looked after by the operator %[1]s; this one (%[2]s) leaves it alone. To hand it over, stop "+
			"that operator, and set the annotation etcdsteward.dev/operator of the Service %[3]s-peers to %[2]s.",
		o.ClaimedBy, o.Cluster.Operator, o.Cluster.Name).byHuman()
}

// deletionPolicy un-owns what must be kept whatever else holds: between "kubectl delete" and the garbage collector
// there is no second chance. Taking ownership, which can lead to deletion, waits until nothing speaks against touching
// the cluster.
func deletionPolicy(o judge.View) *proposal {
	if len(o.Astray) == 0 {
		return nil
	}
	if o.Desired.Retain {
		return act(changes.FollowPolicy{Retain: true, Items: o.Astray}, facts.ReasonDeletionPolicy,
			"Volumes and authorities are kept when the cluster is deleted.")
	}
	if o.Desired.Paused || o.Desired.Deleting {
		return nil
	}
	return act(changes.FollowPolicy{Retain: false, Items: o.Astray}, facts.ReasonDeletionPolicy,
		"Volumes and authorities go when the cluster is deleted.")
}

// handsOff leaves a cluster alone that is being deleted, or is paused.
func handsOff(o judge.View) *proposal {
	if o.Desired.Deleting {
		return wait(facts.ReasonDeleting, "The cluster is being deleted.")
	}
	if !o.Desired.Paused {
		return nil
	}
	p := wait(facts.ReasonPaused, "spec.paused is true: the operator looks and reports, and changes nothing.%s",
		stillWritten(o))
	p.Recheck = recheckSettled
	return p
}

// stillWritten warns of members of an incarnation that was given up, which serve writes until somebody stops them.
func stillWritten(o judge.View) string {
	if !o.HasSwitchedOver() || o.IsAlive() ||
		!slices.ContainsFunc(o.FormerMembers(), func(r facts.Replica) bool { return r.Pod != nil }) {
		return ""
	}
	return " The cluster has switched over to what an EtcdRestore restored, and members of before still run: what is " +
		"written to them is lost. Take spec.paused back, and they are stopped."
}

// specRefused stops a birth, and nothing that members need to live.
func specRefused(o judge.View) *proposal {
	if o.Desired.Fault == "" {
		return nil
	}
	p := refuse(facts.ReasonSpecRefused, "%s", o.Desired.Fault).byHuman()
	if o.IsAlive() || needsNothing(o) {
		return p.yielding()
	}
	return p
}

func nameTaken(o judge.View) *proposal {
	p := foreignObject(o.Observation)
	if p != nil && (o.IsAlive() || needsNothing(o)) {
		return p.yielding()
	}
	return p
}

// foreignObject says which object that the cluster needs is not to be had; nil when all are.
func foreignObject(o facts.Observation) *proposal {
	for _, object := range append([]facts.Object{o.Budget.Object}, o.Objects...) {
		if p := takenBy(object); p != nil {
			return p
		}
	}
	return nil
}

// whyTaken is that as a part of a sentence, or "".
func whyTaken(o facts.Observation) string {
	p := foreignObject(o)
	if p == nil {
		return ""
	}
	return "something that the cluster needs is not to be had. " + strings.TrimSuffix(p.Message, ".")
}

func takenBy(object facts.Object) *proposal {
	switch object.State {
	case facts.ObjectForeign:
		return refuse(facts.ReasonNameTaken, "%s %s exists and does not belong to this cluster (%s). Delete or "+
			"rename it, or choose another name for the cluster.",
			object.Kind, object.Name, object.Detail).byHuman()
	case facts.ObjectTerminating:
		return wait(facts.ReasonOldObjects, "%s %s is being deleted; its name is free after that.", object.Kind,
			object.Name)
	case facts.ObjectCurrent, facts.ObjectAbsent, facts.ObjectDrifted:
	}
	return nil
}
