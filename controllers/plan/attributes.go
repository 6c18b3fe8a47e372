package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Volumes get the VolumeAttributesClass of the spec where they are: one claim at a time, while its member runs. As with
// growth nothing is stopped for it, and it holds back nothing of the spec.

// modifying is the voter whose volume has not got the class that its claim names, and that the spec asked for, or an
// empty replica. What people ask for where the spec names none is theirs.
func modifying(o judge.Judged) facts.Replica {
	for _, r := range facts.Claims(o.Voters()) {
		if r.Volume.IsModifying() && (o.Desired.AttributesOf(r.Volume) != "" || r.Volume.Attributes.For != "") {
			return r
		}
	}
	return facts.Replica{}
}

// toModify is the voter whose claim names another class next, or an empty replica. What was begun comes first, as its
// class may be taken back. No other one is tried beside it, nor beside one that grows.
func toModify(o judge.Judged) facts.Replica {
	due := facts.Filter(facts.Claims(o.Voters()), func(r facts.Replica) bool {
		return whyMoved(o, r) == "" && r.Volume.AttributesFor(o.Desired) != r.Volume.Attributes.Asked
	})
	if len(due) == 0 {
		return facts.Replica{}
	}
	if busy := modifying(o); busy.Volume != nil {
		due = facts.Filter(due, func(r facts.Replica) bool { return r.VolumeRef() == busy.VolumeRef() })
		return append(due, facts.Replica{})[0]
	}
	next := slices.MinFunc(due, leaderLast(o.Incarnation))
	if grows := growing(o); grows.Volume != nil && !grows.Volume.IsInfeasible() || !servesWithout(o, next) {
		return facts.Replica{}
	}
	return next
}

// modifyVolume follows the VolumeAttributesClass of the spec.
func modifyVolume(o pass) *proposal {
	if r := o.due.Modify; r.Volume != nil {
		change := changes.ModifyVolume{Volume: r.VolumeRef(), Class: r.Volume.AttributesFor(o.Desired)}
		if r.Volume.IsLog() {
			change.LogOf = r.Name
		}
		why := attributesOf(r.Volume) + " asks for it."
		if o.Desired.AttributesOf(r.Volume) == "" {
			why = attributesOf(r.Volume) + " asks for none by now, and the volume has not got what it asked for."
		}
		return act(change, "%s", why)
	}
	if r := modifying(o.Judged); r.Volume != nil {
		return whileModifying(o, r)
	}
	return nil
}

// whileModifying says how far a volume is, and what helps where it does not go on.
func whileModifying(o pass, r facts.Replica) *proposal {
	has := r.Volume.Attributes
	what := fmt.Sprintf("the VolumeAttributesClass %q for the volume of %s", has.Asked, whoseVolume(r))
	switch has.State {
	case facts.AttributesInfeasible:
		return refuse(facts.ReasonModify, "The storage refuses %s: %s. The volume stays as it is, and no other one is "+
			"tried. %s", what, cmp.Or(has.Message, "Kubernetes calls it infeasible"), insteadOfClass(r.Volume)).
			byHuman().yielding()
	case facts.AttributesPending:
		return refuse(facts.ReasonModify, "Kubernetes cannot use %s yet: there is no class of that name, or it is for "+
			"another driver. It tries again by itself, and no other volume is tried meanwhile. Create that class. "+
			"Or: %s", what, insteadOfClass(r.Volume)).byHuman().yielding()
	case facts.AttributesUnderWay:
		said := ""
		if has.Message != "" {
			said = " Kubernetes says: " + has.Message + "."
		}
		return wait(facts.ReasonModify, "The storage works on %s, and the next one follows then.%s If it does not go "+
			"on, see kubectl describe pvc %s -n %s. Or put %s back.", what, said, r.VolumeRef().Name,
			o.Cluster.Namespace, attributesOf(r.Volume)).yielding()
	case facts.AttributesNotBegun:
	}
	return wait(facts.ReasonModify, "The operator asked for %s, and nothing has begun with it yet. If that lasts, the "+
		"driver of its StorageClass may not know such classes. Then nothing is changed: %s", what,
		insteadOfClass(r.Volume)).yielding()
}

// insteadOfClass is what a person can do where a volume cannot get a class.
func insteadOfClass(v *facts.Volume) string {
	if v.Attributes.Has == "" {
		return fmt.Sprintf("Name another class in %s, or remove that field.", attributesOf(v))
	}
	return fmt.Sprintf("Name another class in %s, or put it back to %s.", attributesOf(v), v.Attributes.Has)
}

// attributesOf is the field that asks for the class of such a volume.
func attributesOf(v *facts.Volume) string {
	if v.IsLog() {
		return "spec.storage.wal.volumeAttributesClassName"
	}
	return "spec.storage.volumeAttributesClassName"
}
