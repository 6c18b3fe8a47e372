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

// The guard's part about going back from a restored incarnation that never served.

// guardGoBack gives up an incarnation only where no client was led to it, on an approval of the evidence that there is.
func guardGoBack(o facts.View, c changes.GoBack) string {
	request, isApproved := o.ApprovedNow(c.Restore)
	last, members := o.Previous()
	switch {
	case c.From != o.Birth.Incarnation || c.Incarnation != last.Incarnation || last.Incarnation == "" || o.Birth.Void ||
		o.IsPreparing():
		return "it is not the incarnation that the cluster switched over from."
	case !isApproved || request.Source != record.SourcePrevious:
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	case o.IsAlive() || o.Membership.Known || o.IsAnyReady():
		return "what the cluster switched over to serves, or is about to."
	}
	return cmp.Or(guardFence(o), guardPrevious(members, last.Voters, c))
}

// guardPrevious lets a cluster go back only to a quorum of members whose own volumes are there, all of one cluster.
func guardPrevious(members []facts.Replica, voters []string, c changes.GoBack) string {
	back := 0
	for _, name := range c.Names {
		r, _ := facts.Find(members, name)
		if !r.MayReturn(c.From) || r.Record().ClusterID != c.ClusterID {
			return fmt.Sprintf("the volume of %s is not one that a member of that cluster can start on.", name)
		}
		if voters == nil || slices.Contains(voters, name) {
			back++
		}
	}
	if c.ClusterID == 0 || back < etcdutil.Quorum(len(voters)) {
		return "what is left of that incarnation is no quorum."
	}
	return ""
}

// guardMarkCurrent takes the mark off only once the incarnation that took this one's place is marked itself. Of two
// without a mark, nothing says which one is the current one.
func guardMarkCurrent(o facts.View, after string, ref facts.VolumeRef) string {
	r := o.Find(ref.Name)
	if !o.IsGivenUp(after) || !r.HasVolume(ref) || r.Volume.Incarnation != o.Birth.Incarnation ||
		r.Volume.Superseded != after {
		return fmt.Sprintf("the volume %s is not known to be of an incarnation that the cluster went back to.",
			ref.Name)
	}
	return guardSwitched(o, ref.Name)
}
