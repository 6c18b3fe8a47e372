package changes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// BeginNext writes into the bootstrap record which incarnation is prepared beside the one that serves, and that the
// ordinals below NextOrdinal are promised.
type BeginNext struct {
	From string // the incarnation that serves
	record.Next
	NextOrdinal int
}

func (BeginNext) traits() Traits { return Traits{} }

func (c BeginNext) words() Words {
	return says("Begin", "begins", "Began", "a restore in place with "+strings.Join(c.Names, ", "), EventRestoreBegun)
}

// veto lets an incarnation be restored only on an approval, under names and an incarnation that were never
// used.
func (c BeginNext) veto(o facts.View) Veto {
	request, isApproved := o.ApprovedNow(c.Restore)
	switch {
	case !o.CanBeFollowed() || c.From != o.Bootstrap.Incarnation:
		return incarnationAtRisk("the incarnation that another one is to follow is not written down, " +
			"or is another one by now.")
	case o.IsPreparing():
		return incarnationAtRisk("another incarnation is being restored already.")
	case !isApproved || !asksFor(request, c.Next):
		return incarnationAtRisk("no EtcdRestore asks for this with an approval of the evidence that there is.")
	}
	return cmp.Or(guardFresh(o, c.Next), guardNames(o, c.Names, c.NextOrdinal), guardSource(o, request, c.Next),
		guardRevisions(o, c.Next))
}

// asksFor reports whether the incarnation is what the request names.
func asksFor(r facts.Request, l record.Next) bool {
	isBumped := r.Bump == l.Bump || !r.IsBumpFixed && r.Bump < l.Bump
	return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && isBumped
}

// guardRevisions lets no revision be served twice: a client that watches from the first time hears nothing of the
// second.
func guardRevisions(o facts.View, l record.Next) Veto {
	if !o.MayBegin(l) {
		return incarnationAtRisk("it would begin at revision %d, and clients were served up to %d.",
			o.Bootstrap.BeginsAt(l), o.Served())
	}
	return Veto{}
}

// guardFresh lets no incarnation be begun twice.
func guardFresh(o facts.View, l record.Next) Veto {
	if l.Counter <= max(o.Bootstrap.Counter, o.Bootstrap.LastCounter) ||
		l.Incarnation != facts.IncarnationID(o.Cluster.UID,
			l.Counter) || o.HasTraceOf(l.Incarnation) {
		return incarnationAtRisk("the incarnation %s was begun before.", l.Incarnation)
	}
	return Veto{}
}

// guardNames lets no name be given that anybody ever had.
func guardNames(o facts.View, chosen []string, next int) Veto {
	if len(chosen) == 0 {
		return incarnationAtRisk("it has no members.")
	}
	for _, name := range chosen {
		ordinal, ok := etcdutil.Ordinal(o.Cluster.Name, name)
		_, isSeen := facts.Find(o.EveryReplica(), name)
		isLeft := slices.ContainsFunc(o.Retained, func(r facts.Retained) bool { return r.Name == name })
		if !ok || isSeen || isLeft || slices.Contains(o.Bootstrap.Names, name) || ordinal < o.Bootstrap.NextOrdinal ||
			ordinal >= next {
			return identityAtRisk("the name %s may have been used.", name)
		}
	}
	return Veto{}
}

// guardSource holds what an incarnation begins with to what was looked at, and lets data be given up without a backup
// only where the quorum is certainly lost.
func guardSource(o facts.View, request facts.Request, l record.Next) Veto {
	switch l.Source {
	case record.SourceBackup:
		return guardOrigin(o.Asking(request), l.Origin)
	case record.SourceEmpty:
		if !l.Origin.IsZero() || !o.IsQuorumGone() {
			return incarnationAtRisk("the quorum is not certainly lost.")
		}
		return Veto{}
	case record.SourceSurvivor:
		return guardSurvivor(o, l)
	case record.SourcePrevious: // it begins nothing: see GoBack
	}
	return incarnationAtRisk("%q is nothing that an incarnation could begin with.", l.Source)
}

func guardSurvivor(o facts.View, l record.Next) Veto {
	if !o.IsQuorumGone() || o.Desired.Ephemeral || len(l.Names) != 1 || l.Origin.IsZero() {
		return incarnationAtRisk("the quorum is not certainly lost, or this is not how one survivor is rebuilt from.")
	}
	survivor := o.Find(l.Survivor)
	if why := o.WhyNoRoomFor(survivor); why != "" {
		return incarnationAtRisk("%s.", why)
	}
	return cmp.Or(guardTools(o, survivor, l.Origin.Version), guardSurvivorData(o.Incarnation, survivor))
}

// guardTools lets nothing be rebuilt with an older etcd than any that may have written it.
func guardTools(o facts.View, r facts.Replica, version etcdutil.Version) Veto {
	wrote := []etcdutil.Version{r.Record().Version, o.ClusterVersion()}
	if r.Answer != nil {
		wrote = append(wrote, r.Answer.Version)
	}
	for _, v := range wrote {
		if v.Compare(version) > 0 && !v.SameMinor(version) {
			return dataAtRisk("etcd %s may have written the data of %s, and it would be rebuilt with %s.", v, r.Name,
				version)
		}
	}
	return Veto{}
}

// guardSurvivorData says why a member's data is none to rebuild from, or "".
func guardSurvivorData(o facts.Incarnation, r facts.Replica) Veto {
	switch m := r.Record(); {
	case m.IsZero() || r.Incarnation() != o.Bootstrap.Incarnation || m.ClusterID != o.Bootstrap.ClusterID:
		return identityAtRisk("%s is not recorded as a member of this cluster.", r.Name)
	case r.Ephemeral:
		return dataAtRisk("%s has its data in its Pod, where nothing can be read.", r.Name)
	case r.IsPutBack():
		return Veto{}
	}
	return guardReadable(o, r)
}

// guardReadable says why what a member of this incarnation holds cannot be had, or "".
func guardReadable(o facts.Incarnation, r facts.Replica) Veto {
	switch m := r.Record(); {
	case o.IsGone(r) || r.Answer != nil && !m.IsOf(r.Answer.ClusterID, r.Answer.ID):
		return dataAtRisk("the data of %s is lost, or is another's.", r.Name)
	case r.Answer == nil && (!o.MayRestart(r) || r.Pod != nil && r.CannotRun()):
		return dataAtRisk("%s neither answers nor can start.", r.Name)
	}
	return Veto{}
}

// PrepareNext creates what is missing of that incarnation, in this order: members' Secrets, volumes, restore Pods.
// It starts no member.
type PrepareNext struct {
	Incarnation string // of the next incarnation
	Secrets     []string
	Volumes     []NewVolume
	Restores    []Restoring
}

func (PrepareNext) traits() Traits { return Traits{Secrets: true} }

func (PrepareNext) words() Words {
	return says("Prepare", "prepares", "Prepared", "the next members", EventObjectsApplied)
}

// veto makes volumes and restore Pods only for the next incarnation, and only where there are none.
func (c PrepareNext) veto(o facts.View) Veto {
	if why := guardTrust(o, nil, len(c.Secrets) > 0); why.Holds() {
		return why
	}
	l, ahead := o.Bootstrap.Next, o.OfNext()
	if l.IsZero() || c.Incarnation != l.Incarnation || c.Incarnation == o.Bootstrap.Incarnation {
		return incarnationAtRisk("another incarnation is being restored, or none.")
	}
	isOther := func(name string) bool { return !slices.Contains(l.Names, name) }
	if slices.ContainsFunc(c.Secrets, isOther) ||
		slices.ContainsFunc(c.Volumes, func(v NewVolume) bool { return isOther(v.Name) }) {
		return incarnationAtRisk("it is not only for members of the next incarnation.")
	}
	isTaken := func(v NewVolume) bool { r := ahead.Find(v.Name); return r.Volume != nil || r.Restoring != nil }
	if slices.ContainsFunc(c.Volumes, isTaken) {
		return dataAtRisk("a member has a volume already, or a Pod that was made for another one.")
	}
	return cmp.Or(guardRoom(ahead, c.Volumes), first(c.Restores, func(restoring Restoring) Veto {
		if restoring.Holds {
			return guardPlace(ahead, restoring)
		}
		return cmp.Or(guardReading(o, restoring), guardRestoring(ahead, restoring))
	}))
}

// guardPlace lets the place of a member be held only where it will start: on its restored volume, which no other Pod
// uses.
func guardPlace(ahead facts.View, restoring Restoring) Veto {
	r := ahead.Find(restoring.Name)
	if r.Pod != nil || r.Restoring != nil || ahead.LacksVolume(r) || !ahead.IsFilled(r) || r.IsRecorded() ||
		r.Volume.Settings != restoring.Settings {
		return dataAtRisk("the place of %s cannot be held: its volume is not restored, or a Pod uses it.",
			restoring.Name)
	}
	return Veto{}
}

// guardReading lets a restore Pod read only what the incarnation is to begin with, and write only where nobody ever
// lived.
func guardReading(o facts.View, restoring Restoring) Veto {
	l, survivor := o.Bootstrap.Next, o.Survivor()
	if restoring.Mounts != "" && (restoring.Mounts != l.Survivor || !o.IsFlushed(survivor) || survivor.Pod != nil) {
		return dataAtRisk("the volume of %s cannot be read.", restoring.Mounts)
	}
	if r, _ := facts.Find(o.Next.Members, restoring.Name); r.Volume != nil &&
		(r.Volume.Terminating || r.Volume.Incarnation != l.Incarnation) || restoring.Survivor != l.Survivor {
		return dataAtRisk("nothing can be restored on the volume of %s.", restoring.Name)
	}
	return Veto{}
}

// MarkFlushed writes on a survivor's volume that all it holds is in its database, for the incarnation that begins
// with it.
type MarkFlushed struct {
	Incarnation string // that it serves for
	Volume      facts.VolumeRef
}

func (MarkFlushed) traits() Traits { return Traits{} }

func (c MarkFlushed) words() Words { return marked([]facts.VolumeRef{c.Volume}, "as complete") }

// veto believes only of a process that runs without the others that it wrote out all that it had. Nothing ever
// ran on a volume that was put back.
func (c MarkFlushed) veto(o facts.View) Veto {
	r := o.Find(c.Volume.Name)
	if !o.IsPreparing() || c.Incarnation != o.Bootstrap.Next.Incarnation || r.Name != o.Bootstrap.Next.Survivor ||
		!r.HasVolume(c.Volume) || !o.IsQuorumGone() || !o.HasFlushed(r) && !r.IsPutBack() {
		return dataAtRisk("%s is not known to have run alone for long enough.", c.Volume.Name)
	}
	return Veto{}
}

// DropNext takes that incarnation out of the bootstrap record again, once nothing is left of it.
type DropNext struct{ Incarnation string }

func (DropNext) traits() Traits { return Traits{} }

func (DropNext) words() Words {
	return says("Call off", "calls off", "Called off", "the restore in place", EventRestoreCalledOff)
}

func (c DropNext) veto(o facts.View) Veto {
	isLeft := slices.ContainsFunc(o.Next.Members, func(r facts.Replica) bool {
		return r.Volume != nil || r.Pod != nil ||
			r.Restoring != nil
	})
	switch {
	case c.Incarnation != o.Bootstrap.Next.Incarnation || c.Incarnation == o.Bootstrap.Incarnation:
		return incarnationAtRisk("another incarnation is being restored, or none.")
	case isLeft:
		return incarnationAtRisk("something of the incarnation that was restored is still there.")
	}
	return guardUnwanted(o)
}

// guardUnwanted lets what was restored be taken back only while no EtcdRestore wants it.
func guardUnwanted(o facts.View) Veto {
	for _, r := range o.Requests {
		if r.ID == o.Bootstrap.Next.Restore && r.Approval != "" && !o.IsOvertaken() {
			return incarnationAtRisk("the EtcdRestore %s asks for it.", r.Name)
		}
	}
	return Veto{}
}
