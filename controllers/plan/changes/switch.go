package changes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// SwitchOver makes that incarnation the one that the bootstrap record is of. It is the point of no return: the
// previous incarnation ends.
type SwitchOver struct {
	From, To string            // incarnations
	Volumes  map[string]string // the UIDs of the new first members' volumes, by name; empty when data is ephemeral
	Voters   []string          // who had a vote in the incarnation that ends; nil when that is not known

	Successors []Start // how its first members start
}

func (SwitchOver) traits() Traits { return Traits{Secrets: true} }

func (SwitchOver) words() Words {
	return says("Switch", "switches", "Switched", "over to the next members", EventRestoreMoved)
}

// veto ends an incarnation only for one that is whole, on an approval of the evidence that there is.
func (c SwitchOver) veto(o facts.View) Veto {
	l := o.Bootstrap.Next
	request, isApproved := o.ApprovedNow(l.Restore)
	switch {
	case l.IsZero() || c.From != o.Bootstrap.Incarnation || c.To != l.Incarnation || c.From == c.To || o.Bootstrap.Void:
		return incarnationAtRisk("another incarnation is being restored, or another one lives.")
	case !isApproved || request.Source != l.Source:
		return incarnationAtRisk("no EtcdRestore asks for this with an approval of the evidence that there is.")
	case !slices.Equal(c.Voters, o.KnownVoters()):
		return incarnationAtRisk("who has a vote is another by now.")
	case !o.IsStillAbove(l):
		return incarnationAtRisk("clients were served revisions by now that it would serve again.")
	}
	if why := cmp.Or(o.WhyServedOn(o.IsGone), o.WhyLeftOut(), o.WhyNoCertificates()); why != "" {
		return incarnationAtRisk("%s.", why)
	}
	return cmp.Or(guardBeginning(o),
		first(l.Names, func(name string) Veto { return guardReady(o, name, c.Volumes[name]) }))
}

// guardBeginning holds what was restored to what was asked for, and to what may be given up.
func guardBeginning(o facts.View) Veto {
	l := o.Bootstrap.Next
	switch {
	case l.Source != record.SourceBackup && !o.IsQuorumGone():
		return incarnationAtRisk("the quorum is not certainly lost.")
	case l.Source == record.SourceSurvivor && !o.IsAsRestored():
		return incarnationAtRisk("nothing says that the survivor still holds just what was restored.")
	case l.Origin.IsZero() != (l.Source == record.SourceEmpty):
		return incarnationAtRisk("what was restored is not what was asked for.")
	case !l.Origin.IsZero() && o.Desired.Ephemeral:
		return dataAtRisk("what was restored is on volumes, and the spec asks for data in Pods.")
	case l.Source == record.SourceBackup &&
		etcdutil.WhyNotBegin(l.Origin.Version, o.Desired.Newest()) != "":
		return dataAtRisk("what was restored is of etcd %s, and cannot start as the spec asks.", l.Origin.Version)
	}
	return Veto{}
}

// guardReady lets a cluster move only to members that lack nothing: certificates, and a volume of their own that was
// restored.
func guardReady(o facts.View, name, volumeUID string) Veto {
	r, _ := facts.Find(o.Next.Members, name)
	l := o.Bootstrap.Next
	if why := guardPlaceHeld(o, r); why.Holds() {
		return why
	}
	switch {
	case o.Desired.TLS && r.Secret.State != facts.ObjectCurrent:
		return identityAtRisk("%s has no certificates.", name)
	case r.Ephemeral && l.Origin.IsZero():
		return Veto{}
	case !r.HasVolume(facts.VolumeRef{Name: name, UID: volumeUID}) || !r.Volume.IsThere(true):
		return identityAtRisk("the volume of %s is another one by now, or is lost.", name)
	case !isReadyFor(r.Volume, l):
		return dataAtRisk("the volume of %s was not restored completely.", name)
	}
	return Veto{}
}

// guardPlaceHeld lets no Pod be there but one that shows that a node takes the member, where that is to be shown.
func guardPlaceHeld(o facts.View, r facts.Replica) Veto {
	switch {
	case r.Pod != nil || r.Restoring != nil && !r.Restoring.Holds:
		return dataAtRisk("a Pod of %s is there.", r.Name)
	case o.NeedsPlaces() && !r.HoldsPlace():
		return quorumAtRisk("nothing says that a node takes %s where its volume is.", r.Name)
	}
	return Veto{}
}

// isReadyFor reports a volume that was made for an incarnation, and holds what that begins with.
func isReadyFor(v *facts.Volume, l record.Next) bool {
	return v.Incarnation == l.Incarnation && (l.Origin.IsZero() || v.Restored == l.Incarnation)
}

// MarkFormer writes on volumes of former incarnations which incarnation took their place.
type MarkFormer struct {
	By      string // the incarnation that lives
	Volumes []facts.VolumeRef
}

func (MarkFormer) traits() Traits { return Traits{} }

func (c MarkFormer) words() Words { return marked(c.Volumes, "as previous") }

func (c MarkFormer) veto(o facts.View) Veto {
	return first(c.Volumes, func(ref facts.VolumeRef) Veto { return guardMark(o, c.By, ref) })
}

// guardMark writes only on what an ended incarnation left.
func guardMark(o facts.View, by string, ref facts.VolumeRef) Veto {
	r, isFormer := facts.Find(o.FormerMembers(), ref.Name)
	if !isFormer || r.Volume == nil || r.Volume.UID != ref.UID || by != o.Bootstrap.Incarnation ||
		r.Volume.Incarnation == by || r.Volume.Superseded != "" {
		return incarnationAtRisk("the volume %s is not known to be of a former incarnation.", ref.Name)
	}
	return Veto{}
}

// guardSwitched believes that an incarnation ended only of the bootstrap record, and once its volumes say so.
func guardSwitched(o facts.View, name string) Veto {
	if !o.Bootstrap.Exists() || len(o.Unmarked()) > 0 {
		return incarnationAtRisk("nothing says that %s is of a previous incarnation.", name)
	}
	return Veto{}
}

// guardFence lets no member start while members of a former incarnation might serve a write: one that is not marked, a
// Pod that is not long past its time, or so many of those that they are a quorum.
func guardFence(o facts.View) Veto {
	if marked := o.StillMarked(); len(marked) > 0 {
		return incarnationAtRisk("the volume of %s still says that another incarnation took its place.", marked[0].Name)
	}
	for _, former := range o.Former {
		left := map[string]int{}
		for _, r := range former.Members {
			switch {
			case r.Volume != nil && r.Volume.Superseded == "":
				return incarnationAtRisk("the volume of %s, of a former incarnation, is not marked.", r.Name)
			case r.Pod == nil:
			case !isLongPast(o, r.Pod):
				return incarnationAtRisk("the Pod of %s, of a former incarnation, is still there.", r.Name)
			default:
				left[r.Pod.Incarnation]++
			}
		}
		for incarnation, n := range left {
			if o.IsQuorumOf(incarnation, n) {
				return incarnationAtRisk("%d Pods of a former incarnation do not go, and might serve a write.", n)
			}
		}
	}
	return Veto{}
}

// isLongPast reports a Pod that should have been gone long ago.
func isLongPast(o facts.View, p *facts.Pod) bool {
	return p.Terminating && !p.GoneBy.IsZero() && o.Now.Sub(p.GoneBy) > facts.LeavingDeadline
}

// GoBack makes the previous incarnation the one that the bootstrap record is of again, in the place of one that
// never served.
type GoBack struct {
	From           string // the incarnation that never served
	Restore        string // the request for it
	BeginBootstrap        // the record of the previous incarnation, by what its volumes say
}

func (GoBack) traits() Traits { return Traits{Secrets: true} }

func (c GoBack) words() Words {
	return says("Go back", "goes back", "Went back", "to "+strings.Join(c.Names, ", "), EventRestoreWentBack)
}

// veto gives up an incarnation only where no client was led to it, on an approval of the evidence that there is.
func (c GoBack) veto(o facts.View) Veto {
	request, isApproved := o.ApprovedNow(c.Restore)
	last, members := o.Previous()
	switch {
	case c.From != o.Bootstrap.Incarnation || c.Incarnation != last.Incarnation ||
		last.Incarnation == "" || o.Bootstrap.Void ||
		o.IsPreparing():
		return incarnationAtRisk("it is not the previous incarnation.")
	case !isApproved || request.Source != record.SourcePrevious:
		return incarnationAtRisk("no EtcdRestore asks for this with an approval of the evidence that there is.")
	case o.IsAlive() || o.Membership.Known || o.IsAnyReady():
		return incarnationAtRisk("the current incarnation serves, or is about to.")
	}
	return cmp.Or(guardFence(o), guardPrevious(members, last.Voters, c))
}

// guardPrevious lets a cluster go back only to a quorum of members whose own volumes are there, all of one cluster.
func guardPrevious(members []facts.Replica, voters []string, c GoBack) Veto {
	back := 0
	for _, name := range c.Names {
		r, _ := facts.Find(members, name)
		if !r.MayReturn(c.From) || r.Record().ClusterID != c.ClusterID {
			return dataAtRisk("the volume of %s is not one that a member of that cluster can start on.", name)
		}
		if voters == nil || slices.Contains(voters, name) {
			back++
		}
	}
	if c.ClusterID == 0 || back < etcdutil.Quorum(len(voters)) {
		return quorumAtRisk("what is left of that incarnation is no quorum.")
	}
	return Veto{}
}

// MarkCurrent takes from volumes of the current incarnation the mark that another one took its place, and writes on
// them that the cluster went back from that one.
type MarkCurrent struct {
	After   string // the incarnation that the cluster went back from
	Volumes []facts.VolumeRef
}

func (MarkCurrent) traits() Traits { return Traits{} }

func (c MarkCurrent) words() Words { return marked(c.Volumes, "as current") }

func (c MarkCurrent) veto(o facts.View) Veto {
	return first(c.Volumes, func(ref facts.VolumeRef) Veto { return guardMarkCurrent(o, c.After, ref) })
}

// guardMarkCurrent takes the mark off only once the incarnation that took this one's place is marked itself. Of two
// without a mark, nothing says which one is the current one.
func guardMarkCurrent(o facts.View, after string, ref facts.VolumeRef) Veto {
	r := o.Find(ref.Name)
	if !o.IsGivenUp(after) || !r.HasVolume(ref) || r.Volume.Incarnation != o.Bootstrap.Incarnation ||
		r.Volume.Superseded != after {
		return incarnationAtRisk("the volume %s is not known to be of an incarnation that the cluster went back to.",
			ref.Name)
	}
	return guardSwitched(o, ref.Name)
}
