package guard

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
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

// saysThatCopiesDiffer is the plain fact: an alarm, or a member's last words.
func saysThatCopiesDiffer(o facts.View) bool {
	for _, r := range o.Members {
		if r.Member == nil {
			continue
		}
		if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers &&
			(!p.Running || p.Flags == facts.FlagsUncompared) {
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
		if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {
			return fmt.Sprintf("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {
		return "not every voter is known to hold the same data."
	}
	return ""
}
