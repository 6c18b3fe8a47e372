package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// claimRests is how long an install that took a cluster over waits. By then what the other one had begun is over: a
// pass ends after 30 s, and a call to etcd with the Lease that it was begun under, which lasts 6 s.
const claimRests = 40 * time.Second

// annotationOperator is v1alpha1.AnnotationOperator: the planner reaches no API.
const annotationOperator = "etcdsteward.dev/operator"

// otherOperator lets one install act on a cluster. The claim on the peer Service says which: each reads it live before
// it changes what it could hurt. So a claim that was moved ends what the other one does, whether that runs or not. What
// a person asks for moves the claim, and does nothing else. Where the Service says nothing, the data says whose the
// cluster is.
func otherOperator(o pass) *proposal {
	us, asked := o.Cluster.Operator, o.Desired.Operator
	switch {
	case o.IsAnothers():
		return ofAnother(o)
	case o.ClaimedBy == "" && o.Bootstrap.Exists(): // it was taken off by hand, or by a tool
		return act(changes.TakeOver{},
			"no operator claims it. This one (%s) does now, and goes on %s later.", us, claimRests)
	case o.TakenOver.After(o.Now.Add(claimRests)): // a leader whose clock was ahead wrote it
		return act(changes.TakeOver{From: us},
			"by its record, this operator (%s) does so at %s, which is still to come: a clock was wrong. The "+
				"operator writes the time of now, and begins %s later.",
			us, o.TakenOver.UTC().Format(time.RFC3339), claimRests)
	case o.Now.Before(o.TakenOver.Add(claimRests)):
		return wait(facts.ReasonTakeOver,
			"This operator (%s) took the cluster over at %s. It begins %s later: the operator before it has certainly "+
				"ended by then what it did.", us, o.TakenOver.UTC().Format(time.TimeOnly), claimRests)
	case asked != "" && asked != us:
		return wait(facts.ReasonTakeOver,
			"The annotation %[1]s asks for the operator %[2]s, which has not taken the cluster over yet. Until then "+
				"this one (%[3]s) looks after the cluster. If %[2]s does not run, start it, or take the annotation "+
				"back.", annotationOperator, asked, us).yielding()
	}
	return nil
}

// ofAnother leaves a cluster to the install that looks after it, unless a person asks this one to take it over. Where
// that one's Lease cannot be read, this one claims nothing.
func ofAnother(o pass) *proposal {
	us, isAsked := o.Cluster.Operator, o.Desired.Operator == o.Cluster.Operator
	switch {
	case o.ClaimedBy == "" && o.Desired.Operator == "":
		return refuse(facts.ReasonOtherOperator,
			"%s%s By its data, the operator %s looks after this cluster; this one (%s) changes nothing of it. %s",
			howItsKeeperIs(o), howClaimIsLost(o), o.DataClaim, us, howToTakeOver(o)).byHuman()
	case o.ClaimedBy == "":
		return refuse(facts.ReasonOtherOperator,
			"%[1]sThe annotation %[2]s asks for the operator %[3]s, which has not claimed the cluster yet. This one "+
				"(%[4]s) changes nothing of it. If %[3]s does not run, start it, or take the annotation back.",
			howItsKeeperIs(o), annotationOperator, o.Keeper(), us).byHuman()
	case isAsked && o.Keeping.Known:
		return act(changes.TakeOver{From: o.ClaimedBy},
			"its annotation %s asks this operator (%s) to take it from %s.", annotationOperator, us, o.ClaimedBy)
	case isAsked:
		return refuse(facts.ReasonOtherOperator,
			"%sThis operator (%s) is asked to take the cluster over from %s. It does so once it can read that Lease. "+
				"Grant it get of Leases named manager.etcdsteward.dev: "+
				pages.Docs+"docs/platforms.md.",
			howItsKeeperIs(o), us, o.ClaimedBy).byHuman()
	}
	return refuse(facts.ReasonOtherOperator,
		"%sThe operator %s looks after this cluster; this one (%s) changes nothing of it. %s",
		howItsKeeperIs(o), o.ClaimedBy, us, howToTakeOver(o)).byHuman()
}

// howClaimIsLost is a sentence on a peer Service that does not say which install looks after the cluster.
func howClaimIsLost(o pass) string {
	if o.Bootstrap.Exists() {
		return "The peer Service names no operator."
	}
	return "The peer Service with the bootstrap record is gone."
}

func howToTakeOver(o pass) string {
	return fmt.Sprintf("To have this one take it over, whether the other one runs or not: kubectl annotate etcd %s "+
		"-n %s %s=%s --overwrite", o.Cluster.Name, o.Cluster.Namespace, annotationOperator, o.Cluster.Operator)
}

// howItsKeeperIs is a sentence on another install where that is not known to run, or "".
func howItsKeeperIs(o pass) string {
	switch {
	case !o.Keeping.Known:
		return fmt.Sprintf("Whether the operator %s runs is not known: %s. ", o.Keeper(),
			cmp.Or(o.Keeping.Why, "its Lease was not read"))
	case o.IsKeeperUp():
		return ""
	case o.Keeping.Renewed.IsZero():
		return fmt.Sprintf("The operator %s does not run: it has no Lease. ", o.Keeper())
	}
	return fmt.Sprintf("The operator %s does not run: its Lease was last renewed at %s. ", o.Keeper(),
		o.Keeping.Renewed.UTC().Format(time.RFC3339))
}

// deletionPolicy un-owns what must be kept whatever else holds: between "kubectl delete" and the garbage collector
// there is no second chance. Taking ownership, which can lead to deletion, waits until nothing speaks against touching
// the cluster.
func deletionPolicy(o pass) *proposal {
	if len(o.Astray) == 0 {
		return nil
	}
	if o.Desired.Retain {
		return act(changes.FollowPolicy{Retain: true, Items: o.Astray},
			"volumes and CAs are kept when the cluster is deleted.")
	}
	if o.Desired.Paused || o.Desired.Deleting {
		return nil
	}
	return act(changes.FollowPolicy{Retain: false, Items: o.Astray},
		"volumes and CAs are deleted with the cluster.")
}

// handsOff leaves a cluster alone that is being deleted, or is paused.
func handsOff(o pass) *proposal {
	if o.Desired.Deleting {
		return wait(facts.ReasonDeleting, "The cluster is being deleted.")
	}
	if !o.Desired.Paused {
		return nil
	}
	p := wait(facts.ReasonPaused, "spec.paused is true: the operator changes nothing. Set it to false to go on.%s%s",
		stillDown(o), stillWritten(o))
	p.Recheck = recheckSettled
	return p
}

// stillDown warns of members that have no Pod: none is started while a person paused the cluster.
func stillDown(o pass) string {
	down := facts.Filter(o.Members, func(r facts.Replica) bool { return r.Pod == nil && r.Volume != nil })
	if !o.IsAlive() || len(down) == 0 {
		return ""
	}
	names, outage := strings.Join(facts.Names(down), ", "), ""
	if !o.Membership.Known {
		outage = " No quorum answers: etcd is down, and stays down while the cluster is paused."
	}
	return fmt.Sprintf("%s No Pod runs of %s. What it stores is kept on its volume. To start it: kubectl etcd-steward "+
		"resume %s -n %s.", outage, names, o.Cluster.Name, o.Cluster.Namespace)
}

// stillWritten warns of members of an incarnation that was given up, which serve writes until somebody stops them.
func stillWritten(o pass) string {
	if !o.HasSwitchedOver() || o.IsAlive() ||
		!slices.ContainsFunc(o.FormerMembers(), func(r facts.Replica) bool { return r.Pod != nil }) {
		return ""
	}
	return " The restored members are in charge, and previous members still run: what is written to them is " +
		"lost. Set spec.paused to false, and the operator stops them."
}

// specRefused stops a bootstrap, and nothing that members need to live.
func specRefused(o pass) *proposal {
	if o.Desired.Fault == "" {
		return nil
	}
	fault := strings.TrimSuffix(o.Desired.Fault, ".") + "."
	if o.IsAlive() || needsNothing(o) {
		return refuse(facts.ReasonSpecRefused, "%s%s Until then members keep the settings that they have.",
			fault, versionBack(o)).byHuman().yielding()
	}
	return refuse(facts.ReasonSpecRefused, "%s", fault).byHuman()
}

// versionBack says what members run where the version of the spec is refused, as a sentence with a space in front, or
// "": what is accepted instead may be another minor, which was not asked for.
func versionBack(o pass) string {
	runs := o.Progress().Members
	isRefused := !o.Desired.Target.IsZero() && etcdutil.Judge(o.Desired.Target).Tier == etcdutil.TierRefuse
	if !isRefused || len(runs) == 0 {
		return ""
	}
	if lowest := slices.MinFunc(runs, etcdutil.Version.Compare); lowest != o.Desired.Target {
		return fmt.Sprintf(" Or put spec.version back to %s, which members run.", lowest)
	}
	return ""
}

func nameTaken(o pass) *proposal {
	p := foreignObject(o)
	if p != nil && (o.IsAlive() || needsNothing(o)) {
		return p.yielding()
	}
	return p
}

// foreignObject says which object that the cluster needs is not to be had; nil when all are. What the cluster begins
// empty with is.
func foreignObject(o pass) *proposal {
	for _, object := range append([]facts.Object{o.Budget.Object}, o.Objects...) {
		if p := takenBy(object); p != nil && !(o.BeginsEmpty() && isRetained(o, object)) {
			return p
		}
	}
	return nil
}

// whyTaken is that as a part of a sentence, or "".
func whyTaken(o pass) string {
	p := foreignObject(o)
	if p == nil {
		return ""
	}
	return "an object that the cluster needs is not the cluster's own. " + strings.TrimSuffix(p.Message, ".")
}

func takenBy(object facts.Object) *proposal {
	switch object.State {
	case facts.ObjectForeign:
		return refuse(facts.ReasonNameTaken, "%s %s exists and does not belong to this cluster (%s). Delete it "+
			"if nothing needs it, or choose another name for the cluster.",
			object.Kind, object.Name, object.Detail).byHuman()
	case facts.ObjectTerminating:
		return wait(facts.ReasonOldObjects, "%s %s is being deleted; its name is free after that.%s", object.Kind,
			object.Name, heldBy("it", object.HeldBy))
	case facts.ObjectCurrent, facts.ObjectAbsent, facts.ObjectDrifted:
	}
	return nil
}
