package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// AsksForHashes reports that every voter has to be asked for its hash: somewhere it is said that copies differ, a
// process started from data that was not compared since, or a learner votes next. To compute a hash stops the writes of
// that member for a moment, so no one is asked without need.
func AsksForHashes(o facts.Observation) bool {
	return o.Current.Membership.Known && (areSaidToDiffer(o.Current) || awaitsHashes(o))
}

// areSaidToDiffer reports an alarm, or a member that stopped for that.
func areSaidToDiffer(o facts.Incarnation) bool {
	saysSo := func(r facts.Replica) bool { return r.Member != nil && saidCopiesDiffer(r) }
	return isRaisedCorrupt(o) || slices.ContainsFunc(o.Members, saysSo)
}

func isRaisedCorrupt(o facts.Incarnation) bool {
	return len(filterAlarms(o.Raised(), facts.AlarmCorrupt)) > 0
}

// saidCopiesDiffer reports a member that stopped for that, and whose copy was not compared since.
func saidCopiesDiffer(r facts.Replica) bool {
	if r.Pod == nil || r.Pod.Exit == nil || r.Pod.Exit.Reason != etcdutil.ExitDataDiffers {
		return false
	}
	return !r.Pod.Running || r.Pod.Uncompared
}

// inDoubt reports that copies differ, or are said to while nothing shows that they do not.
func inDoubt(o facts.Incarnation) bool {
	return o.Membership.Known && (o.CopiesDiffer() || areSaidToDiffer(o) && !haveEqualCopies(o))
}

// haveEqualCopies reports that every voter was asked for its hash, and all are the same.
func haveEqualCopies(o facts.Incarnation) bool {
	voters := o.Voters()
	return len(voters) > 0 && !slices.ContainsFunc(voters, func(r facts.Replica) bool {
		return r.Answer == nil || r.Answer.Hash == nil || voters[0].Answer == nil || voters[0].Answer.Hash == nil ||
			*r.Answer.Hash != *voters[0].Answer.Hash
	})
}

// majorityHolders are the healthy voters that hold what a majority holds.
func majorityHolders(o facts.Incarnation) []facts.Replica {
	return facts.Filter(o.HealthyVoters(), func(r facts.Replica) bool {
		return r.Answer.Hash != nil &&
			o.HasMajority(*r.Answer.Hash)
	})
}

// hearCopy lets members of an earlier release that stopped because copies differ start without comparing: a process
// that does not run cannot be asked for its hash. Clients are not led to them meanwhile. One that never answered has no
// record yet, and its kubelet starts it anyway: with these flags it starts only from the data that it stopped on.
func hearCopy(o pass) *proposal {
	var seals []changes.Seal
	for _, r := range o.Members {
		isStopped := r.HasNoProcess() && saidCopiesDiffer(r) && r.Pod.Flags != facts.FlagsSealed
		mayStart := r.IsRecorded() && o.MayRestart(r) || !r.IsRecorded() && r.Member != nil
		if isStopped && mayStart {
			seals = append(seals, changes.Seal{Pod: r.PodRef(), LeadAway: true})
		}
	}
	if len(seals) == 0 {
		return nil
	}
	return act(changes.SealPods{Pods: seals}, "etcd stopped because its copy of the data differs from another "+
		"member's. It starts without comparing, so that its hash is heard. Clients are led elsewhere meanwhile.")
}

// corruption holds every change of members back while copies are in doubt. A copy that stands alone against a majority
// is the corrupt one: its member hands over, loses its clients and is removed, and its volume is kept. In every other
// case a person is asked.
func corruption(o pass) *proposal {
	if !inDoubt(o.Incarnation) {
		return comparing(o)
	}
	for _, r := range o.Voters() {
		if o.StandsAlone(r) {
			return removeCorrupt(o, r)
		}
	}
	for _, r := range o.Members {
		if isAwaited(o, r) {
			return wait(facts.ReasonCorruption, "Members hold different data. %s starts, to be asked for the hash of "+
				"its copy; nothing is restarted or removed meanwhile.", r.Name).
				due(o, awaitedSince(r), facts.StartDeadline)
		}
	}
	p := refuse(facts.ReasonCorruption, "%s, so the operator cannot tell whose data is right: it neither restarts nor "+
		"removes a member. Leave them as they are. Hashes of the data: %s. Stop all clients: each member answers them "+
		"differently, and a restore loses what they write now. Save the data of each member, as here of %s: %s %s",
		howCopiesDiffer(o.Incarnation), hashes(o.Incarnation), o.Voters()[0].Name, saveData(o, o.Voters()[0].Name),
		outOfDoubt(o)).byHuman()
	p.Recheck = recheckHashes
	return p
}

// saveData is the command that writes what a member holds to a file on the reader's machine, with a full stop.
func saveData(o pass, member string) string {
	return fmt.Sprintf("kubectl etcd-steward ctl %s -n %s --member %s -- snapshot save %[3]s.db.", o.Cluster.Name,
		o.Cluster.Namespace, member)
}

// outOfDoubt is what a person does about copies of which none is known to be right. A backup comes first where one is
// known.
func outOfDoubt(o pass) string {
	command := fmt.Sprintf("kubectl etcd-steward restore %s -n %s", o.Cluster.Name, o.Cluster.Namespace)
	restore := fmt.Sprintf("%[1]s lists backups. %[1]s --from BACKUP makes an EtcdRestore, which says what is lost "+
		"and waits for your approval.", command)
	byHand := "decide whose data is right, and make a backup of that to restore: " +
		pages.Docs + "docs/disaster-recovery.md#bring-the-data-back."
	if o.Proven == nil {
		return fmt.Sprintf("No backup of this cluster is known to be restored and compared. If a store has one from "+
			"before they differed, restore that: %s If none has, %s", restore, byHand)
	}
	return fmt.Sprintf("Restore a backup from before they differed: %s The newest that was restored and compared is "+
		"of %s, at revision %d. Without such a backup, %s", restore, o.Proven.Time.UTC().Format(time.RFC3339),
		o.Proven.Revision, byHand)
}

// isAwaited reports a member that starts, and will show which of the others' copies is the right one.
func isAwaited(o pass, r facts.Replica) bool {
	if r.Member == nil || r.Pod == nil || !judge.IsUnheard(r) {
		return false
	}
	return saidCopiesDiffer(r) || r.IsVoter() && isStarting(o, r)
}

// awaitedSince is when its container stopped last, or when its Pod came.
func awaitedSince(r facts.Replica) time.Time {
	if r.Pod.Exit != nil {
		return r.Pod.Exit.At
	}
	return r.Pod.Created
}

// removeCorrupt removes the member of a copy that stands alone: as any voter that goes, after it has handed over and
// lost its clients.
func removeCorrupt(o pass, r facts.Replica) *proposal {
	switch {
	case r.Member.ID == o.Membership.Leader:
		return handOver(o, r, majorityHolders(o.Incarnation), facts.ReasonCorruption,
			"holds data that differs from that of a majority")
	case r.IsUp() && r.Pod.Role == facts.RoleVoter:
		return act(changes.LabelRole{Pod: r.PodRef()},
			"its data differs from that of a majority (%s).", hashes(o.Incarnation))
	case r.Volume != nil && r.Volume.RemovedFor != facts.CauseCorruption:
		return act(changes.MarkVolume{Volume: r.VolumeRef(), For: facts.CauseCorruption},
			"the member will be removed, and a person may look at its data.")
	}
	if p := startersFirst(o, r); p != nil {
		return p
	}
	return act(changes.RemoveMember{Name: r.Name, ID: r.Member.ID},
		"its data differs from that of a majority (%s). A new member takes its place.", hashes(o.Incarnation))
}

// startersFirst lets another voter start before the member goes, or two would be away at once. Not for longer than a
// start takes: CORRUPT may stand, and keep clients from writing.
func startersFirst(o pass, leaving facts.Replica) *proposal {
	for _, r := range o.Voters() {
		if r.Name != leaving.Name && judge.IsUnheard(r) && isStarting(o, r) {
			return wait(facts.ReasonCorruption, "%s holds data that differs from that of a majority (%s). It is "+
				"removed once %s has started, or has had %s to start.", leaving.Name, hashes(o.Incarnation), r.Name,
				facts.StartDeadline)
		}
	}
	return nil
}

// howCopiesDiffer says whether every two copies differ, or some.
func howCopiesDiffer(o facts.Incarnation) string {
	seen := map[uint32]bool{}
	for _, r := range o.Voters() {
		if r.Answer == nil || r.Answer.Hash == nil || seen[r.Answer.Hash.Sum] {
			return "Members hold different data, and no single copy stands against a majority of equal ones"
		}
		seen[r.Answer.Hash.Sum] = true
	}
	return fmt.Sprintf("The data of all %d members differ", len(seen))
}

// hashes tells every voter's hash.
func hashes(o facts.Incarnation) string {
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

// Each process that starts from data is compared once with the other members. Etcd does not do that: members that start
// together would wait for each other, and what was compacted meanwhile it passes over. See docs/decisions/0031.

// compare leads clients to a member that started from its data, once a majority is heard to hold the same copy. What
// cannot be compared in the time of a start serves as it is: a cluster whose copies take too long to read must serve.
func compare(o pass) *proposal {
	if inDoubt(o.Incarnation) {
		return nil // while one of them is not called compared, all are asked again: see corruption
	}
	var same, unheard []changes.Seal
	for _, r := range o.Voters() {
		switch {
		case !o.IsToBeCompared(r):
		case isAloneOrSame(o.Incarnation, r):
			same = append(same, comparedSeal(o, r))
		case isUnheardOf(o, r):
			unheard = append(unheard, comparedSeal(o, r))
		}
	}
	switch {
	case len(same) > 0:
		return act(changes.SealPods{Pods: same},
			"etcd started from the same data as a majority of the members. Clients are led there.")
	case len(unheard) > 0:
		return act(changes.SealPods{Pods: unheard}, "the data could not be compared within %s: %s. Clients are "+
			"led there all the same.", facts.StartDeadline, hashes(o.Incarnation))
	}
	return nil
}

// isAloneOrSame reports a member without any other, or with a copy that a majority has.
func isAloneOrSame(o facts.Incarnation, r facts.Replica) bool {
	isAlone := len(o.Voters()) == 1 && len(o.Membership.VotingStrangers()) == 0
	return isAlone || r.Answer.Hash != nil && o.HasMajority(*r.Answer.Hash)
}

// isCopiedFromMajority reports a learner that copied what a majority holds. A leader whose copy is wrong hands it on,
// and both could be the majority. What cannot be compared in the time of a start counts.
func isCopiedFromMajority(o pass, learner facts.Replica) bool {
	leader := o.Leader()
	return leader.Answer != nil && isAloneOrSame(o.Incarnation, leader) || learner.Pod.WasReadyLong(o.Now)
}

// compareFirst keeps a learner from its vote until then.
func compareFirst(learner facts.Replica) *proposal {
	p := wait(facts.ReasonCompare, "The new member %s has copied the leader's data. It votes once the leader's copy "+
		"is compared with those of the other voters.", learner.Name).yielding()
	p.Recheck = recheckSlow
	return p
}

// isUnheardOf reports a process that had the time of a start, and of which nothing shows whether its copy is the right
// one.
func isUnheardOf(o pass, r facts.Replica) bool {
	return r.Pod.HadStartTime(o.Now) && !isToLeaveUncompared(o.Incarnation, r)
}

func comparedSeal(o pass, r facts.Replica) changes.Seal {
	s := changes.Seal{Pod: r.PodRef(), Process: r.Pod.Process}
	if !servesNothing(r) && !isToLoseClients(o, r) {
		s.Role = facts.RoleVoter
	}
	return s
}

// comparing holds changes of members back while one of them is asked for its hash.
func comparing(o pass) *proposal {
	for _, r := range o.Voters() {
		if o.IsToBeCompared(r) {
			p := wait(facts.ReasonCompare, "%s started. Its copy of the data is compared with the others'; no member "+
				"is added, removed or restarted meanwhile.%s", r.Name, whyNoHash(r))
			p.Recheck = recheckSlow
			return p
		}
	}
	return nil
}

// whyNoHash tells, as a part of a message, that a member was asked in vain.
func whyNoHash(r facts.Replica) string {
	if r.Answer.Hash != nil {
		return ""
	}
	return fmt.Sprintf(" %s did not say its hash yet.", r.Name)
}

// awaitsHashes reports a process whose copy has to be compared now, or a learner that votes next. Clients are led away
// from a process first, where they can be. A cluster that is only looked at is asked nothing.
func awaitsHashes(o facts.Observation) bool {
	if o.Desired.Paused || o.Desired.Deleting || o.IsAnothers() || len(o.Current.Voters()) < 2 {
		return false
	}
	return slices.ContainsFunc(o.Current.Members, func(r facts.Replica) bool {
		return o.Current.IsToBeCompared(r) && !isToLeaveUncompared(o.Current, r) ||
			r.IsLearner() && mayVote(o.Current, r)
	})
}

// isUncompared reports a voter whose process, or the next one, starts from data that was not compared since.
func isUncompared(r facts.Replica) bool { return r.IsVoter() && r.IsUp() && r.Pod.Uncompared }

// isToLeaveUncompared reports such a voter that clients are led to beside a quorum of others.
func isToLeaveUncompared(o facts.Incarnation, r facts.Replica) bool {
	return isUncompared(r) && r.Pod.Role == facts.RoleVoter && o.HasQuorum() && isQuorumLedTo(o)
}
