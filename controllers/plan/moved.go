package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What is different about the beginning of an incarnation that a restore in place switched over to: the one before it ended, so it is never given up
// for another one without a person. What of it is lost before it serves is made up for later, as long as a quorum is left.

// hasSwitchedOver reports whether a restore in place switched over to this incarnation.
func (o Incarnation) hasSwitchedOver() bool { return len(o.Birth.Former) > 0 }

// goesOnWithout reports a birth that is not given up for a volume that was lost: one that was moved to, or that has answered with
// what was restored.
func (o Incarnation) goesOnWithout() bool {
	return o.hasSwitchedOver() || !o.Birth.Origin.IsZero() && slices.ContainsFunc(o.Members, hasWrites)
}

// needsNothing reports an incarnation that was moved to whose members lack nothing but their Pods: those start from what was restored, whatever else of
// the spec or the namespace is in the way. The previous incarnation it is stopped already, so nobody would be kept alive by waiting.
func (o view) needsNothing() bool {
	isInPods := o.Desired.Ephemeral && o.Desired.Fault == ""
	return o.hasSwitchedOver() && !slices.ContainsFunc(o.firstMembers(), func(r Replica) bool {
		return o.Desired.TLS && r.Secret.State != ObjectCurrent || !isInPods && (r.Volume == nil || r.Volume.Choices.IsZero())
	})
}

// spare leaves out what the members of an incarnation that was moved to start without: where nothing but Pods is missing, whatever else is amiss
// is put right once they serve; and no authority is made anew, since clients trust the one that there was. Without one there are no
// certificates, and those who have theirs start without the others, if they are a quorum.
func (o view) spare(c *Bootstrap) {
	if o.needsNothing() && (len(c.Pods) > 0 || o.Membership.Known) {
		c.Objects = nil
	}
	if o.whyNoCertificates() == "" {
		return
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(object Object) bool { return object.Kind == kindSecret })
	able := filter(o.firstMembers(), func(r Replica) bool { return r.Secret.State == ObjectCurrent })
	if len(able) < etcdutil.Quorum(len(o.Birth.Names)) {
		return
	}
	c.Secrets = nil
	c.Pods = slices.DeleteFunc(c.Pods, func(s Start) bool { _, is := find(able, s.Name); return !is })
}

// firstMembers are those that a birth makes: all of them, or those whose volumes are what they were, where it goes on without the others.
func (o view) firstMembers() []Replica {
	if !o.goesOnWithout() {
		return o.birthReplicas()
	}
	return filter(o.birthReplicas(), func(r Replica) bool { return !o.hasLostVolume(r) && !o.Judge(r).isOwnWord() })
}

// unsaid restores nothing anew on volumes that the cluster switched over to: all of it was there then, and only the word of that is gone. What a
// survivor held could not even be had again.
func (o view) unsaid(of []Laying) *proposal {
	members := joinNames(of, func(l Laying) string { return l.Name })
	return refuse(ReasonRestoreHeld, "The cluster switched over to what was restored on the volumes of %s, and the annotation etcdsteward.dev/restored that said so is gone. Nothing is restored over it. "+
		"Put it back: kubectl annotate pvc %s -n %s etcdsteward.dev/restored=%s", members, strings.ReplaceAll(members, ",", ""), o.Cluster.Namespace, o.Birth.Incarnation).byHuman()
}

// lostAfterMove refuses to begin what could not serve any more.
func (o view) lostAfterMove() *proposal {
	left := o.firstMembers()
	if o.isAlive() || len(left) >= etcdutil.Quorum(len(o.Birth.Names)) {
		return nil
	}
	var lost []string
	for _, r := range o.birthReplicas() {
		if _, isLeft := find(left, r.Name); !isLeft {
			lost = append(lost, r.Name)
		}
	}
	return refuse(ReasonRestoreLost, "The cluster switched over to what an EtcdRestore restored, and before that served, the volumes of %s were lost. What is left is no quorum. "+
		"The volumes of the previous incarnation are kept. Make and approve another EtcdRestore; or, to go on with what was before, set spec.storage.deletionPolicy to Retain, "+
		"wait until status.deletionPolicy says Retain, delete the EtcdCluster and create it again: what it refuses then says how.", strings.Join(lost, ", ")).byHuman()
}
