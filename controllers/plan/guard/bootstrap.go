package guard

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// guardBootstraps is asked of how a cluster begins, and of whose it is: both stand on the peer Service.
func guardBootstraps(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.TakeOver:
		return guardTakeOver(o, c)
	case changes.AdoptData:
		return guardAdopt(o, c)
	case changes.BeginBootstrap:
		return guardBegin(o, c)
	case changes.Bootstrap:
		return guardBootstrap(o, c)
	case changes.VoidBootstrap:
		return guardVoid(o)
	case changes.NextBootstrap:
		return guardNext(o, c)
	default:
		return fmt.Sprintf("%T is no part of a bootstrap.", c)
	}
}

// guardTakeOver leaves a cluster to the install that claims it, unless a person asked for this one, and the Lease of
// the other one was read. What no install claims is free, unless a person asked for another one, or the data names one.
func guardTakeOver(o facts.View, c changes.TakeOver) string {
	us, asked := o.Cluster.Operator, o.Desired.Operator
	switch {
	case c.From == us && o.ClaimedBy == us && o.TakenOver.After(o.Now):
		return "" // it is only dated anew, and the wait begins again
	case o.ClaimedBy != c.From, c.From != "" && asked != us, c.From == "" && o.IsAnothers():
		return fmt.Sprintf("nothing asks for %s in the place of %s.", us, o.Keeper())
	case c.From != "" && !o.Keeping.Known:
		return fmt.Sprintf("the Lease of %s cannot be read.", o.ClaimedBy)
	}
	return ""
}

func guardBootstrap(o facts.View, c changes.Bootstrap) string {
	if o.IsAlive() || o.Bootstrap.Void || !o.Bootstrap.Exists() {
		return "the cluster lives already, or its bootstrap is not written down."
	}
	if o.HasSwitchedOver() && len(c.Restores) > 0 {
		return "a restore in place ended with what lies on these volumes."
	}
	if why := cmp.Or(guardRoom(o, c.Volumes),
		first(c.Restores, func(l changes.Restoring) string { return guardRestoring(o, l) })); why != "" {
		return why
	}
	if why := guardFence(o); why != "" && len(c.Pods) > 0 {
		return why
	}
	return first(c.Pods, func(s changes.Start) string { return guardFirstStart(o, s) })
}

// guardVoid lets a bootstrap be given up only while nothing was ever written or recorded.
func guardVoid(o facts.View) string {
	if o.IsAlive() || slices.ContainsFunc(o.Members, facts.HasWrites) {
		return "the cluster lives, or may hold data."
	}
	if o.HasSwitchedOver() {
		return "a restore in place switched over to this incarnation, and nothing takes its place without a person."
	}
	return ""
}

// guardNext begins the next incarnation only after one that was given up, and with what the spec asks for.
func guardNext(o facts.View, c changes.NextBootstrap) string {
	if why := guardVoid(o); why != "" {
		return why
	}
	return guardOrigin(o, c.Origin)
}

func guardBegin(o facts.View, c changes.BeginBootstrap) string {
	if o.Bootstrap.Exists() {
		return "a bootstrap is already written down."
	}
	switch {
	case c.Served < o.Recorded():
		return "it forgets revisions that clients were served."
	case o.IsOverRetained() && !o.BeginsEmpty() || c.ClusterID == 0 && o.IsAlive() && !goesOn(o, c):
		return "there is data of a cluster already."
	case c.ClusterID != 0 || o.IsAlive():
		return "" // what a living cluster began with is past
	}
	return guardOrigin(o, c.Origin)
}

// goesOn reports a bootstrap that fewer are recorded of than a quorum, while all others were restored for it: those
// start only from what lies on their volumes.
func goesOn(o facts.View, c changes.BeginBootstrap) bool {
	recorded := facts.Filter(o.Members, facts.Replica.IsRecorded)
	isLeft := func(name string) bool {
		r := o.Find(name)
		return r.Incarnation() == c.Incarnation && (r.IsRecorded() || r.AwaitsRecord(c.Incarnation))
	}
	return len(recorded) < etcdutil.Quorum(len(c.Names)) &&
		!slices.ContainsFunc(c.Names, func(name string) bool { return !isLeft(name) })
}

// guardRecordBootstrap writes the cluster's identity down only once a quorum of first members bears it on their data.
func guardRecordBootstrap(o facts.View, c changes.RecordBootstrap) string {
	bearers := facts.Filter(o.Members, func(r facts.Replica) bool {
		return slices.Contains(o.Bootstrap.Names, r.Name) && r.Record().ClusterID == c.ClusterID
	})
	if o.Bootstrap.ClusterID != 0 || len(bearers) < etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return "too few members are recorded, or another identity is written down already."
	}
	return ""
}

// guardAdopt takes over only what was listed as left behind, as one cluster, before anything of a new one exists. With
// the CAs that a person named a cluster begins empty, once its bootstrap is written down.
func guardAdopt(o facts.View, c changes.AdoptData) string {
	isEmpty := o.BeginsEmpty() && o.Bootstrap.Exists() && !o.IsAlive()
	if !o.IsOverRetained() && !isEmpty {
		return "the cluster has begun already."
	}
	if why := cmp.Or(guardMixed(o), guardReturn(o), guardUnknown(o)); why != "" && !isEmpty {
		return why
	}
	if !slices.Equal(c.Items, o.Retained) {
		return "it is not what the earlier cluster left."
	}
	return ""
}

// isUsable reports a volume that its member can start on as the spec asks.
func isUsable(r facts.Retained, d facts.Desired) bool {
	return r.TooNew == "" && r.TLS == d.TLS && !d.Ephemeral
}

// guardUnknown takes over no volume that may be a copy and cannot be told for one.
func guardUnknown(o facts.View) string {
	if unknown := o.UnknownBesideCopies(); unknown != "" {
		return fmt.Sprintf("nothing says whether %s was put back.", unknown)
	}
	return ""
}

// guardReturn lets revisions go back only where a person said so.
func guardReturn(o facts.View) string {
	if later := o.GoesBackFrom(); later != "" {
		return fmt.Sprintf("clients were served since by the incarnation %s.", later)
	}
	return ""
}

// guardMixed lets data be resumed only where all of it is one incarnation of one cluster. No member starts on a volume
// that it was not written on.
func guardMixed(o facts.View) string {
	type origin struct {
		cluster     etcdutil.ID
		incarnation string
	}
	origins := map[origin]bool{}
	for _, r := range o.Members {
		if r.IsRecorded() {
			origins[origin{r.Record().ClusterID, r.Incarnation()}] = true
		}
	}
	for _, item := range o.Retained {
		if item.Owner != o.Retained[0].Owner || item.IsVolume() && !isUsable(item, o.Desired) {
			return fmt.Sprintf("%s cannot be resumed.", item)
		}
		if item.IsVolume() && !item.Record.IsZero() && item.Superseded == "" {
			origins[origin{item.Record.ClusterID, item.Incarnation}] = true
		}
	}
	if len(origins) != 1 {
		return "it is not known to be one incarnation of one cluster."
	}
	return ""
}

// The guard's part about what a restore in place restored, and what it switched over from.

// guardMark writes only on what an ended incarnation left.
func guardMark(o facts.View, by string, ref facts.VolumeRef) string {
	r, isFormer := facts.Find(o.FormerMembers(), ref.Name)
	if !isFormer || r.Volume == nil || r.Volume.UID != ref.UID || by != o.Bootstrap.Incarnation ||
		r.Volume.Incarnation == by || r.Volume.Superseded != "" {
		return fmt.Sprintf("the volume %s is not known to be of a former incarnation.", ref.Name)
	}
	return ""
}

// guardFormerPod stops the members of a former incarnation, once its volumes say so.
func guardFormerPod(o facts.View, r facts.Replica, ref facts.PodRef) string {
	switch {
	case r.Pod == nil || r.Pod.UID != ref.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", ref.Name)
	case r.Pod.Incarnation == o.Bootstrap.Incarnation:
		return fmt.Sprintf("the Pod %s is of the current incarnation.", ref.Name)
	}
	return guardSwitched(o, ref.Name)
}

// guardSwitched believes that an incarnation ended only of the bootstrap record, and once its volumes say so.
func guardSwitched(o facts.View, name string) string {
	if !o.Bootstrap.Exists() || len(o.Unmarked()) > 0 {
		return fmt.Sprintf("nothing says that the cluster switched over from %s.", name)
	}
	return ""
}

// guardNextVolume takes back only what nobody ever lived on, and nobody wants or can use.
func guardNextVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) string {
	switch {
	case r.Volume == nil || r.Volume.UID != ref.UID:
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	case r.Pod != nil || r.Restoring != nil:
		return fmt.Sprintf("a Pod still uses the volume %s.", ref.Name)
	case r.IsRecorded() || r.Volume.Incarnation != o.Bootstrap.Next.Incarnation ||
		r.Volume.Incarnation == o.Bootstrap.Incarnation:
		return fmt.Sprintf("the volume %s may be one that a member lived on.", ref.Name)
	case r.Volume.IsSpoilt() || o.IsUnread(r) || o.IsMadeForOther(r):
		return ""
	}
	return guardUnwanted(o)
}

// guardFormerVolume gives up what an incarnation left that ended, on the word of the EtcdRestore that ended it.
func guardFormerVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) string {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	}
	if why := o.WhyKeepFormer(r); why != "" {
		return fmt.Sprintf("the volume %s is kept: %s.", ref.Name, why)
	}
	return ""
}

// guardNextRestore keeps a restore Pod whose word is still needed.
func guardNextRestore(o facts.View, ref facts.PodRef) string {
	r, _ := facts.Find(o.Next.Members, ref.Name)
	isSpent := o.LacksVolume(r) || o.IsUnread(r) || guardUnwanted(o) == ""
	if isSpent && r.Restoring != nil && r.Restoring.UID == ref.UID {
		return ""
	}
	return guardSpentRestore(o.OfNext(), ref)
}

// isAskedInPlace reports whether an approved EtcdRestore needs what a preflight would find.
func isAskedInPlace(o facts.View, asked facts.Inquiry) bool {
	if o.IsPreparing() || o.Bootstrap.Void {
		return false
	}
	return slices.ContainsFunc(o.Requests, func(r facts.Request) bool {
		_, isApproved := o.ApprovedNow(r.ID)
		return isApproved && r.Source == record.SourceBackup && o.Asking(r).Inquiry() == asked
	})
}

// isLongPast reports a Pod that should have been gone long ago.
func isLongPast(o facts.View, p *facts.Pod) bool {
	return p.Terminating && !p.GoneBy.IsZero() && o.Now.Sub(p.GoneBy) > facts.LeavingDeadline
}

// guardFence lets no member start while members of a former incarnation might serve a write: one that is not marked, a
// Pod that is not long past its time, or so many of those that they are a quorum.
func guardFence(o facts.View) string {
	if marked := o.StillMarked(); len(marked) > 0 {
		return fmt.Sprintf("the volume of %s still says that another incarnation took its place.", marked[0].Name)
	}
	for _, former := range o.Former {
		left := map[string]int{}
		for _, r := range former.Members {
			switch {
			case r.Volume != nil && r.Volume.Superseded == "":
				return fmt.Sprintf("the volume of %s, of a former incarnation, is not marked.", r.Name)
			case r.Pod == nil:
			case !isLongPast(o, r.Pod):
				return fmt.Sprintf("the Pod of %s, of a former incarnation, is still there.", r.Name)
			default:
				left[r.Pod.Incarnation]++
			}
		}
		for incarnation, n := range left {
			if o.IsQuorumOf(incarnation, n) {
				return fmt.Sprintf("%d Pods of a former incarnation do not go, and might serve a write.", n)
			}
		}
	}
	return ""
}
