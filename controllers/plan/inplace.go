package plan

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules of a restore in place, up to the moment when the birth record moves. Until then whatever they made can be taken
// back.

// rebuilding is what a restore in place waits for, as a word that holds the rules after it back; nil when none is
// carried out.
func (o view) rebuilding() *proposal {
	for _, ask := range []func(view) *proposal{restoreCallOff, restoreBegin, restorePrepare, restoreSwitchOver} {
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

// isPreparing reports whether another incarnation is on its way.
func (o Incarnation) isPreparing() bool { return !o.Birth.Next.IsZero() }

// namesake is a member under a name of the next incarnation; nil when there is none. Where the record was lost while
// nobody answered, nobody could say which names were used, and a name of both could be counted for neither.
func (o view) namesake() *etcdutil.Member {
	list := o.Membership.LastKnown
	if o.hasQuorum() {
		list = o.Membership.Members
	}
	for i, m := range list {
		name, _ := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		if slices.Contains(o.Birth.Next.Names, name) {
			return &list[i]
		}
	}
	return nil
}

// restoreCallOff clears away what was restored for an EtcdRestore that is gone, is another one by now, or had its
// approval taken back.
func restoreCallOff(o view) *proposal {
	if _, isWanted := o.chosen(); isWanted || !o.isPreparing() {
		return nil
	}
	for _, step := range []func(view) *proposal{dropRestores, dropVolumes, dropSecrets} {
		if p := step(o); p != nil {
			return p
		}
	}
	return act(DropNext{Incarnation: o.Birth.Next.Incarnation}, ReasonCallOff,
		"The restore in place is called off; nothing of it is left, and the cluster goes on as it was.")
}

func dropRestores(o view) *proposal {
	of := filter(o.Next.Members, func(r Replica) bool { return r.Restoring != nil })
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
		return act(DeleteRestores{Pods: pods}, ReasonCallOff,
			"The restore in place is called off; the restore Pods of %s are deleted.", podNames(pods))
	}
	return Task{GoneBy: lastGoneBy(o.ofNext())}.leaving(o, ReasonCallOff,
		"The restore in place is called off; the restore Pods of %s are terminating, and another restore begins once "+
			"they are gone.",
		strings.Join(names(of), ", ")).yielding()
}

func dropVolumes(o view) *proposal {
	of := filter(o.Next.Members, func(r Replica) bool { return r.Volume != nil })
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
		return act(DeleteVolumes{Volumes: volumes}, ReasonCallOff,
			"The restore in place is called off; the new volumes of %s, which no member ever used, are deleted.",
			strings.Join(names(of), ", "))
	}
	return wait(ReasonCallOff, "The restore in place is called off; the new volumes of %s are being deleted.",
		strings.Join(names(of), ", ")).yielding()
}

func dropSecrets(o view) *proposal {
	for _, r := range o.Next.Members {
		if p := collectSecret(r); p != nil {
			return act(p.Change, ReasonCallOff,
				"The restore in place is called off; the certificates of %s are deleted.", r.Name)
		}
	}
	return nil
}

// restoreBegin writes down which incarnation is prepared beside this one, once a person approved that on the evidence
// there is, and the backup was looked at.
func restoreBegin(o view) *proposal {
	request, ok := o.chosen()
	if !ok || o.isPreparing() || o.Desired.Fault != "" {
		return nil
	}
	if why := o.whyNotLay(request); why != "" {
		return refuse(ReasonRestoreHeld,
			"The EtcdRestore %s is approved and cannot be carried out: %s. Nothing was changed.", request.Name,
			why).byHuman().unlessLater(request.WantedBackup).yielding()
	}
	asking := o.asking(request)
	if request.Source == record.SourceBackup {
		if p := lookAtBackup(asking); p != nil {
			return p.unlessActing()
		}
	}
	life := o.nextFor(request)
	return act(BeginNext{From: o.Birth.Incarnation, Next: life, NextOrdinal: o.nextOrdinal() + len(life.Names)},
		ReasonInPlace,
		"The EtcdRestore %s is carried out: %s are made beside the members that there are, which serve on meanwhile.",
		request.Name, strings.Join(life.Names, ", "))
}

// asking is the same world, in which the spec asks for the backup of the request.
func (o view) asking(request Request) view {
	o.Desired.Restore = request.WantedBackup
	o.Cluster.Created = request.Created // since when it is tried
	return o
}

// unlessLater asks no person about a backup that is still being taken.
func (p *proposal) unlessLater(w WantedBackup) *proposal {
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
func (o view) whyNotLay(request Request) string {
	switch {
	case request.WantedBackup.Fault != "":
		return request.WantedBackup.Fault
	case o.whyTaken() != "":
		return o.whyTaken()
	case o.Desired.Ephemeral && request.Source != record.SourceEmpty:
		return "spec.storage.ephemeral keeps the data in Pods, where nothing can be restored before they start"
	case o.whyNoCertificates() != "":
		return o.whyNoCertificates()
	}
	return o.whyNotSource(request)
}

// whyNotSource holds what is given up to what was lost: without a backup only where the quorum is.
func (o view) whyNotSource(request Request) string {
	switch {
	case request.Source == record.SourceBackup:
		return ""
	case o.quorumState() != QuorumLost:
		return "the quorum of this cluster is not certainly lost, and without a backup more would be given up than " +
			"what is; restore from a backup, or see status.evidence for what is lost"
	case request.Source == record.SourceSurvivor:
		return o.whyNotSurvivor(o.Find(request.Survivor))
	}
	return ""
}

// nextFor is the incarnation that a request asks for. Neither its names nor its incarnation were ever used.
func (o view) nextFor(request Request) record.Next {
	size := o.Desired.Size
	l := record.Next{Source: request.Source, Bump: request.Bump, Restore: request.ID}
	switch request.Source {
	case record.SourceBackup:
		l.Origin, _ = o.asking(request).source()
	case record.SourceSurvivor:
		r := o.Find(request.Survivor)
		size, l.Survivor = 1, r.Name
		l.Origin = record.Origin{Hash: request.ID, Revision: r.revision(), Version: r.Record().Version}
	case record.SourceEmpty:
	}
	l.Counter = o.freshCounter()
	l.Incarnation = IncarnationID(o.Cluster.UID, l.Counter)
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

// freshCounter is above every counter that the record knows, and its incarnation has left no trace.
func (o view) freshCounter() int {
	counter := max(o.Birth.Counter, o.Birth.LastCounter) + 1
	for o.hasTraceOf(IncarnationID(o.Cluster.UID, counter)) {
		counter++
	}
	return counter
}

// hasTraceOf reports whether anything that can be seen is of this incarnation.
func (o view) hasTraceOf(incarnation string) bool {
	isOf := func(r Replica) bool {
		return r.hasAnyOf(incarnation) || r.Volume != nil && r.Volume.Superseded == incarnation
	}
	return slices.ContainsFunc(o.everyReplica(), isOf) || slices.ContainsFunc(o.Retained, func(r Retained) bool {
		return r.Incarnation == incarnation
	})
}

// everyReplica is of this incarnation, of the one that is restored, and of those that ended.
func (o view) everyReplica() []Replica {
	return slices.Concat(o.Members, o.Next.Members, o.FormerMembers())
}
