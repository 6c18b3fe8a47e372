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

// guardCopies lets nothing happen to a copy of the data while copies are said to differ, but to one that stands alone.
// It counts for itself: what a rule concludes of the hashes is not asked.
func guardCopies(o facts.View, name string) string {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {
		return ""
	}
	target := o.Find(name).Answer
	if target != nil && target.Hash != nil && isAloneAgainst(countHashes(o), *target.Hash) {
		return ""
	}
	return fmt.Sprintf("members hold different data, and nothing shows that the copy of %s is the wrong one.", name)
}

// guardHeir lets leadership go only to a copy that most voters have, while copies are said to differ.
func guardHeir(o facts.View, taker facts.Replica) string {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {
		return ""
	}
	if h := taker.Answer.Hash; h != nil && 2*countHashes(o)[*h] > len(o.Voters()) {
		return ""
	}
	return fmt.Sprintf("members hold different data, and %s is not known to hold what most of them hold.", taker.Name)
}

// countHashes counts the voters by what they say they hold; those that say nothing are under the zero value.
func countHashes(o facts.View) map[facts.Hash]int {
	counts := map[facts.Hash]int{}
	for _, r := range o.Members {
		switch {
		case r.Member == nil || r.Member.Learner:
		case r.Answer == nil || r.Answer.Hash == nil:
			counts[facts.Hash{}]++
		default:
			counts[*r.Answer.Hash]++
		}
	}
	return counts
}

// isAloneAgainst reports a hash that one voter has, against one of the same revisions that most voters have.
func isAloneAgainst(counts map[facts.Hash]int, own facts.Hash) bool {
	voters := 0
	for _, n := range counts {
		voters += n
	}
	for h, n := range counts {
		if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {
			return counts[own] == 1
		}
	}
	return false
}

// guardSeal calls no copy compared that may be another one than its peers', and leads no client to one that was not.
func guardSeal(o facts.View, s changes.Seal) string {
	r := o.Find(s.Pod.Name)
	switch {
	case s.Process == "" && s.Role != facts.RoleVoter:
		return "" // then it seals, and leads no client there
	case r.Pod == nil || r.Pod.UID != s.Pod.UID || r.Pod.Process != s.Process:
		return fmt.Sprintf("%s runs another process by now, or none.", s.Pod.Name)
	case !r.Pod.Flags.NeedData():
		return guardFirstSeal(r)
	case isOnlyVoter(o):
		return ""
	case mayDiffer(o, r) || !isOfMajority(o, r) && !r.Pod.HadStartTime(o.Now):
		return fmt.Sprintf("nothing shows that the copy of %s is that of a majority.", s.Pod.Name)
	}
	return ""
}

func isOnlyVoter(o facts.View) bool {
	return len(o.Voters()) == 1 && o.Membership.Known && len(o.Membership.VotingStrangers()) == 0
}

// mayDiffer reports a member that does not serve, or any beside copies that differ.
func mayDiffer(o facts.View, r facts.Replica) bool {
	return !r.IsHealthy(o.Membership) || saysThatCopiesDiffer(o) && !allHoldTheSame(o)
}

// isOfMajority reports a copy that most voters, and two at least, say they hold.
func isOfMajority(o facts.View, r facts.Replica) bool {
	if r.Answer.Hash == nil {
		return false
	}
	n := countHashes(o)[*r.Answer.Hash]
	return n > 1 && 2*n > len(o.Voters())
}

// guardFirstSeal takes the copy of a process for its peers' that began empty in its Pod.
func guardFirstSeal(r facts.Replica) string {
	if (r.Pod.Flags == facts.FlagsBootstrap || r.Pod.Flags == facts.FlagsJoin) && r.Pod.Exit == nil {
		return ""
	}
	return fmt.Sprintf("the process of %s may have started from data that was not compared.", r.Name)
}

// isNotHeardYet reports a member that serves, and of whose copy nothing is known but that it started with it.
func isNotHeardYet(o facts.View, r facts.Replica) bool {
	return r.IsVoter() && r.IsHealthy(o.Membership) && r.Pod.Uncompared && r.Answer.Hash == nil
}

// showDifference reports two hashes of the same revisions that are not the same.
func showDifference(counts map[facts.Hash]int) bool {
	for a := range counts {
		for b := range counts {
			if a.Sum != b.Sum && a.Revision == b.Revision && a.Compacted == b.Compacted {
				return true
			}
		}
	}
	return false
}

// saysThatCopiesDiffer is the plain fact: what members hold, an alarm, or a member's last words.
func saysThatCopiesDiffer(o facts.View) bool {
	if showDifference(countHashes(o)) {
		return true
	}
	for _, r := range o.Members {
		if r.Member == nil {
			continue
		}
		if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers &&
			(!p.Running || p.Uncompared) {
			return true
		}
		if r.Answer != nil && slices.ContainsFunc(r.Answer.Alarms,
			func(a facts.Alarm) bool { return a.Name == facts.AlarmCorrupt }) {
			return true
		}
	}
	return false
}

// allHoldTheSame reports that every voter told its hash, and all are one.
func allHoldTheSame(o facts.View) bool {
	sums := map[facts.Hash]bool{}
	for _, r := range o.Members {
		if r.Member == nil || r.Member.Learner {
			continue
		}
		if r.Answer == nil || r.Answer.Hash == nil {
			return false
		}
		sums[*r.Answer.Hash] = true
	}
	return len(sums) == 1
}

// guardDisarm takes back only what space that ran out had raised, and only where there is room.
func guardDisarm(o facts.View, c changes.DisarmAlarms) string {
	if len(c.Alarms) > 0 && c.Alarms[0].Name == facts.AlarmCorrupt {
		return guardDisarmCorrupt(o, c)
	}
	for _, a := range c.Alarms {
		if a.Name != facts.AlarmNoSpace || !slices.Contains(o.Raised(), a) {
			return fmt.Sprintf("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.HasRoom() {
		return "not every member is known to have room."
	}
	return ""
}

// guardDisarmCorrupt takes back what was raised for members that are gone, once every voter said that it holds the
// same.
func guardDisarmCorrupt(o facts.View, c changes.DisarmAlarms) string {
	for _, a := range c.Alarms {
		isListed := slices.ContainsFunc(o.Membership.Members, func(m etcdutil.Member) bool { return m.ID == a.Member })
		if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed || !o.Bootstrap.Origin.IsZero() {
			return fmt.Sprintf("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {
		return "not every voter is known to hold the same data."
	}
	return ""
}

const kindSecret = "Secret"

// guardTrust lets no CA be made in the place of one that members live by, and no certificate be issued from another one
// than they trust.
func guardTrust(o facts.View, c changes.Change) string {
	objects, issues := issuing(c)
	for _, ca := range o.Objects {
		isMade := slices.ContainsFunc(objects, func(made facts.Object) bool { return made.Name == ca.Name })
		switch {
		case !ca.CA:
		case isMade && isLivedBy(o, ca):
			return fmt.Sprintf("members trust the CA that was in Secret %s, and would trust no new one.", ca.Name)
		case issues && ca.State == facts.ObjectCurrent && ca.Trusted != "" && ca.Trusted != ca.Holds:
			return fmt.Sprintf("Secret %s holds another CA than the one that members trust.", ca.Name)
		}
	}
	return ""
}

// isLivedBy reports a CA that is gone, and that members, or clients of the data, trust.
func isLivedBy(o facts.View, ca facts.Object) bool {
	return ca.State == facts.ObjectAbsent && (ca.Trusted != "" || o.IsAlive() || o.HasSwitchedOver())
}

// issuing are the Secrets that a change writes beside those of members, and whether it issues any certificate.
func issuing(c changes.Change) (objects []facts.Object, issues bool) {
	var members []string
	switch c := c.(type) {
	case changes.ApplyObjects:
		objects, members = c.Objects, c.Secrets
	case changes.Bootstrap:
		objects, members = c.Objects, c.Secrets
	case changes.PrepareNext:
		members = c.Secrets
	case changes.PrepareMember:
		return nil, c.Secret
	default:
		return nil, false
	}
	objects = slices.DeleteFunc(slices.Clone(objects), func(object facts.Object) bool {
		return object.Kind != kindSecret
	})
	isLeaf := func(object facts.Object) bool { return !object.CA }
	return objects, len(members) > 0 || slices.ContainsFunc(objects, isLeaf)
}

// The guard's part about going back from a restored incarnation that never served.

// guardGoBack gives up an incarnation only where no client was led to it, on an approval of the evidence that there is.
func guardGoBack(o facts.View, c changes.GoBack) string {
	request, isApproved := o.ApprovedNow(c.Restore)
	last, members := o.Previous()
	switch {
	case c.From != o.Bootstrap.Incarnation || c.Incarnation != last.Incarnation ||
		last.Incarnation == "" || o.Bootstrap.Void ||
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
	if !o.IsGivenUp(after) || !r.HasVolume(ref) || r.Volume.Incarnation != o.Bootstrap.Incarnation ||
		r.Volume.Superseded != after {
		return fmt.Sprintf("the volume %s is not known to be of an incarnation that the cluster went back to.",
			ref.Name)
	}
	return guardSwitched(o, ref.Name)
}
