package changes

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// FallAsleep writes into the bootstrap record that the cluster sleeps. From then on Pods of its members may go.
type FallAsleep struct{}

func (FallAsleep) traits() Traits { return Traits{} }

func (FallAsleep) words() Words {
	return says("Put", "puts", "Put", "the cluster to sleep", EventFellAsleep)
}

// veto lets a cluster sleep only where its spec asks for that, and where all that runs holds its data on volumes that
// stay.
func (FallAsleep) veto(o facts.View) Veto {
	if why := guardSleep(o); why.Holds() {
		return why
	}
	switch {
	case o.Bootstrap.ClusterID == 0 || o.Bootstrap.Void:
		return incarnationAtRisk("nothing says which cluster would wake.")
	case !o.Bootstrap.Next.IsZero():
		return incarnationAtRisk("a restore in place prepares another incarnation.")
	}
	running := facts.Filter(o.Members, func(r facts.Replica) bool { return r.Pod != nil })
	return first(running, func(r facts.Replica) Veto { return guardAsleep(o, r) })
}

func guardSleep(o facts.View) Veto {
	if !o.Desired.Sleep {
		return quorumAtRisk("spec.size asks for members.")
	}
	return Veto{}
}

// guardAsleep lets a member stop only on data that it starts from again.
func guardAsleep(o facts.View, r facts.Replica) Veto {
	switch {
	case !o.MaySleep(r):
		return dataAtRisk("what %s holds is not written down on a volume that stays.", r.Name)
	case guardBusy(o, r).Holds():
		return guardBusy(o, r)
	}
	return Veto{}
}

// StopMembers stops all members of a cluster that sleeps, at once. None of them is missed.
type StopMembers struct{ Pods []facts.PodRef }

func (StopMembers) traits() Traits { return Traits{} }

func (c StopMembers) words() Words {
	return says("Stop", "stops", "Stopped", "the Pod", EventPodDeleted).of(podNames(c.Pods))
}

// veto stops no member before it is written down that the cluster sleeps, nor once its spec asks for members again.
func (c StopMembers) veto(o facts.View) Veto {
	if why := guardSleep(o); why.Holds() {
		return why
	}
	if !o.Bootstrap.Asleep {
		return quorumAtRisk("it is not written down that the cluster sleeps.")
	}
	return first(c.Pods, func(ref facts.PodRef) Veto {
		r := o.Find(ref.Name)
		if r.Pod == nil || r.Pod.UID != ref.UID {
			return identityAtRisk("the Pod %s is another one by now.", ref.Name)
		}
		return guardAsleep(o, r)
	})
}

// WakeUp takes that out of the bootstrap record again.
type WakeUp struct{}

func (WakeUp) traits() Traits { return Traits{} }

func (WakeUp) words() Words { return says("Call", "calls", "Called", "the cluster awake", EventWokeUp) }

// veto calls a cluster awake only once a quorum answers.
func (WakeUp) veto(o facts.View) Veto {
	if o.Desired.Sleep || !o.HasQuorum() {
		return quorumAtRisk("no quorum answers, or spec.size asks for no member.")
	}
	return Veto{}
}

// guardRecordedAsleep writes into a record that is written anew that the cluster sleeps only where nothing of it runs.
func guardRecordedAsleep(o facts.View, c BeginBootstrap) Veto {
	if c.Asleep && (!o.Desired.Sleep || slices.ContainsFunc(o.Members, facts.Replica.IsUp)) {
		return quorumAtRisk("the cluster does not sleep.")
	}
	return Veto{}
}
