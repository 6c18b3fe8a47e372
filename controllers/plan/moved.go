package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// goesOnWithout reports a birth that is not given up for a volume that was lost: one that was moved to, or that has
// answered with what was restored.
func goesOnWithout(o facts.Incarnation) bool {
	return o.HasSwitchedOver() || !o.Birth.Origin.IsZero() && slices.ContainsFunc(o.Members, facts.HasWrites)
}

// needsNothing reports an incarnation that was moved to whose members lack nothing but their Pods: those start from
// what was restored, whatever else of the spec or the namespace is in the way. The previous incarnation is stopped
// already, so nobody would be kept alive by waiting.
func needsNothing(o judge.View) bool {
	isInPods := o.Desired.Ephemeral && o.Desired.Fault == ""
	return o.HasSwitchedOver() && !slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool {
		return o.Desired.TLS && r.Secret.State != facts.ObjectCurrent || !isInPods &&
			(r.Volume == nil || r.Volume.Choices.IsZero())
	})
}

// leaveOut takes from the change what first members start without. Where nothing but Pods is missing of an incarnation
// that was moved to, all else that is amiss is put right once they serve. No authority is made anew where clients or
// members trust the one that there was. Without one there are no certificates, and those who have theirs start without
// the others, if they are a quorum.
func leaveOut(o judge.View, c *changes.Bootstrap) {
	if needsNothing(o) && (len(c.Pods) > 0 || o.Membership.Known) {
		c.Objects = nil
	}
	if o.WhyNoCertificates() == "" {
		return
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(object facts.Object) bool { return object.Kind == kindSecret })
	able := facts.Filter(firstMembers(o), func(r facts.Replica) bool { return r.Secret.State == facts.ObjectCurrent })
	if len(able) < etcdutil.Quorum(len(o.Birth.Names)) {
		return
	}
	c.Secrets = nil
	c.Pods = slices.DeleteFunc(c.Pods, func(s changes.Start) bool { _, is := facts.Find(able, s.Name); return !is })
}

// firstMembers are those that a birth makes: all of them, or those whose volumes are what they were, where it goes on
// without the others.
func firstMembers(o judge.View) []facts.Replica {
	if !goesOnWithout(o.Incarnation) {
		return o.BirthReplicas()
	}
	return facts.Filter(o.BirthReplicas(), func(r facts.Replica) bool {
		return !o.HasLostVolume(r) && !o.Judge(r).IsOwnWord()
	})
}

// unsaid restores nothing anew on volumes that the cluster switched over to: all of it was there then, and only the
// word of that is gone. What a survivor held could not even be had again.
func unsaid(o judge.View, of []changes.Laying) *proposal {
	members := joinNames(of, func(l changes.Laying) string { return l.Name })
	return refuse(facts.ReasonRestoreHeld, "The cluster switched over to what was restored on the volumes of %s, and "+
		"the annotation etcdsteward.dev/restored that said so is gone. Nothing is restored over it. Put it back: "+
		"kubectl annotate pvc %s -n %s etcdsteward.dev/restored=%s", members,
		strings.ReplaceAll(members, ",", ""), o.Cluster.Namespace, o.Birth.Incarnation).byHuman()
}

// lostAfterMove refuses to begin what could not serve any more.
func lostAfterMove(o judge.View) *proposal {
	left := firstMembers(o)
	if o.IsAlive() || len(left) >= etcdutil.Quorum(len(o.Birth.Names)) {
		return nil
	}
	var lost []string
	for _, r := range o.BirthReplicas() {
		if _, isLeft := facts.Find(left, r.Name); !isLeft {
			lost = append(lost, r.Name)
		}
	}
	return refuse(facts.ReasonRestoreLost, "The cluster switched over to what an EtcdRestore restored, and before "+
		"that served, the volumes of %s were lost. What is left is no quorum. The volumes of the previous "+
		"incarnation are kept. Make and approve another EtcdRestore.", strings.Join(lost, ", ")).byHuman()
}
