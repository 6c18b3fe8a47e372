package plan

import (
	"slices"
	"strings"
)

func otherOperator(o view) *proposal {
	if !o.Birth.Exists() || o.ClaimedBy == "" || o.ClaimedBy == o.Cluster.Operator {
		return nil
	}
	return refuse(ReasonOtherOperator, "This cluster is looked after by the operator %s; this one (%s) leaves it alone.",
		o.ClaimedBy, o.Cluster.Operator).byHuman()
}

// deletionPolicy un-owns what must be kept whatever else holds: between "kubectl delete" and the garbage collector there is
// no second chance. Taking ownership, which can lead to deletion, waits until nothing speaks against touching the cluster.
func deletionPolicy(o view) *proposal {
	if len(o.Astray) == 0 {
		return nil
	}
	if o.Desired.Retain {
		return act(FollowPolicy{Retain: true, Items: o.Astray}, ReasonDeletionPolicy, "Volumes and authorities are kept when the cluster is deleted.")
	}
	if o.Desired.Paused || o.Desired.Deleting {
		return nil
	}
	return act(FollowPolicy{Retain: false, Items: o.Astray}, ReasonDeletionPolicy, "Volumes and authorities go when the cluster is deleted.")
}

// handsOff leaves a cluster alone that is being deleted, or is paused.
func handsOff(o view) *proposal {
	if o.Desired.Deleting {
		return wait(ReasonDeleting, "The cluster is being deleted.")
	}
	if !o.Desired.Paused {
		return nil
	}
	p := wait(ReasonPaused, "spec.paused is true: the operator looks and reports, and changes nothing.%s", o.stillWritten())
	p.Recheck = recheckSettled
	return p
}

// stillWritten warns of members of an incarnation that was given up, which serve writes until somebody stops them.
func (o view) stillWritten() string {
	if !o.hasSwitchedOver() || o.isAlive() || !slices.ContainsFunc(o.FormerMembers(), func(r Replica) bool { return r.Pod != nil }) {
		return ""
	}
	return " The cluster has switched over to what an EtcdRestore restored, and members of before still run: what is written to them is lost. Take spec.paused back, and they are stopped."
}

// specRefused stops a birth, and nothing that members need to live.
func specRefused(o view) *proposal {
	if o.Desired.Fault == "" {
		return nil
	}
	p := refuse(ReasonSpecRefused, "%s", o.Desired.Fault).byHuman()
	if o.isAlive() || o.needsNothing() {
		return p.yielding()
	}
	return p
}

func nameTaken(o view) *proposal {
	p := o.taken()
	if p != nil && (o.isAlive() || o.needsNothing()) {
		return p.yielding()
	}
	return p
}

// taken says which object that the cluster needs is not to be had; nil when all are.
func (o Observation) taken() *proposal {
	for _, object := range append([]Object{o.Budget.Object}, o.Objects...) {
		if p := takenBy(object); p != nil {
			return p
		}
	}
	return nil
}

// whyTaken is that as a part of a sentence, or "".
func (o Observation) whyTaken() string {
	p := o.taken()
	if p == nil {
		return ""
	}
	return "something that the cluster needs is not to be had. " + strings.TrimSuffix(p.Message, ".")
}

func takenBy(object Object) *proposal {
	switch object.State {
	case ObjectForeign:
		return refuse(ReasonNameTaken, "%s %s exists and does not belong to this cluster (%s). Delete or rename it, or choose another name for the cluster.",
			object.Kind, object.Name, object.Detail).byHuman()
	case ObjectTerminating:
		return wait(ReasonOldObjects, "%s %s is being deleted; its name is free after that.", object.Kind, object.Name)
	case ObjectCurrent, ObjectAbsent, ObjectDrifted:
	}
	return nil
}
