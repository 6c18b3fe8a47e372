package changes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// DisarmAlarms takes back alarms that etcd raised.
type DisarmAlarms struct{ Alarms []facts.Alarm }

func (DisarmAlarms) traits() Traits { return Traits{} }

func (c DisarmAlarms) words() Words {
	return says("Disarm", "disarms", "Disarmed", "alarm "+c.Alarms[0].Name, EventDisarmed)
}

// veto takes back only what space that ran out had raised, and only where there is room.
func (c DisarmAlarms) veto(o facts.View) Veto {
	if len(c.Alarms) > 0 && c.Alarms[0].Name == facts.AlarmCorrupt {
		return guardDisarmCorrupt(o, c)
	}
	for _, a := range c.Alarms {
		if a.Name != facts.AlarmNoSpace || !slices.Contains(o.Raised(), a) {
			return dataAtRisk("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.HasRoom() {
		return dataAtRisk("not every member is known to have room.")
	}
	return Veto{}
}

// guardDisarmCorrupt takes back what no backup brought along, once every voter said that all hold the same.
func guardDisarmCorrupt(o facts.View, c DisarmAlarms) Veto {
	for _, a := range c.Alarms {
		if !o.IsAnswered(a) {
			return dataAtRisk("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {
		return dataAtRisk("not every voter is known to hold the same data.")
	}
	if len(o.FilledLearners()) > 0 {
		return dataAtRisk("a learner may have copied from the wrong copy, and nothing tells what it holds.")
	}
	return Veto{}
}

// AppendEntries adds entries to raft's log that change no key, until the leader has applied this many, or one where
// that is zero. So etcd writes a snapshot of what was applied before sooner, and a member that got one serves.
type AppendEntries struct{ Until uint64 }

func (AppendEntries) traits() Traits {
	return Traits{Unconfirmed: "an entry changes no key and no revision, and the member's process goes on"}
}

func (AppendEntries) words() Words {
	return says("Add", "adds", "Added", "entries that change no key to etcd's log", EventEntriesAdded)
}

// veto adds more than one entry only while all voters take them: one that lags would fall behind further.
func (c AppendEntries) veto(o facts.View) Veto {
	isOne := c.Until == 0
	if !o.Membership.Known || !isOne && len(o.HealthyVoters()) < len(o.Voters()) {
		return quorumAtRisk("entries are added to raft's log only while every voter answers.")
	}
	return Veto{}
}

// Compact takes away the history of keys up to a revision.
type Compact struct{ Revision int64 }

func (Compact) traits() Traits { return Traits{} }

func (c Compact) words() Words {
	return says("Compact", "compacts", "Compacted", fmt.Sprintf("the history of keys up to revision %d", c.Revision),
		EventCompacted)
}

// veto takes away no more than the spec allows, and only where space ran out: history is what watchers go by.
func (c Compact) veto(o facts.View) Veto {
	raised := o.Raised()
	isOther := func(a facts.Alarm) bool { return a.Name != facts.AlarmNoSpace }
	switch {
	case !o.Membership.Known:
		return quorumAtRisk("the member list is not known.")
	case len(raised) == 0 || slices.ContainsFunc(raised, isOther):
		return dataAtRisk("space has not run out, or it is not all that is wrong.")
	case !o.Desired.Upkeep.Compacts:
		return dataAtRisk("spec.maintenance.compactOnNoSpace is false.")
	case c.Revision <= 0 || c.Revision > o.History.Reached:
		return dataAtRisk("revision %d is not known to be older than %s.", c.Revision, o.Desired.Upkeep.KeepHistory)
	}
	return Veto{}
}

// StartDefrag creates the Pod of the agent that has one member defragmented, which silences it for up to the deadline.
type StartDefrag struct {
	Name     string
	ID       etcdutil.ID
	Deadline time.Duration
	Until    int64 // bytes: the agent leaves a smaller file as it is
}

func (StartDefrag) traits() Traits { return Traits{} }

func (c StartDefrag) words() Words {
	return says("Defragment", "defragments", "Began to defragment", "member "+c.Name, EventDefragment).about(c.Name)
}

// veto silences a member only while all others are voters that serve, and no other one is silent for the same.
func (c StartDefrag) veto(o facts.View) Veto {
	r := o.Find(c.Name)
	busy, isBusy := o.Busy()
	switch {
	case !o.Membership.Known || !r.IsVoter() || r.Member.ID != c.ID:
		return identityAtRisk("it is not certain that %s is member %s.", c.Name, c.ID)
	case isBusy || r.Defragmenting != nil:
		return quorumAtRisk("the Pod that defragments %s is there.", cmp.Or(busy.Name, r.Name))
	case len(o.HealthyVoters()) < len(o.Membership.Members):
		return quorumAtRisk("a member answers nothing meanwhile, and not every other one is a voter that serves.")
	case len(o.Voters()) > 1 && c.ID == o.Membership.Leader:
		return quorumAtRisk("%s leads; it must hand over first.", c.Name)
	case guardCopies(o, c.Name).Holds():
		return guardCopies(o, c.Name)
	case !r.HasRoomForCopy():
		return dataAtRisk("the volume of %s has no room for a second copy of what is in use.", c.Name)
	case o.Streaming != "":
		return quorumAtRisk("Pod %s reads a backup, and may hold the member up until that has ended.", o.Streaming)
	}
	return Veto{}
}

// DeleteDefrag deletes such a Pod. It is the record of when its member was defragmented.
type DeleteDefrag struct{ Name, UID string }

func (DeleteDefrag) traits() Traits { return Traits{} }

func (c DeleteDefrag) words() Words {
	return says("Delete", "deletes", "Deleted", "the Pod that defragmented "+c.Name, EventPodDeleted).about(c.Name)
}

// veto keeps a Pod that is at work: nothing else says why its member is silent.
func (c DeleteDefrag) veto(o facts.View) Veto {
	r := o.Find(c.Name)
	switch p := r.Defragmenting; {
	case p == nil || p.UID != c.UID:
		return identityAtRisk("the Pod that defragmented %s is another one by now.", c.Name)
	case r.IsBusy(o.Now) || !p.HasEnded(o.Now) && !o.Now.After(p.Ends()):
		return quorumAtRisk("%s is defragmented, and only this Pod says so.", c.Name)
	}
	return Veto{}
}

// guardBusy leaves a member alone that may be silent only because it is defragmented.
func guardBusy(o facts.View, r facts.Replica) Veto {
	if r.IsBusy(o.Now) {
		return quorumAtRisk("%s is defragmented, and answers once that is done.", r.Name)
	}
	return Veto{}
}

// EnableDowngrade has etcd lower the cluster version, and let members of this minor take the place of the others.
type EnableDowngrade struct{ Minor etcdutil.Version }

func (EnableDowngrade) traits() Traits { return Traits{} }

func (c EnableDowngrade) words() Words {
	return says("Enable", "enables", "Enabled", "a downgrade of etcd to "+c.Minor.MinorString(), EventDowngrade)
}

// veto lets a downgrade begin only from one minor to the next lower one, while every member serves: from then
// on no new one can join.
func (c EnableDowngrade) veto(o facts.View) Veto {
	if !o.Membership.Known || len(o.Membership.Members) > len(o.HealthyVoters()) {
		return quorumAtRisk("no member can join during a downgrade, and not every member is a voter that serves.")
	}
	for _, r := range o.Voters() {
		runs, cluster := r.Answer.Version, r.Answer.Versions.Cluster
		if !cluster.SameMinor(runs) || runs.Major != c.Minor.Major || runs.Minor != c.Minor.Minor+1 {
			return dataAtRisk("%s runs %s in a cluster of version %s, and %s is not one minor below.", r.Name, runs,
				cluster.MinorString(), c.Minor.MinorString())
		}
	}
	return Veto{}
}

// CancelDowngrade ends that. While one is enabled, etcd lets no new member join.
type CancelDowngrade struct{ Minor etcdutil.Version }

func (CancelDowngrade) traits() Traits { return Traits{} }

func (c CancelDowngrade) words() Words {
	return says("Cancel", "cancels", "Cancelled", "the downgrade of etcd to "+c.Minor.MinorString(), EventDowngrade)
}

// veto asks for no more than that etcd can agree on it. What runs goes on, and etcd raises the cluster version
// only once every member runs the higher minor.
func (CancelDowngrade) veto(o facts.View) Veto {
	if !o.Membership.Known {
		return quorumAtRisk("the member list is not known.")
	}
	return Veto{}
}

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
