package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// replace removes a voter whose place a new member is to take, which growth then adds under a new name: with one of
// three down etcd accepts no addition before the removal. Data that is certainly gone goes first. A member that is only
// believed to be dead gets as long as the user allows; after an outage that counts from when the others became a quorum
// again, since what brought them back may bring this one.
func replace(o pass) *proposal {
	if o.Desired.Fault != "" {
		return replacementWaits(o, facts.ReasonSpecRefused, "the spec is put right")
	}
	if o.WhyNoCertificates() != "" {
		lost := o.LostCAs()
		return replacementWaits(o, facts.ReasonLost(lost), "the Secret "+lost[0].Name+
			" is put back: a new member would get no certificates")
	}
	if len(o.due.Replace) == 0 {
		return nil
	}
	r := slices.MinFunc(o.due.Replace, func(a, b Replacing) int { return cmp.Compare(a.rank(), b.rank()) })
	if r.NeverMade && !r.IsLost {
		return removeUnmade(o, r.Replica)
	}
	return replaceNow(o, r)
}

// removeUnmade removes a first member that never started, as its volume is not the one that the spec asks for any more.
// Its claim is not kept: nothing was ever on it.
func removeUnmade(o pass, r facts.Replica) *proposal {
	if p := learnerFirst(o, r, facts.ReasonRepair); p != nil {
		return p
	}
	return giveUp(replacement(o, r, facts.NoCause), facts.ReasonRepair, "it never started. Its volume was never "+
		"made, and the spec asks for another StorageClass or a smaller volume. A new member takes its place.")
}

// replacementWaits says that no member is removed while none can take its place: nothing says how many are wanted, or
// it could not start.
func replacementWaits(o pass, reason, until string) *proposal {
	for _, r := range o.due.Replace {
		if r.IsLost || r.IsOverdue || r.IsAsked {
			return wait(reason, "%s will be replaced (%s). That waits until %s.", r.Name, r.Judged.Says,
				until).byHuman().yielding()
		}
	}
	return nil
}

func replaceNow(o pass, r Replacing) *proposal {
	j, cause := r.Judged, r.Judged.Cause
	reason, because := facts.ReasonRepair, fmt.Sprintf("it lost its data (%s).", j.Says)
	switch {
	case r.IsLost:
	case r.IsOverdue:
		reason, because = facts.ReasonReplaceDead,
			fmt.Sprintf("it was not reached for %s (%s).", o.Now.Sub(j.Since).Round(time.Second), j.Says)
	default:
		cause = cmp.Or(cause, facts.CauseUnknown)
		reason, because = facts.ReasonReplaceDead,
			fmt.Sprintf("it does not serve (%s), and the annotation etcdsteward.dev/replace names it.", j.Says)
	}
	if p := learnerFirst(o, r.Replica, reason); p != nil {
		return p
	}
	if v := r.Volume; v != nil && !v.Terminating && v.RemovedFor != cause && isVolumeKept(o.Observation, cause) {
		return act(changes.MarkVolume{Volume: r.VolumeRef(), For: cause}, "the member will be replaced (%s).", j.Says)
	}
	return giveUp(replacement(o, r.Replica, cause), reason, "%s A new member takes its place.", because)
}

// giveUp removes a member that did not leave by the spec: it is counted, by why.
func giveUp(c changes.RemoveMember, why, because string, args ...any) *proposal {
	p := act(c, because, args...)
	p.GivenUp = why
	return p
}

// replacement removes a member for a new one: whether Kubernetes would admit that is tried first.
func replacement(o pass, r facts.Replica, cause facts.Cause) changes.RemoveMember {
	return changes.RemoveMember{Name: r.Name, ID: r.Member.ID, Successor: successor(o),
		Frees: !isVolumeKept(o.Observation, cause)}
}

// successor is the member that takes the place of one that is removed: the next one, or a learner that is there beyond
// those that the size asks for. It is none where the size asks for fewer, or where its Pod was admitted.
func successor(o pass) changes.NewVolume {
	next, voters, learners := o.due.Next, len(o.Voters()), o.Learners()
	next.Settings = o.due.Settings
	switch {
	case voters > o.Desired.Size:
		return changes.NewVolume{}
	case voters < o.Desired.Size || len(learners) == 0:
		return next
	case learners[0].Pod != nil:
		return changes.NewVolume{}
	}
	next.Name, next.Settings = learners[0].Name, startSettings(o, learners[0])
	return next
}

// Replacing is a voter whose place a new member is to take.
type Replacing struct {
	facts.Replica
	Judged    judge.Judgement
	IsLost    bool // its data is certainly gone
	NeverMade bool // it never started: see IsMadeForOther
	IsOverdue bool // it was dead for as long as the user allows
	IsAsked   bool // it does not serve, and a person asked for a new one
}

// rank is the order in which voters are replaced.
func (r Replacing) rank() int {
	switch {
	case r.IsLost:
		return 0
	case r.NeverMade:
		return 1
	}
	return 2
}

// toReplace are the voters whose place a new member is to take.
func toReplace(o judge.Judged) []Replacing {
	var out []Replacing
	for _, r := range o.Voters() {
		if o.IsFenced(r) {
			continue // its data is there, and a person has it
		}
		j, isAway := o.Judge(r), !r.IsHealthy(o.Membership)
		due := Replacing{Replica: r, Judged: j, IsLost: isAway && j.MustGo(), NeverMade: o.IsMadeForOther(r),
			IsOverdue: isAway && isOverdue(o, j), IsAsked: isAway && isAskedFor(o, r)}
		if due.IsLost || due.NeverMade || due.IsOverdue || due.IsAsked {
			out = append(out, due)
		}
	}
	return out
}

// isAskedFor reports a member that a person wants replaced, and that has not served for longer than a start takes: it
// can hand over nothing. One that serves is followed by a new one first: see succession.go.
func isAskedFor(o judge.Judged, r facts.Replica) bool {
	return r.IsUnwanted && r.Pod != nil && isSilentForLong(o.Observation, r)
}

// isOverdue reports a member that nothing says has lost its data, and that two witnesses have called dead for as long
// as the user allows. The table sees to the two: each of its rows with a time names them. The time is that of the row
// which fits now. A Pod that is evicted from a node which stopped answering keeps the node's time: see unheardSince.
func isOverdue(o judge.Judged, j judge.Judgement) bool {
	at := overdueAt(o, j)
	return !at.IsZero() && o.IsPast(at)
}

// overdueAt is when such a member will have been dead for that long; zero where it is not replaced for its silence.
func overdueAt(o judge.Judged, j judge.Judgement) time.Time {
	if j.Cure != judge.Replace || j.Certain || j.Since.IsZero() || o.Desired.ReplaceAfter == 0 {
		return time.Time{}
	}
	since := j.Since
	if quorum := quorumSince(o.Incarnation); quorum.After(since) {
		since = quorum
	}
	return since.Add(patience(o))
}

// untilReplaced says when a member that does not run is replaced, or that it is not and why, as a sentence with a space
// in front, or "".
func untilReplaced(o judge.Judged, r facts.Replica) string {
	j := o.Judge(r)
	switch asked := untilAsked(r); {
	case o.IsFenced(r) || !o.IsAlive():
		return ""
	case !o.Membership.Known && len(o.LastKnownVoters(o.IsLost)) == 1:
		return " It is the only member: etcd is down until it answers again."
	case !o.Membership.Known:
		return " The operator replaces no member before a quorum answers."
	case !r.IsVoter():
		return ""
	case asked != "":
		return asked
	case j.Cure == judge.Correct:
		return goBack(o, r) + unreplaced(r, "would")
	case j.Cure == judge.Await && j.State == judge.Stopped:
		return goBack(o, r) + unreplaced(r, "may")
	case j.Cure != judge.Replace || j.Certain || j.Since.IsZero():
		return ""
	case o.Desired.ReplaceAfter == 0:
		return fmt.Sprintf(" The operator does not replace %s, since spec.repair.replaceAfter is 0s: bring it back.",
			r.Name)
	}
	at := overdueAt(o, j)
	if o.IsPast(at) {
		return "" // the rule replace says what it waits for
	}
	if !o.Now.Before(at) {
		return fmt.Sprintf(" The API server's clock says that it is time to replace %[2]s, and the clock of the "+
			"operator's node is %[1]s behind. The operator replaces %[2]s once both say so: set the wrong one right.",
			o.Ahead, r.Name)
	}
	return fmt.Sprintf(" The operator replaces member %[1]s with a new one at %[2]s, if %[1]s is not back by then: "+
		"spec.repair.replaceAfter counts from %[3]s.", r.Name, at.UTC().Format(time.RFC3339),
		at.Add(-patience(o)).UTC().Format(time.RFC3339))
}

func unreplaced(r facts.Replica, would string) string {
	return fmt.Sprintf(" The operator does not replace %s meanwhile: a new member %s meet the same.", r.Name, would)
}

// goBack says what of the spec a member that does not run has unlike one that serves, as a sentence with a space in
// front, or "". One that was made from other settings gets those of the spec anyway.
func goBack(o judge.Judged, r facts.Replica) string {
	if o.Judge(r).Cause == facts.CauseSpace || r.RunsWith() != o.Desired.Settings {
		return ""
	}
	for _, other := range o.HealthyVoters() {
		if undo := r.RunsWith().Undo(other.RunsWith()); undo != "" {
			return fmt.Sprintf(" To go back to what %s serves with, %s.", other.Name, undo)
		}
	}
	return ""
}

// whileSilent says what becomes of a process that does not answer, as a sentence with a space behind, or "".
func whileSilent(r facts.Replica) string {
	if r.Answer != nil || r.Pod == nil || !r.Pod.Running {
		return ""
	}
	since := ""
	if !r.Pod.Ready && !r.Pod.ReadySince.IsZero() {
		since = "Its Pod has not been ready since " + facts.PodChange(r.Pod).UTC().Format(time.RFC3339) + ". "
	}
	return since + "Its etcd runs, and does not answer: if it hangs, Kubernetes restarts it after a few minutes. "
}

// untilAsked says the same of one that a person wants replaced, and that is silent.
func untilAsked(r facts.Replica) string {
	if !r.IsUnwanted || r.Answer != nil || r.Pod == nil || r.Pod.Ready {
		return ""
	}
	return fmt.Sprintf(" The annotation etcdsteward.dev/replace names it: the operator removes it once it has not "+
		"served for %s, and a new member takes its place.", facts.StartDeadline)
}

// quorumSince is when the healthy voters became enough for a quorum, by the readiness of their Pods; zero while they
// are not.
func quorumSince(o facts.Incarnation) time.Time {
	var ready []time.Time
	for _, r := range o.HealthyVoters() {
		ready = append(ready, facts.PodChange(r.Pod))
	}
	quorum := etcdutil.Quorum(len(o.Voters()))
	if len(ready) < quorum {
		return time.Time{}
	}
	slices.SortFunc(ready, time.Time.Compare)
	return ready[quorum-1]
}

// patience is how long a member may be dead, and what a process may need to read its database before it can answer.
func patience(o judge.Judged) time.Duration {
	const slowest = 32 << 20 // bytes per second
	return o.Desired.ReplaceAfter + time.Duration(largestDatabase(o.Incarnation)/slowest)*time.Second
}

// isVolumeKept reports whether the volume of a member that is removed for this cause is put aside. A copy that differs
// always is, and nothing is where there is no cause.
func isVolumeKept(o facts.Observation, c facts.Cause) bool {
	return c == facts.CauseCorruption || c != facts.NoCause && o.Desired.KeepVolumes > 0
}

// shrink removes one voter: it hands over leadership, loses its clients, then its vote.
func shrink(o pass) *proposal {
	r := o.due.Leave
	if r.Member == nil {
		return nil
	}
	if r.Member.ID == o.Membership.Leader {
		return handOver(o, r.Replica, o.HealthyVoters(), facts.ReasonMoveLeader, "will be removed")
	}
	if r.Pod != nil && r.Pod.Role == facts.RoleVoter && !r.Pod.Terminating {
		return act(changes.LabelRole{Pod: r.PodRef(), Role: facts.RoleLeaving}, "it will be removed, because %s.",
			r.Because)
	}
	removal := changes.RemoveMember{Name: r.Name, ID: r.Member.ID}
	if r.IsFirst {
		removal = replacement(o, r.Replica, removedFor(r.Replica))
	}
	return act(removal, "%s.", r.Because)
}

// removedFor is why the volume of a member is kept when it goes.
func removedFor(r facts.Replica) facts.Cause {
	if r.Volume == nil {
		return facts.NoCause
	}
	return r.Volume.RemovedFor
}

// handOver moves leadership away from a member that is about to stop, to one of these.
func handOver(o pass, r facts.Replica, others []facts.Replica, reason, why string) *proposal {
	taker := nextLeader(o, r.Name, others)
	if taker.Member == nil {
		return wait(reason, "%s leads and %s; no other voter is healthy enough to take over.", r.Name, why).
			due(o, o.LastPodChange(), facts.StartDeadline)
	}
	return act(changes.MoveLeader{From: r.Name, To: taker.Name, FromID: r.Member.ID, ToID: taker.Member.ID},
		"%s %s.", r.Name, why)
}

// nextLeader is the one with the most applied, other than the one that goes; rather one that need not be restarted
// soon.
func nextLeader(o pass, leaving string, others []facts.Replica) facts.Replica {
	candidates := facts.Filter(others, func(r facts.Replica) bool {
		return r.Name != leaving && r.Name != o.due.Succeeded.Name && !r.IsDoomed()
	})
	if len(candidates) == 0 {
		return facts.Replica{}
	}
	return slices.MinFunc(candidates, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(staleness(o.Observation, a), staleness(o.Observation, b)),
			cmp.Compare(b.Answer.Applied, a.Answer.Applied), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

func staleness(o facts.Observation, r facts.Replica) int {
	if r.Settings() != o.Desired.Settings {
		return 1
	}
	return 0
}

// grow makes the volume that promises the name, then adds the learner. Its Pod is the next pass's business. A member is
// added for a size that was raised, for one that was removed, and beside a voter that is doomed or to be succeeded.
func grow(o pass) *proposal {
	join := o.due.Join
	if join == nil {
		return nil
	}
	quorum := etcdutil.Quorum(len(o.Voters()) + 1)
	if sick := join.Sick; sick.Member != nil && len(o.HealthyVoters()) < quorum {
		return wait(facts.ReasonNotReady, "No member is added before %[1]s is healthy or replaced. A cluster of "+
			"%[2]d stops taking writes with fewer than %[3]d healthy voters, and there are %[4]d. %[6]skubectl "+
			"describe pod %[1]s -n %[5]s may say why.%[7]s", sick.Name, len(o.Voters())+1, quorum,
			len(o.HealthyVoters()), o.Cluster.Namespace, whileSilent(sick), join.SickUntil).
			due(o, facts.PodChange(sick.Pod), facts.StartDeadline).yielding()
	}
	promised := o.Find(o.due.Promised)
	if join.IsPrepared {
		return act(changes.AddLearner{Name: promised.Name, Transport: startSettings(o, promised).Transport}, "%s.",
			join.Because)
	}
	if len(o.LostCAs()) > 0 {
		return nil // no new member can be trusted: scaffold says so
	}
	isSigned := joinsWithCertificates(o.Judged)
	if isSigned && promised.Secret.IsAwaited() {
		return nil // signing says for what
	}
	return act(changes.PrepareMember{Volume: o.due.Next, Secret: isSigned},
		"%s. What a new member needs is made first.", join.Because)
}
