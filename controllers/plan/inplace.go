package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules of a restore in place, up to the moment when the birth record moves. Until then whatever they made can be taken back.

// ahead is the life that is laid, seen as a birth of its own, of which nothing runs yet.
func (o Observation) ahead() Observation {
	l := o.Birth.Coming
	return Observation{
		Now: o.Now, Cluster: o.Cluster, Desired: o.Desired, Replicas: o.Coming, Membership: Membership{Why: "nothing of it runs"},
		Birth: Birth{Exists: true, Operator: o.Birth.Operator, Incarnation: l.Incarnation, Counter: l.Counter, Token: l.Token, Names: l.Names, Origin: l.Origin, Restore: l.Restore},
	}
}

// beside lets the cluster be looked after when the guard vetoes what a rule about another of its lives proposes.
func beside(ask func(Observation) *proposal) func(Observation) *proposal {
	return func(o Observation) *proposal {
		p := ask(o)
		if p == nil || p.Change == nil {
			return p
		}
		if veto := Guard(o, p.Change); veto != "" {
			return refuse(ReasonGuard, "%s Held back: %s", p.Message, veto).yielding()
		}
		return p
	}
}

// rebuilding is what a restore in place waits for, as a word that holds the rules after it back; nil when none is carried out.
func (o Observation) rebuilding() *proposal {
	for _, ask := range []func(Observation) *proposal{restoreCallOff, restoreBegin, restoreLaying, restoreMove} {
		if p := ask(o); p != nil {
			word := wait(p.Reason, "%s", p.Message)
			word.NeedsHuman, word.Overdue = p.NeedsHuman, p.Overdue
			if p.NeedsHuman || p.Overdue {
				word.Verdict, word.Recheck = Refuse, recheckSlow
			}
			return word
		}
	}
	return nil
}

// isLaying reports whether another life is on its way.
func (o Observation) isLaying() bool { return !o.Birth.Coming.IsZero() }

// namesake is a member under a name of the life that is laid; nil when there is none. Where the record was lost while nobody
// answered, nobody could say which names were used, and a name of both could be counted for neither.
func (o Observation) namesake() *etcdutil.Member {
	list := o.Membership.LastKnown
	if o.hasQuorum() {
		list = o.Membership.Members
	}
	for i, m := range list {
		name, _ := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		if slices.Contains(o.Birth.Coming.Names, name) {
			return &list[i]
		}
	}
	return nil
}

// mayChange reports whether size and settings follow the spec. While another life is about to follow, those of this one are let be;
// but not where that waits for a person, who may be long.
func (o Observation) mayChange() bool {
	if !o.Membership.Known || o.Desired.Fault != "" {
		return false
	}
	_, isAwaited := o.approvedNow(o.Birth.Coming.Restore)
	return !o.isLaying() || !isAwaited
}

// restoreCallOff clears away what was laid for an EtcdRestore that is gone, is another one by now, or had its approval taken back.
func restoreCallOff(o Observation) *proposal {
	if _, isWanted := o.chosen(); isWanted || !o.isLaying() {
		return nil
	}
	for _, step := range []func(Observation) *proposal{dropRestores, dropVolumes, dropSecrets} {
		if p := step(o); p != nil {
			return p
		}
	}
	return act(DropNext{Incarnation: o.Birth.Coming.Incarnation}, ReasonCallOff, "The restore in place is called off; nothing of it is left, and the cluster goes on as it was.")
}

func dropRestores(o Observation) *proposal {
	of := filter(o.Coming, func(r Replica) bool { return r.Restoring != nil })
	if len(of) == 0 {
		return nil
	}
	var pods []PodRef
	for _, r := range of {
		if !r.Restoring.Terminating {
			pods = append(pods, r.restoreRef())
		}
	}
	if len(pods) > 0 {
		return act(DeleteRestores{Pods: pods}, ReasonCallOff, "The restore in place is called off; the restore Pods of %s are deleted.", podNames(pods))
	}
	return Task{GoneBy: lastGoneBy(o.ahead())}.leaving(o, ReasonCallOff, "The restore in place is called off; the restore Pods of %s are terminating, and another restore begins once they are gone.",
		strings.Join(names(of), ", ")).yielding()
}

func dropVolumes(o Observation) *proposal {
	of := filter(o.Coming, func(r Replica) bool { return r.Volume != nil })
	if len(of) == 0 {
		return nil
	}
	var volumes []VolumeRef
	for _, r := range of {
		if !r.Volume.Terminating {
			volumes = append(volumes, r.volumeRef())
		}
	}
	if len(volumes) > 0 {
		return act(DeleteVolumes{Volumes: volumes}, ReasonCallOff, "The restore in place is called off; the new volumes of %s, which nobody ever lived on, are deleted.", strings.Join(names(of), ", "))
	}
	return wait(ReasonCallOff, "The restore in place is called off; the new volumes of %s are being deleted.", strings.Join(names(of), ", ")).yielding()
}

func dropSecrets(o Observation) *proposal {
	for _, r := range o.Coming {
		if p := leftoverSecret(r); p != nil {
			return act(p.Change, ReasonCallOff, "The restore in place is called off; the certificates of %s are deleted.", r.Name)
		}
	}
	return nil
}

// restoreBegin writes down which life is laid beside this one, once a person approved that on the evidence there is, and the backup
// was looked at.
func restoreBegin(o Observation) *proposal {
	request, ok := o.chosen()
	if !ok || o.isLaying() || o.Desired.Fault != "" {
		return nil
	}
	if why := o.whyNotLay(request); why != "" {
		return refuse(ReasonRestoreHeld, "The EtcdRestore %s is approved and cannot be carried out: %s. Nothing was changed.", request.Name, why).byHuman().unlessLater(request.Wish).yielding()
	}
	asking := o.asking(request)
	if request.Source == SourceBackup {
		if p := lookAtBackup(asking); p != nil {
			return p.unlessActing()
		}
	}
	life := o.lifeFor(request)
	return act(BeginNext{From: o.Birth.Incarnation, Life: life, Next: o.nextOrdinal() + len(life.Names)}, ReasonInPlace,
		"The EtcdRestore %s is carried out: %s are made beside the members that there are, which serve on meanwhile.", request.Name, strings.Join(life.Names, ", "))
}

// asking is the same world, in which the spec asks for the backup of the request.
func (o Observation) asking(request Request) Observation {
	o.Desired.Restore = request.Wish
	o.Cluster.Created = request.Created // since when it is tried
	return o
}

// unlessLater asks no person about a backup that is still being taken.
func (p *proposal) unlessLater(w Wish) *proposal {
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

// whyNotLay says why a request cannot be carried out as the cluster stands, or "".
func (o Observation) whyNotLay(request Request) string {
	switch {
	case request.Wish.Fault != "":
		return request.Wish.Fault
	case o.whyTaken() != "":
		return o.whyTaken()
	case o.Desired.Ephemeral && request.Source != SourceEmpty:
		return "spec.storage.ephemeral keeps the data in Pods, where nothing can be laid before they start"
	case o.whyNoCertificates() != "":
		return o.whyNoCertificates()
	}
	return o.whyNotSource(request)
}

// whyNotSource holds what is given up to what was lost: without a backup only where the quorum is.
func (o Observation) whyNotSource(request Request) string {
	switch {
	case request.Source == SourceBackup:
		return ""
	case o.quorumState() != QuorumLost:
		return "the quorum of this cluster is not certainly lost, and without a backup more would be given up than what is; restore from a backup, or see status.evidence for what is lost"
	case request.Source == SourceSurvivor:
		return o.whyNotSurvivor(o.Find(request.Survivor))
	}
	return ""
}

// lifeFor is the life that a request asks for. Neither its names nor its incarnation were ever used.
func (o Observation) lifeFor(request Request) Life {
	size := o.Desired.Size
	l := Life{Source: request.Source, Bump: request.Bump, Restore: request.ID}
	switch request.Source {
	case SourceBackup:
		l.Origin, _ = o.asking(request).source()
	case SourceSurvivor:
		r := o.Find(request.Survivor)
		size, l.Survivor = 1, r.Name
		l.Origin = Origin{Hash: request.ID, Revision: r.revision(), Version: r.Record().Version}
	case SourceEmpty:
	}
	l.Counter = o.freshCounter()
	l.Incarnation = Incarnation(o.Cluster.UID, l.Counter)
	l.Token = token(o.Cluster.UID, l.Incarnation)
	first := o.nextOrdinal()
	for i := range size {
		l.Names = append(l.Names, etcdutil.MemberName(o.Cluster.Name, first+i))
	}
	return l
}

func (r Replica) revision() int64 {
	if r.Answer == nil {
		return 0
	}
	return r.Answer.Revision
}

// freshCounter is above every counter that the record knows, and its life has left no trace.
func (o Observation) freshCounter() int {
	counter := max(o.Birth.Counter, o.Birth.Laid) + 1
	for o.hasTraceOf(Incarnation(o.Cluster.UID, counter)) {
		counter++
	}
	return counter
}

// hasTraceOf reports whether anything that can be seen is of this life.
func (o Observation) hasTraceOf(incarnation string) bool {
	isOf := func(r Replica) bool {
		return r.hasAnyOf(incarnation) || r.Volume != nil && r.Volume.Superseded == incarnation
	}
	return slices.ContainsFunc(o.everyReplica(), isOf) || slices.ContainsFunc(o.Retained, func(r Retained) bool { return r.Incarnation == incarnation })
}

// everyReplica is of this life, of the one that is laid, and of those that ended.
func (o Observation) everyReplica() []Replica { return slices.Concat(o.Replicas, o.Coming, o.Former) }
