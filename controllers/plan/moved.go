package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What is different about the beginning of a life that a restore in place moved to: the one before it ended, so it is never given up
// for another one without a person. What of it is lost before it serves is made up for later, as long as a quorum is left.

// hasMoved reports whether a restore in place moved to this life.
func (o Observation) hasMoved() bool { return len(o.Birth.Past) > 0 }

// goesOnWithout reports a birth that is not given up for a volume that was lost: one that was moved to, or that has answered with
// what was restored.
func (o Observation) goesOnWithout() bool {
	return o.hasMoved() || !o.Birth.Origin.IsZero() && slices.ContainsFunc(o.Replicas, hasWrites)
}

// needsNothing reports a life that was moved to whose members lack nothing but their Pods: those start from what was laid, whatever else of
// the spec or the namespace is in the way. The life before it is stopped already, so nobody would be kept alive by waiting.
func (o Observation) needsNothing() bool {
	isInPods := o.Desired.Ephemeral && o.Desired.Fault == ""
	return o.hasMoved() && !slices.ContainsFunc(o.firstMembers(), func(r Replica) bool {
		return o.Desired.TLS && r.Secret.State != ObjectCurrent || !isInPods && (r.Volume == nil || r.Volume.Choices.IsZero())
	})
}

// spare leaves out what the members of a life that was moved to start without: where nothing but Pods is missing, whatever else is amiss
// is put right once they serve; and no authority is made anew, since clients trust the one that there was. Without one there are no
// certificates, and those who have theirs start without the others, if they are a quorum.
func (o Observation) spare(c *Bootstrap) {
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
func (o Observation) firstMembers() []Replica {
	if !o.goesOnWithout() {
		return o.birthReplicas()
	}
	return filter(o.birthReplicas(), func(r Replica) bool { return !o.hasLostVolume(r) && r.lostByOwnWord() == "" })
}

// unsaid lays nothing anew on volumes that the cluster moved to: all of it was there then, and only the word of that is gone. What a
// survivor held could not even be had again.
func (o Observation) unsaid(of []Laying) *proposal {
	members := joinNames(of, func(l Laying) string { return l.Name })
	return refuse(ReasonRestoreHeld, "The cluster moved to what was laid on the volumes of %s, and the annotation etcdsteward.dev/restored that said so is gone. Nothing is laid over it. "+
		"Put it back: kubectl annotate pvc %s -n %s etcdsteward.dev/restored=%s", members, strings.ReplaceAll(members, ",", ""), o.Cluster.Namespace, o.Birth.Incarnation).byHuman()
}

// lostAfterMove refuses to begin what could not serve any more.
func (o Observation) lostAfterMove() *proposal {
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
	return refuse(ReasonRestoreLost, "The cluster moved to what an EtcdRestore laid, and before that served, the volumes of %s were lost. What is left is no quorum. "+
		"The volumes of the life before are kept. Make and approve another EtcdRestore; or, to go on with what was before, set spec.storage.deletionPolicy to Retain, "+
		"wait until status.deletionPolicy says Retain, delete the EtcdCluster and create it again: what it refuses then says how.", strings.Join(lost, ", ")).byHuman()
}
