package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules of a restore in place, up to the moment when the bootstrap record moves. Until then whatever they made can be
// taken back.

// restoreCallOff clears away what was restored for an EtcdRestore that is gone, is another one by now, or had its
// approval taken back.
func restoreCallOff(o pass) *proposal {
	if _, isWanted := chosenRequest(o); isWanted || !o.IsPreparing() {
		return nil
	}
	for _, step := range []func(pass) *proposal{dropRestores, dropVolumes, dropSecrets} {
		if p := step(o); p != nil {
			return p
		}
	}
	return act(changes.DropNext{Incarnation: o.Bootstrap.Next.Incarnation},
		"nothing of it is left. The cluster goes on as it was.")
}

func dropRestores(o pass) *proposal {
	members := facts.Filter(o.Next.Members, func(r facts.Replica) bool { return r.Restoring != nil })
	if len(members) == 0 {
		return nil
	}
	var pods []facts.PodRef
	for _, r := range members {
		if !r.Restoring.Terminating {
			pods = append(pods, restoreRef(r))
		}
	}
	if len(pods) > 0 {
		return act(changes.DeleteRestores{Pods: pods}, "the restore in place is called off.")
	}
	all := facts.Task{GoneBy: lastGoneBy(passOf(o.OfNext()))}
	for _, r := range members {
		all.HeldBy = cmp.Or(all.HeldBy, r.Restoring.HeldBy)
	}
	return taskLeaving(all, o, facts.ReasonCallOff,
		"The restore in place is called off; the restore Pods of %s are terminating, and another restore begins once "+
			"they are gone.",
		strings.Join(facts.Names(members), ", ")).yielding()
}

func dropVolumes(o pass) *proposal {
	members := facts.Filter(o.Next.Members, func(r facts.Replica) bool { return r.Volume != nil })
	if len(members) == 0 {
		return nil
	}
	var volumes []facts.VolumeRef
	for _, r := range members {
		if !r.Volume.Terminating {
			volumes = append(volumes, r.VolumeRef())
		}
	}
	if len(volumes) > 0 {
		return act(changes.DeleteVolumes{Volumes: volumes},
			"the restore in place is called off, and no member ever started there.")
	}
	return wait(facts.ReasonCallOff, "The restore in place is called off; the new volumes of %s are being deleted.%s",
		strings.Join(facts.Names(members), ", "), heldAmong(members...)).yielding()
}

func dropSecrets(o pass) *proposal {
	for _, r := range o.Next.Members {
		if p := collectSecret(r); p != nil {
			return act(p.Change, "the restore in place is called off.")
		}
	}
	return nil
}

const cannotCarryOut = "The EtcdRestore %s is approved and cannot be carried out: %s. Nothing was changed."

// restoreBegin writes down which incarnation is prepared beside this one, once a person approved that on the evidence
// there is, and the backup was looked at.
func restoreBegin(o pass) *proposal {
	request, ok := chosenRequest(o)
	if !ok || request.Source == record.SourcePrevious || o.IsPreparing() || o.Desired.Fault != "" {
		return nil
	}
	if why := whyNotRestore(o, request); why != "" {
		return refuse(facts.ReasonRestoreHeld, cannotCarryOut, request.Name,
			why).byHuman().unlessLater(request.WantedBackup).yielding()
	}
	asking := passOf(o.Asking(request))
	if request.Source == record.SourceBackup {
		if p := lookAtBackup(asking); p != nil {
			return p.unlessActing()
		}
	}
	incarnation := nextFor(o, request)
	if why := whyTooLow(o, incarnation); why != "" {
		return refuse(facts.ReasonRestoreHeld, cannotCarryOut, request.Name, why).byHuman().yielding()
	}
	return act(changes.BeginNext{From: o.Bootstrap.Incarnation, Next: incarnation,
		NextOrdinal: o.due.NextOrdinal + len(incarnation.Names)},
		"the EtcdRestore %s is approved. The present members stay as they are meanwhile.", request.Name)
}

// whyTooLow says why an incarnation may not begin with the revisions that it would have, or "". The number changes only
// once in a billion writes: it is told again and again.
func whyTooLow(o pass, incarnation record.Next) string {
	enough := incarnation
	enough.Bump = o.BumpFor(incarnation)
	switch {
	case o.MayBegin(incarnation):
		return ""
	case !o.MayBegin(enough):
		return "revisions would be nearly the highest that etcd can count. Delete the EtcdRestore, and create " +
			"another EtcdCluster with the backup in spec.bootstrap.restore"
	}
	return fmt.Sprintf("with spec.bumpRevision %d the restored data would begin below the highest revision that the "+
		"cluster has served, or too close to it. Clients that watch would then miss changes. Delete the EtcdRestore, "+
		"and create it without spec.bumpRevision or with at least %d", incarnation.Bump, enough.Bump)
}

// unlessLater asks no person about a backup that is still being taken.
func (p *proposal) unlessLater(w facts.WantedBackup) *proposal {
	p.NeedsHuman = p.NeedsHuman && !w.Later
	return p
}

// unlessActing lets later rules act while nothing but waiting is to be done.
func (p *proposal) unlessActing() *proposal {
	if p != nil && p.Change == nil {
		p.yields = true
	}
	return p
}

// whyNotRestore says why a request cannot be carried out as the cluster stands, or "".
func whyNotRestore(o pass, request facts.Request) string {
	switch {
	case o.Desired.Sleep:
		return "spec.size of the cluster is 0. Wake the cluster first: set that to the number of members that it is " +
			"to have"
	case request.WantedBackup.Fault != "":
		return request.WantedBackup.Fault
	case whyTaken(o) != "":
		return whyTaken(o)
	case o.Desired.Ephemeral && request.Source != record.SourceEmpty:
		return "spec.storage.ephemeral keeps the data in Pods, where nothing can be restored before they start"
	case o.WhyNoCertificates() != "":
		return o.WhyNoCertificates()
	}
	return whyNotSource(o, request)
}

// whyNotSource holds what is given up to what was lost: without a backup only where the quorum is.
func whyNotSource(o pass, request facts.Request) string {
	switch {
	case request.Source == record.SourceBackup:
		return ""
	case quorumState(o) != QuorumLost:
		return "the quorum of this cluster is not certainly lost. Without a backup more would be lost than is. " +
			"Restore from a backup, or see status.evidence for what is lost"
	case request.Source == record.SourceSurvivor:
		return whyNotSurvivor(o, o.Find(request.Survivor))
	}
	return ""
}

// nextFor is the incarnation that a request asks for. Neither its names nor its incarnation were ever used.
func nextFor(o pass, request facts.Request) record.Next {
	size := request.WantedBackup.FirstMembers(o.Desired.Size)
	l := record.Next{Source: request.Source, Bump: request.Bump, Restore: request.ID}
	switch request.Source {
	case record.SourceBackup:
		l.Origin, _ = sourceOf(o.Asking(request).Observation)
	case record.SourceSurvivor:
		r := o.Find(request.Survivor)
		size, l.Survivor = 1, r.Name
		l.Origin = record.Origin{Hash: request.ID, Revision: revision(r), Version: o.RanAtMost(r)}
	case record.SourceEmpty, record.SourcePrevious:
	}
	if !request.IsBumpFixed {
		l.Bump = max(l.Bump, o.BumpFor(l))
	}
	l.Counter = freshCounter(o)
	l.Incarnation = facts.IncarnationID(o.Cluster.UID, l.Counter)
	l.Token = token(o.Cluster.UID, l.Incarnation)
	first := o.due.NextOrdinal
	for i := range size {
		l.Names = append(l.Names, etcdutil.MemberName(o.Cluster.Name, first+i))
	}
	return l
}

func revision(r facts.Replica) int64 {
	if r.Answer == nil {
		return 0
	}
	return r.Answer.Revision
}

// freshCounter is above every counter that the record knows, and its incarnation has left no trace.
func freshCounter(o pass) int {
	counter := max(o.Bootstrap.Counter, o.Bootstrap.LastCounter) + 1
	for o.HasTraceOf(facts.IncarnationID(o.Cluster.UID, counter)) {
		counter++
	}
	return counter
}

// goesOnWithout reports a bootstrap that is not given up for a volume that was lost: one that was moved to, or that has
// answered with what was restored.
func goesOnWithout(o facts.Incarnation) bool {
	return o.HasSwitchedOver() || !o.Bootstrap.Origin.IsZero() && slices.ContainsFunc(o.Members, facts.HasWrites)
}

// needsNothing reports an incarnation that was moved to whose members lack nothing but their Pods: those start from
// what was restored, whatever else of the spec or the namespace is in the way. The previous incarnation is stopped
// already, so nobody would be kept alive by waiting.
func needsNothing(o pass) bool {
	return o.HasSwitchedOver() && !slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool {
		return o.Desired.TLS && r.Secret.State != facts.ObjectCurrent || !(r.Ephemeral && o.Desired.Fault == "") &&
			(r.Volume == nil || r.Volume.Settings.IsZero())
	})
}

// leaveOut takes from the change what first members start without. Where nothing but Pods is missing of an incarnation
// that was moved to, all else that is amiss is put right once they serve. No CA is made anew where clients or
// members trust the one that there was. Without one there are no certificates, and those who have theirs start without
// the others, if they are a quorum.
func leaveOut(o pass, c *changes.Bootstrap) {
	if needsNothing(o) && (len(c.Pods) > 0 || o.Membership.Known) {
		c.Objects = nil
	}
	if o.WhyNoCertificates() == "" {
		return
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(object facts.Object) bool { return object.Kind == kindSecret })
	able := facts.Filter(firstMembers(o), func(r facts.Replica) bool { return r.Secret.State == facts.ObjectCurrent })
	if len(able) < etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return
	}
	c.Secrets = nil
	c.Pods = slices.DeleteFunc(c.Pods, func(s changes.Start) bool {
		_, isAble := facts.Find(able, s.Name)
		return !isAble
	})
}

// firstMembers are those that a bootstrap makes: all of them, or those whose volumes are what they were, where it goes
// on without the others.
func firstMembers(o pass) []facts.Replica {
	if !goesOnWithout(o.Incarnation) {
		return o.BootstrapReplicas()
	}
	return facts.Filter(o.BootstrapReplicas(), func(r facts.Replica) bool {
		return !o.HasLostVolume(r) && !o.Judge(r).IsOwnWord()
	})
}

// unsaid restores nothing anew on volumes that the cluster switched over to: all of it was there then, and only the
// word of that is gone. What a survivor held could not even be had again.
func unsaid(o pass, restorings []changes.Restoring) *proposal {
	members := joinNames(restorings, func(l changes.Restoring) string { return l.Name })
	return refuse(facts.ReasonRestoreHeld, "The data on the volumes of %s is restored, and the annotation "+
		"etcdsteward.dev/restored that said so is gone. Nothing is restored over it. Put it back: "+
		"kubectl annotate pvc %s -n %s etcdsteward.dev/restored=%s", members,
		strings.ReplaceAll(members, ",", ""), o.Cluster.Namespace, o.Bootstrap.Incarnation).byHuman()
}

// lostAfterMove refuses to begin what could not serve any more.
func lostAfterMove(o pass) *proposal {
	left := firstMembers(o)
	if o.IsAlive() || len(left) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return nil
	}
	var lost []string
	for _, r := range o.BootstrapReplicas() {
		if _, isLeft := facts.Find(left, r.Name); !isLeft {
			lost = append(lost, r.Name)
		}
	}
	return refuse(facts.ReasonRestoreLost, "The volumes of %s, which an EtcdRestore restored, were lost before "+
		"they served. So no quorum is left. The volumes of the previous "+
		"incarnation are kept. Make and approve another EtcdRestore.", strings.Join(lost, ", ")).byHuman()
}

// whyNotEnd says why this incarnation cannot be ended for another one, or "". Members that somebody added by hand, or
// relabelled, are not stopped with it, and might be a quorum of their own; and members that follow are nothing without
// the CA that clients trust.
func whyNotEnd(o pass) string {
	return cmp.Or(o.WhyServedOn(o.IsLost), o.WhyLeftOut(), o.WhyNoCertificates())
}

// whyOvertaken says why the cluster has served too much since its next incarnation was prepared, or "".
func whyOvertaken(o pass) string {
	if o.IsStillAbove(o.Bootstrap.Next) {
		return ""
	}
	return "the restored data would begin below the highest revision that the cluster has served by now, or too " +
		"close to it. Clients that watch would then miss changes. Delete the EtcdRestore, and create another"
}
