package report

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// memberReason says in one word why the member is not healthy, or will not stay so; empty when all is well with it.
func memberReason(o plan.Observation, r plan.Replica) string {
	switch {
	case r.Answer != nil:
		return answerReason(o, r)
	case r.Pod != nil:
		return podReason(r.Pod)
	}
	return cmp.Or(volumeReason(o, r), MemberNoPod)
}

func answerReason(o plan.Observation, r plan.Replica) string {
	switch {
	case o.Current.Membership.Known && r.Member == nil:
		return MemberNotListed
	case o.Current.Membership.Known &&
		(r.Answer.ID != r.Member.ID || r.Answer.ClusterID != o.Current.Membership.ClusterID):
		return MemberOtherIdentity
	case r.Answer.Leader == 0:
		return MemberNoLeader
	case !o.Current.Membership.Known:
		return MemberListUnknown
	case slices.ContainsFunc(r.Answer.Alarms, func(a plan.Alarm) bool { return isCorrupt(a, r.Answer.ID) }):
		return MemberCorrupt
	case r.Volume != nil && r.Volume.Terminating:
		return MemberVolumeTerminating
	}
	return ""
}

// isCorrupt reports an alarm that may mean this member. Of one without a name any may be meant.
func isCorrupt(a plan.Alarm, member etcdutil.ID) bool {
	return a.Name == plan.AlarmCorrupt && (a.Member == 0 || a.Member == member)
}

func podReason(p *plan.Pod) string {
	switch {
	case p.Terminating:
		return MemberPodTerminating
	case !p.Running && p.Exit != nil && p.Exit.Reason != etcdutil.ExitUnknown:
		return string(p.Exit.Reason)
	case p.HasEnded():
		return MemberPodEnded
	case p.Waiting != "":
		return p.Waiting
	case !p.Running && p.Exit != nil:
		return MemberStopped
	case !p.Started || !p.Running:
		return MemberStarting
	}
	return MemberNotAnswering
}

func volumeReason(o plan.Observation, r plan.Replica) string {
	switch {
	case o.Desired.Ephemeral:
		return ""
	case r.Volume == nil:
		return MemberNoVolume
	case r.Volume.Phase == plan.VolumeLost:
		return MemberVolumeLost
	case r.Volume.Terminating:
		return MemberVolumeTerminating
	}
	return ""
}
