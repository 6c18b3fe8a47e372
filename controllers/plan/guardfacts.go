package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What the guard finds out for itself, from plain facts. It reads no judgement and calls nothing that proposes: else
// one mistake there would propose a change and clear it as well. A test holds that. Questions about plain facts, such
// as mayRestart, it shares with the rules.

// isGone reports data that certainly is not there any more, or is another's: by the volume, by the node, by what
// answers, or by the member's own last words.
func (o Incarnation) isGone(r Replica) bool {
	isDown := r.Pod == nil || r.Pod.HasEnded()
	switch {
	case r.Answer != nil:
		return o.Birth.ClusterID != 0 && r.Answer.ClusterID != o.Birth.ClusterID
	case r.Ephemeral:
		return isDown || r.Pod.NodeGone != ""
	case r.Volume == nil:
		return !r.isRunning()
	}
	return !r.Volume.isThere(isDown) || r.isCopy() || !isDown && r.saidItsDataIsGone()
}

// isCopy reports a volume in the place of the one that the member lived on, which no process runs on.
func (r Replica) isCopy() bool { return r.IsRecorded() && !r.isOnOwnVolume() && !r.isRunning() }

// isThere reports a volume that a member can live on, or still lives on.
func (v *Volume) isThere(isUnused bool) bool {
	return v.Phase != VolumeLost && v.Stranded == "" && !(v.Terminating && isUnused)
}

// isQuorumGone reports that the members whose data is left are no quorum, and that none of them serves where the
// operator cannot see it.
func (o view) isQuorumGone() bool {
	if o.hasQuorum() || o.isServedUnseen() {
		return false
	}
	voters := o.lastKnownVoters(o.isGone)
	left := filter(voters, func(r Replica) bool { return !o.isGone(r) })
	return len(left) < len(voters) && len(left) < etcdutil.Quorum(len(voters))
}

// guardStop says why a process that runs may not be stopped before etcd was asked, or "". It may only where it never
// served by its kubelet's word and no other does, or where nothing is left of any other member; and its data must
// outlive it.
func (o view) guardStop(r Replica) string {
	if o.Membership.Known || !r.hadItsTime(o.Now) || r.IsRecorded() && !o.mayRestart(r) {
		return fmt.Sprintf("etcd of %s runs.", r.Name)
	}
	isSpare := !o.isAlive() && o.isFirstToSpare(r)
	if isSpare || r.isKept() && (o.isAlone(r) || r.Pod.neverReady() && !o.isAnyReady()) {
		return ""
	}
	return fmt.Sprintf("etcd of %s runs, and may serve.", r.Name)
}

// hadItsTime reports a process that should answer by now, and does not.
func (r Replica) hadItsTime(now time.Time) bool {
	return r.Answer == nil && !r.Pod.RunningSince.IsZero() && now.Sub(r.Pod.RunningSince) > startDeadline
}

// isFirstToSpare reports a first member that starts again as it did before: no client was led to it yet.
func (o Incarnation) isFirstToSpare(r Replica) bool {
	return r.Volume != nil && !r.Volume.Terminating || r.Ephemeral && !o.isAnyReady()
}

// guardSurvivorData says why a member's data is none to rebuild from, or "".
func (o Incarnation) guardSurvivorData(r Replica) string {
	switch m := r.Record(); {
	case m.IsZero() || r.Incarnation() != o.Birth.Incarnation || m.ClusterID != o.Birth.ClusterID:
		return fmt.Sprintf("%s is not recorded as a member of this cluster.", r.Name)
	case o.isGone(r) || r.Answer != nil && !m.IsOf(r.Answer.ClusterID, r.Answer.ID):
		return fmt.Sprintf("the data of %s is lost, or is another's.", r.Name)
	case r.Answer == nil && (!o.mayRestart(r) || r.Pod != nil && r.cannotRun()):
		return fmt.Sprintf("%s neither answers nor can start.", r.Name)
	}
	return ""
}

// guardFence lets no member start while members of a former incarnation might serve a write: one that is not marked, a
// Pod that is not long past its time, or so many of those that they are a quorum.
func (o view) guardFence() string {
	for _, former := range o.Former {
		left := map[string]int{}
		for _, r := range former.Members {
			switch {
			case r.Volume != nil && r.Volume.Superseded == "":
				return fmt.Sprintf("the volume of %s, of a former incarnation, is not marked.", r.Name)
			case r.Pod == nil:
			case !r.Pod.Terminating || r.Pod.GoneBy.IsZero() || o.Now.Sub(r.Pod.GoneBy) <= leavingDeadline:
				return fmt.Sprintf("the Pod of %s, of a former incarnation, is still there.", r.Name)
			default:
				left[r.Pod.Incarnation]++
			}
		}
		for incarnation, n := range left {
			if o.isQuorumOf(incarnation, n) {
				return fmt.Sprintf("%d Pods of a former incarnation do not go, and might serve a write.", n)
			}
		}
	}
	return ""
}

// isQuorumOf reports so many members of a former incarnation that they might be a quorum of it. Of one that is not
// known, each might.
func (o Incarnation) isQuorumOf(incarnation string, n int) bool {
	i := slices.IndexFunc(o.Birth.Former, func(f record.Former) bool { return f.Incarnation == incarnation })
	return i < 0 || n >= etcdutil.Quorum(len(o.Birth.Former[i].Voters))
}
