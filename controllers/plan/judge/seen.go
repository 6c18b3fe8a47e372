package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What the rows of the table ask of a member. Only two are asked elsewhere too: IsUnheard by the rule corruption, and
// SaidItsDataIsGone by the guard.

// Reasons of an exit, by what a new member in the place of this one would meet.
var (
	differs = []etcdutil.ExitReason{etcdutil.ExitDataDiffers}
	failing = []etcdutil.ExitReason{etcdutil.ExitDiskFailing}
	full    = []etcdutil.ExitReason{etcdutil.ExitDiskFull}
	misset  = []etcdutil.ExitReason{etcdutil.ExitBadFlag, etcdutil.ExitVersionTooLow, etcdutil.ExitVersionSkipped,
		etcdutil.ExitPermission, etcdutil.ExitTLS, etcdutil.ExitAddress}
)

// answersAsAnotherCluster needs a second witness that this is another cluster: members that answer as the one that was
// bootstrapped, or the record on the volume. Where bootstrap record and volume differ, no one knows which of them is
// wrong, and no data is called lost for it.
func answersAsAnotherCluster(o Judged, r facts.Replica) bool {
	bootstrapped := o.Bootstrap.ClusterID
	if r.Answer == nil || bootstrapped == 0 || r.Answer.ClusterID == bootstrapped {
		return false
	}
	return o.Membership.Known && o.Membership.ClusterID == bootstrapped || r.Record().ClusterID == bootstrapped
}

func otherCluster(_ Judged, r facts.Replica) string {
	return fmt.Sprintf("its directory holds the data of cluster %s", r.Answer.ClusterID)
}

// isDisplaced reports an address without certificates at which another etcd answers, while the kubelet calls the Pod
// ready. Once the kubelet does not, the member is one that does not answer.
func isDisplaced(_ Judged, r facts.Replica) bool {
	return r.Impostor != nil && r.Pod != nil && r.Pod.Ready
}

func answersAsAnotherMember(_ Judged, r facts.Replica) bool {
	return r.Answer != nil && r.Member != nil && r.Answer.ID != r.Member.ID
}

func stoppedWith(reasons ...etcdutil.ExitReason) func(Judged, facts.Replica) bool {
	return func(_ Judged, r facts.Replica) bool {
		return r.Pod != nil && !r.Pod.Running && r.Pod.Exit != nil && slices.Contains(reasons, r.Pod.Exit.Reason)
	}
}

// isNewInMemory reports a learner that never ran: its data, and its Pod, are yet to come.
func isNewInMemory(_ Judged, r facts.Replica) bool {
	return r.Ephemeral && r.Pod == nil && r.IsLearner() && !r.Member.Started()
}

func hasLostPod(_ Judged, r facts.Replica) bool {
	return r.Ephemeral && (r.Pod == nil || r.Pod.HasEnded())
}

func hasLostNode(_ Judged, r facts.Replica) bool {
	return r.Ephemeral && r.Answer == nil && r.Pod.NodeGone != ""
}

func lostNode(_ Judged, r facts.Replica) string {
	if r.Ephemeral {
		return r.Pod.NodeGone + ", and its data was there"
	}
	return r.Volume.Stranded + ", and its volume was there"
}

// hasLostClaim leaves out a member that runs: it serves until it stops.
func hasLostClaim(_ Judged, r facts.Replica) bool {
	return !r.Ephemeral && r.Volume == nil && (r.Pod == nil || !r.Pod.Running)
}

func hasLostBacking(_ Judged, r facts.Replica) bool {
	return r.Volume != nil && r.Volume.Phase == facts.VolumeLost && r.Answer == nil
}

// lostBacking tells which half of a volume is gone.
func lostBacking(_ Judged, r facts.Replica) string {
	return cmp.Or(r.Volume.Torn, "the volume behind its claim is gone")
}

func isStranded(_ Judged, r facts.Replica) bool {
	return r.Volume != nil && r.Volume.Stranded != "" && r.Answer == nil
}

// hasCopiedVolume reports a claim that was made anew under the old name, as a backup tool does: what lies there may be
// older than what the member promised its peers.
func hasCopiedVolume(_ Judged, r facts.Replica) bool {
	return r.Volume != nil && r.Answer == nil && (r.Pod == nil || !r.Pod.Running) && r.IsRecorded() &&
		!r.IsOnOwnVolume()
}

func hasGoingVolume(_ Judged, r facts.Replica) bool {
	return r.Volume != nil && r.Volume.Terminating && (r.Pod == nil || r.Pod.HasEnded())
}

// cannotReturn reports a member on a volume that is going, which has nothing to start with, or cannot start with what
// its Pod was made from. No other Pod can be made on that volume.
func cannotReturn(o Judged, r facts.Replica) bool {
	if !r.IsDoomed() {
		return false
	}
	return r.Volume != nil && r.Member != nil && !canStillStart(r) || r.CannotStart() &&
		r.Pod.Settings != o.Desired.Settings
}

// canStillStart reports whether a member was recorded, or started once and has the flags to do it again.
func canStillStart(r facts.Replica) bool {
	return r.IsRecorded() || r.Member.Started() && !(r.HasNoProcess() && r.Pod.Flags == facts.FlagsNone)
}

// isForgotten reports a volume of which neither what is written on it nor the bootstrap record says how to start on it.
func isForgotten(o Judged, r facts.Replica) bool {
	isFirst := slices.Contains(o.Bootstrap.Names, r.Name)
	return r.IsVoter() && r.Pod == nil && r.Volume != nil && !r.IsRecorded() && (!isFirst || !o.IsFilled(r))
}

// endedByOwnWord takes the last words of a member about its own disk: its directory is empty, foreign or damaged. A Pod
// that its kubelet ended is made anew and says it again: what it said last may be of the time when it was joining.
func endedByOwnWord(_ Judged, r facts.Replica) bool {
	return r.Pod != nil && !r.Pod.Running && !r.Pod.HasEnded() && r.SaidItsDataIsGone()
}

// returnsAfterOwnWord reports a container that is started again and again, and stops each time for its data.
func returnsAfterOwnWord(o Judged, r facts.Replica) bool {
	return IsUnheard(r) && r.Pod.Running && r.SaidItsDataIsGone() &&
		o.Now.Sub(r.Pod.RunningSince) <= facts.StartDeadline
}

// lastWords are of members whose data is gone: see SaidItsDataIsGone.
var lastWords = map[etcdutil.ExitReason]string{
	etcdutil.ExitAlreadyBootstrapped: "its directory was emptied after it had started",
	etcdutil.ExitDataEmpty:           "etcd stopped, because its directory is empty",
	etcdutil.ExitDataCorrupt:         "etcd stopped, because its data cannot be read",
	etcdutil.ExitRaftPanic:           "etcd stopped, because its disk holds less than it told others that it stored",
}

func ownWord(_ Judged, r facts.Replica) string {
	return lastWords[r.Pod.Exit.Reason]
}

func isDoomed(_ Judged, r facts.Replica) bool { return r.IsDoomed() }

func isDoomedUnheard(_ Judged, r facts.Replica) bool { return r.IsDoomed() && IsUnheard(r) }

// IsUnheard reports a Pod of which neither the operator nor the kubelet hears that its member serves.
func IsUnheard(r facts.Replica) bool { return r.Answer == nil && r.Pod != nil && !r.Pod.Ready }

func isLeavingUnheard(_ Judged, r facts.Replica) bool { return IsUnheard(r) && r.Pod.Terminating }

// isHeld reports a Pod that its kubelet has ended, and that is there for a finalizer alone: what lies on its volume is
// whole. Where its node is not heard of any more, that decides.
func isHeld(o Judged, r facts.Replica) bool {
	return isLeavingUnheard(o, r) && r.Pod.HeldBy != "" && r.Pod.NodeUnheard.IsZero()
}

func held(_ Judged, r facts.Replica) string {
	return "its Pod ended, and its finalizer " + r.Pod.HeldBy + " keeps the object"
}

func isTerminating(_ Judged, r facts.Replica) bool { return r.Pod != nil && r.Pod.Terminating }

func hasEnded(_ Judged, r facts.Replica) bool { return r.Pod.HasEnded() }

func hasNoPod(_ Judged, r facts.Replica) bool { return r.Pod == nil }

func isToStartAgain(o Judged, r facts.Replica) bool { return r.Pod == nil && o.MayRestart(r) }

func isKeptDown(o Judged, r facts.Replica) bool { return o.IsKeptDown(r) }

// isToStartFirst reports a member whose first Pod is yet to be made.
func isToStartFirst(o Judged, r facts.Replica) bool {
	return r.Pod == nil && !r.IsRecorded() && (r.Volume != nil || r.Ephemeral || r.Member == nil)
}

// WhyNoPod says why no Pod is made for a member that has none, or would be made for it again.
func WhyNoPod(o Judged, r facts.Replica) string {
	record := r.Record()
	switch {
	case r.Volume == nil:
		return "it has neither a Pod nor a volume"
	case r.Volume.Incarnation != o.Bootstrap.Incarnation:
		return fmt.Sprintf("its volume says that it is of incarnation %q, and this is %s", r.Volume.Incarnation,
			o.Bootstrap.Incarnation)
	case record.ClusterID != o.Bootstrap.ClusterID && o.Bootstrap.ClusterID != 0:
		return fmt.Sprintf("its volume is recorded as part of cluster %s, and this is %s", record.ClusterID,
			o.Bootstrap.ClusterID)
	case r.Member != nil && record.MemberID != r.Member.ID:
		return fmt.Sprintf("its volume is recorded as member %s, and etcd lists it as %s", record.MemberID, r.Member.ID)
	}
	return "its volume cannot be used"
}

func hasUnheardNode(_ Judged, r facts.Replica) bool {
	return IsUnheard(r) && !r.Pod.NodeUnheard.IsZero()
}

func nodeUnheardSince(r facts.Replica) time.Time { return r.Pod.NodeUnheard }

// isTiedToNode reports such a Pod while others serve with the settings it was made from: a member on another volume
// would start. What the Pod asks too much, a new one would ask as well.
func isTiedToNode(o Judged, r facts.Replica) bool { return IsTied(r) && o.IsServedWith(r.Pod.Settings) }

// IsTied reports a Pod that only nodes which do not take it could use the volume of.
func IsTied(r facts.Replica) bool {
	says := func(words string) bool { return strings.Contains(r.Pod.Message, words) }
	return r.Pod.Waiting == "Unschedulable" && slices.ContainsFunc(tiedToNode, says)
}

// tiedToNode are the scheduler's words for it, of today and of Kubernetes before 1.36
// (kubernetes/kubernetes:pkg/scheduler/framework/plugins/volumebinding/binder.go ErrReasonNodeConflict).
var tiedToNode = []string{"didn't match PersistentVolume's node affinity", "volume node affinity conflict"}

// isBehindOther reports a Pod in which a sidecar, or what a webhook put there, keeps etcd from starting. A new member
// would meet the same.
func isBehindOther(_ Judged, r facts.Replica) bool { return IsUnheard(r) && r.Pod.StartsAfter != "" }

func behindOther(_ Judged, r facts.Replica) string {
	return fmt.Sprintf("etcd was not started, because container %s of its Pod starts first and cannot (%s): %s",
		r.Pod.StartsAfter, r.Pod.Waiting, r.Pod.Message)
}

func waitsFor(reason string) func(Judged, facts.Replica) bool {
	return func(_ Judged, r facts.Replica) bool {
		return IsUnheard(r) && facts.StartProblems[r.Pod.Waiting] == reason
	}
}

// isHeldBack reports a Pod in which etcd was never started. It waits for what a new member would wait for as well: a
// gate, a scheduler, a volume, a Secret, an address. A kubelet that says nothing of its Pod may be the cause itself.
func isHeldBack(_ Judged, r facts.Replica) bool {
	return IsUnheard(r) && !r.Pod.Started && (!r.Pod.Scheduled || r.Pod.Waiting != "")
}

func heldBack(o Judged, r facts.Replica) string {
	return fmt.Sprintf("its Pod is held back (%s), and etcd was never started in it: kubectl describe pod %s -n %s "+
		"says why",
		processReason(r), r.Name, o.Cluster.Namespace)
}

func crashesWith(reasons ...etcdutil.ExitReason) func(Judged, facts.Replica) bool {
	return func(o Judged, r facts.Replica) bool {
		return isCrashing(o, r) && slices.Contains(reasons, r.Pod.Exit.Reason)
	}
}

func isUnmade(_ Judged, r facts.Replica) bool { return r.IsUnmade() }

func whyUnmade(_ Judged, r facts.Replica) string {
	return "its volume cannot be made: " + r.Volume.Unmade
}

// faultsAlone reports a fault of the runtime that a member on another disk would not meet: others serve with the same
// settings.
func faultsAlone(o Judged, r facts.Replica) bool {
	return crashesWith(etcdutil.ExitFault)(o, r) && o.IsServedWith(r.Pod.Settings)
}

// isCrashing reports a container that ended since its Pod stopped being ready, whether it runs again at this moment or
// not. One that has been running for longer than a start takes does not crash any more, it hangs.
func isCrashing(o Judged, r facts.Replica) bool {
	if !IsUnheard(r) || r.Pod.Exit == nil {
		return false
	}
	endedSince := !r.Pod.Exit.At.Before(r.Pod.ReadySince)
	return !r.Pod.Running || endedSince && o.Now.Sub(r.Pod.RunningSince) <= facts.StartDeadline
}

// neverServedWithSpec reports a member that never was ready with the settings of the spec, while no other serves with
// them either: they are to blame, and whatever took its place would be restarted with them in turn. Putting them right
// restarts this one.
func neverServedWithSpec(o Judged, r facts.Replica) bool {
	return IsUnheard(r) && r.HasLastingData() && r.Pod.NeverReady() && r.Pod.Settings == o.Desired.Settings &&
		!o.IsServedWith(r.Pod.Settings)
}

func isDefragmented(o Judged, r facts.Replica) bool { return r.IsRunning() && r.IsBusy(o.Now) }

func isReadyUnseen(_ Judged, r facts.Replica) bool { return r.Answer == nil && r.Pod.Ready }

// isStartingUp reports a process that has not yet had its time, or a Pod that its node was given a moment ago.
func isStartingUp(o Judged, r facts.Replica) bool {
	return r.Answer == nil && o.Now.Sub(facts.LastStart(r.Pod)) <= facts.StartDeadline
}

func isUnanswered(_ Judged, r facts.Replica) bool { return r.Answer == nil }

func isUnlisted(o Judged, r facts.Replica) bool { return o.Membership.Known && r.Member == nil }

func isOfOtherList(o Judged, r facts.Replica) bool {
	return o.Membership.Known && r.Answer.ClusterID != o.Membership.ClusterID
}

func hasNoLeader(_ Judged, r facts.Replica) bool { return r.Answer.Leader == 0 }

func hasNoList(o Judged, _ facts.Replica) bool { return !o.Membership.Known }

func isCalledCorrupt(_ Judged, r facts.Replica) bool {
	return etcdutil.IsCalledCorrupt(r.Answer.Alarms, r.Answer.ID)
}

func isUncompared(_ Judged, r facts.Replica) bool { return r.IsVoter() && r.Pod.Uncompared }

func isUnsealed(_ Judged, r facts.Replica) bool { return !r.IsSealed() }

// isOnUnreadyNode reports a member that serves, and that Kubernetes does not call ready for its node: it calls no Pod
// there ready (kubernetes/kubernetes:pkg/controller/util/node/controller_utils.go MarkPodsNotReady).
func isOnUnreadyNode(_ Judged, r facts.Replica) bool { return !r.Pod.Ready && r.Pod.NodeNotReady != "" }

func isNotServing(o Judged, r facts.Replica) bool { return !o.IsServing(r) }

func isServingNow(Judged, facts.Replica) bool { return true }

func podChangeOf(r facts.Replica) time.Time { return facts.PodChange(r.Pod) }

func lastStartOf(r facts.Replica) time.Time { return facts.LastStart(r.Pod) }

// unheardSince is when a Pod should be gone, or since when its node is not heard of, where that is earlier: Kubernetes
// evicts the Pods of a node that stopped answering, and that must not begin the wait anew. Of a Pod that a finalizer
// keeps only the node counts.
func unheardSince(r facts.Replica) time.Time {
	if since := r.Pod.NodeUnheard; !since.IsZero() && (since.Before(r.Pod.GoneBy) || r.Pod.HeldBy != "") {
		return since
	}
	return r.Pod.GoneBy
}

// word is how a row finds its Reason, and how docs/reference/judgement.md tells that.
type word struct {
	find func(facts.Replica) string
	doc  string
}

var (
	wordOfEtcd       = word{exitReason, "why etcd stopped"}
	wordOfKubernetes = word{func(r facts.Replica) string { return r.Pod.Waiting }, "what Kubernetes says"}
	wordOfPod        = word{podReason, "`PodMissing` or `PodEnded`, or why etcd stopped"}
	wordOfEndedPod   = word{podReason, "`PodEnded`, or why etcd stopped"}
	wordOfVolume     = word{volumeReason, "`VolumeTerminating`, `VolumeMissing` or `VolumeLost`"}
	wordOfStart      = word{processReason, "what Kubernetes says, or `Starting`"}
	wordOfProcess    = word{processReason, "what Kubernetes says, `Starting` or `NotAnswering`"}
)

// exitReason is what etcd said when it stopped, else what Kubernetes says of its container.
func exitReason(r facts.Replica) string {
	if why := r.Pod.Exit.Reason; why != etcdutil.ExitUnknown {
		return string(why)
	}
	return cmp.Or(r.Pod.Waiting, facts.MemberStopped)
}

// podReason is of a Pod that is gone or ended.
func podReason(r facts.Replica) string {
	switch {
	case r.Pod == nil:
		return facts.MemberNoPod
	case r.Pod.Exit != nil && r.Pod.Exit.Reason != etcdutil.ExitUnknown:
		return string(r.Pod.Exit.Reason)
	}
	return facts.MemberPodEnded
}

// volumeReason is of a volume that does not outlive its Pod.
func volumeReason(r facts.Replica) string {
	switch {
	case r.Volume == nil:
		return facts.MemberNoVolume
	case r.Volume.Phase == facts.VolumeLost:
		return facts.MemberVolumeLost
	}
	return facts.MemberVolumeTerminating
}

// processReason is of a process that does not answer yet, or not any more.
func processReason(r facts.Replica) string {
	if r.Pod.Running {
		return cmp.Or(r.Pod.Waiting, facts.MemberNotAnswering)
	}
	return cmp.Or(r.Pod.Waiting, facts.MemberStarting)
}
