package changes

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// guardCopies lets nothing happen to a copy of the data while copies are said to differ, but to one that stands alone.
// It counts for itself: what a rule concludes of the hashes is not asked.
func guardCopies(o facts.View, name string) Veto {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {
		return Veto{}
	}
	target := o.Find(name).Answer
	if target != nil && target.Hash != nil && isAloneAgainst(countHashes(o), *target.Hash) {
		return Veto{}
	}
	return dataAtRisk("members hold different data, and nothing shows that the copy of %s is the wrong one.", name)
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

func isOnlyVoter(o facts.View) bool {
	return len(o.Voters()) == 1 && o.Membership.Known && len(o.Membership.VotingStrangers()) == 0
}
