package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Copies of the data that differ. A member that starts compares its copy with those of its peers, and stops when any one of them
// differs: so a good member beside a corrupt one says the same as a corrupt one beside good ones, and an alarm may name the wrong
// member. Only the hashes of all voters at one revision show whose copy is right.

// Hash is what a member's keys add up to. Two can be compared when they are of the same revision, compacted at the same one.
type Hash struct {
	Sum                 uint32
	Revision, Compacted int64
}

// comparesWith reports whether two hashes speak of the same revisions.
func (h Hash) comparesWith(other Hash) bool {
	return h.Revision == other.Revision && h.Compacted == other.Compacted
}

// AsksForHashes reports that somewhere it is said that copies differ, so that every voter has to be asked for its hash. To compute
// one stops the writes of that member for a moment, so no one is asked without need.
func (o Incarnation) AsksForHashes() bool {
	if !o.Membership.Known {
		return false
	}
	saysSo := func(r Replica) bool { return r.Member != nil && r.saidCopiesDiffer() }
	return len(filterAlarms(o.raised(), AlarmCorrupt)) > 0 || slices.ContainsFunc(o.Members, saysSo)
}

// saidCopiesDiffer reports a member that stopped for that, and has not been sealed again since.
func (r Replica) saidCopiesDiffer() bool {
	if r.Pod == nil || r.Pod.Exit == nil || r.Pod.Exit.Reason != etcdutil.ExitDataDiffers {
		return false
	}
	return !r.Pod.Running || r.Pod.Flags == FlagsUncompared
}

// inDoubt reports that copies are said to differ, and that nothing shows that they do not.
func (o Incarnation) inDoubt() bool { return o.AsksForHashes() && !o.haveEqualCopies() }

// haveEqualCopies reports that every voter was asked for its hash, and all are the same.
func (o Incarnation) haveEqualCopies() bool {
	voters := o.Voters()
	return len(voters) > 0 && !slices.ContainsFunc(voters, func(r Replica) bool {
		return r.Answer == nil || r.Answer.Hash == nil || voters[0].Answer == nil || voters[0].Answer.Hash == nil || *r.Answer.Hash != *voters[0].Answer.Hash
	})
}

// sameCopies are the voters with this very hash.
func (o Incarnation) sameCopies(h Hash) []Replica {
	return filter(o.Voters(), func(r Replica) bool { return r.Answer != nil && r.Answer.Hash != nil && *r.Answer.Hash == h })
}

// standsAlone reports a voter whose copy no other voter has, while a majority of all voters has the same other one.
func (o Incarnation) standsAlone(r Replica) bool {
	if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil || len(o.sameCopies(*r.Answer.Hash)) != 1 {
		return false
	}
	return slices.ContainsFunc(o.Voters(), func(other Replica) bool {
		return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash) && o.hasMajority(*other.Answer.Hash)
	})
}

func (o Incarnation) hasMajority(h Hash) bool {
	return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))
}

// majorityHolders are the healthy voters that hold what a majority holds.
func (o Incarnation) majorityHolders() []Replica {
	return filter(o.HealthyVoters(), func(r Replica) bool { return r.Answer.Hash != nil && o.hasMajority(*r.Answer.Hash) })
}

// hearCopy lets members that stopped because copies differ start once without comparing: a process that does not run cannot be asked
// for its hash. Clients are not led to them meanwhile.
func hearCopy(o view) *proposal {
	var seals []Seal
	for _, r := range o.Members {
		isStopped := r.hasNoProcess() && r.saidCopiesDiffer() && r.Pod.Flags == FlagsSealed
		if isStopped && r.IsRecorded() && o.mayRestart(r) {
			seals = append(seals, Seal{Pod: r.podRef(), Flags: FlagsUncompared})
		}
	}
	if len(seals) == 0 {
		return nil
	}
	return act(SealPods{Pods: seals}, ReasonCorruption, "%s stopped because its copy of the data differs from another member's. It starts without comparing, so that its hash is heard; "+
		"clients are led elsewhere meanwhile.", sealNames(seals))
}

// corruption holds every change of members back while copies are in doubt. A copy that stands alone against a majority is the corrupt
// one: its member hands over, loses its clients and is removed, and its volume is kept. In every other case a person is asked.
func corruption(o view) *proposal {
	if !o.inDoubt() {
		return nil
	}
	for _, r := range o.Voters() {
		if o.standsAlone(r) {
			return o.removeCorrupt(r)
		}
	}
	for _, r := range o.Members {
		if r.Member != nil && r.isUnheard() && r.saidCopiesDiffer() {
			return wait(ReasonCorruption, "Members hold different data. %s starts, to be asked for the hash of its copy; nothing is restarted or removed meanwhile.", r.Name).
				due(o, r.Pod.Exit.At, startDeadline)
		}
	}
	p := refuse(ReasonCorruption, "Members hold different data, and no single copy stands against those of a majority: %s. The operator restarts and removes no member. "+
		"Decide whose data is right, as docs/failures.md says, or restore a backup.", o.hashes()).byHuman()
	p.Recheck = recheckHashes
	return p
}

// removeCorrupt removes the member of a copy that stands alone: as any voter that goes, after it has handed over and lost its clients.
func (o view) removeCorrupt(r Replica) *proposal {
	switch {
	case r.Member.ID == o.Membership.Leader:
		return o.handOver(r, o.majorityHolders(), ReasonCorruption, "holds data that differs from that of a majority")
	case r.isUp() && r.Pod.Role != "":
		return act(LabelRole{Pod: r.podRef()}, ReasonCorruption, "%s holds data that differs from that of a majority (%s); clients are led elsewhere.", r.Name, o.hashes())
	case r.Volume != nil && r.Volume.RemovedFor == NoCause:
		return act(MarkVolume{Volume: r.volumeRef(), For: CauseCorruption}, ReasonCorruption, "%s will be removed; its volume is marked, to be kept for a person to look at.", r.Name)
	}
	return act(RemoveMember{Name: r.Name, ID: r.Member.ID}, ReasonCorruption, "%s holds data that differs from that of a majority: %s. It is removed, and a new member takes its place.",
		r.Name, o.hashes())
}

// hashes tells every voter's hash.
func (o Incarnation) hashes() string {
	var says []string
	for _, r := range o.Voters() {
		if r.Answer == nil || r.Answer.Hash == nil {
			says = append(says, r.Name+" unknown")
			continue
		}
		says = append(says, fmt.Sprintf("%s %08x at revision %d", r.Name, r.Answer.Hash.Sum, r.Answer.Hash.Revision))
	}
	return strings.Join(says, ", ")
}

// guardCopies lets nothing happen to a copy of the data while copies are said to differ, but to one that stands alone. It counts for
// itself: what a rule concludes of the hashes is not asked.
func guardCopies(o view, name string) string {
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
func guardHeir(o view, taker Replica) string {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {
		return ""
	}
	if h := taker.Answer.Hash; h != nil && 2*countHashes(o)[*h] > len(o.Voters()) {
		return ""
	}
	return fmt.Sprintf("members hold different data, and %s is not known to hold what most of them hold.", taker.Name)
}

// countHashes counts the voters by what they say they hold; those that say nothing are under the zero value.
func countHashes(o view) map[Hash]int {
	counts := map[Hash]int{}
	for _, r := range o.Members {
		switch {
		case r.Member == nil || r.Member.Learner:
		case r.Answer == nil || r.Answer.Hash == nil:
			counts[Hash{}]++
		default:
			counts[*r.Answer.Hash]++
		}
	}
	return counts
}

// isAloneAgainst reports a hash that one voter has, against one of the same revisions that most voters have.
func isAloneAgainst(counts map[Hash]int, own Hash) bool {
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
func saysThatCopiesDiffer(o view) bool {
	for _, r := range o.Members {
		if r.Member == nil {
			continue
		}
		if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers && (!p.Running || p.Flags == FlagsUncompared) {
			return true
		}
		if r.Answer != nil && slices.ContainsFunc(r.Answer.Alarms, func(a Alarm) bool { return a.Name == AlarmCorrupt }) {
			return true
		}
	}
	return false
}

// allHoldTheSame reports that every voter told its hash, and all are one.
func allHoldTheSame(o view) bool {
	sums := map[Hash]bool{}
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
