package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// A member that a person fences: it is stopped, and its volume is the person's until the name is taken back. What
// starts members leaves it out, see startOf. See docs/decisions/0049.

// unfence is what a person does to have a fenced member back.
const unfence = "To have it back, take its name out of the annotation etcdsteward.dev/fence, as kubectl etcd-steward " +
	"unfence %s -n %s does."

// fenceMember stops the member that a person fenced, once all others serve and are a quorum. It hands over leadership
// first. One at a time: a member that is down is one that does not serve.
func fenceMember(o pass) *proposal {
	for _, r := range o.Members {
		if !r.ToFence || r.Member == nil || !r.IsUp() {
			continue
		}
		if why := whyNotFence(o, r); why != "" {
			return wait(facts.ReasonFenceWaits, "The annotation etcdsteward.dev/fence names %s. It runs on, because "+
				"%s. The operator stops it once that is otherwise. Until then it is not moved or replaced. To take "+
				"the request back, take the name out of the annotation.", r.Name, why).answering().yielding()
		}
		if r.Member.ID == o.Membership.Leader {
			return handOver(o, r, o.HealthyVoters(), facts.ReasonFenceWaits, "will be stopped, since "+
				"etcdsteward.dev/fence names it")
		}
		return act(changes.EvictPod{Pod: r.PodRef(), Fences: true}, "etcdsteward.dev/fence names it. Its volume "+
			"stays, and no Pod starts on it before the name is taken out.")
	}
	return nil
}

// whyNotFence says what keeps a member from being stopped for a person, as a part of a sentence, or "".
func whyNotFence(o pass, r facts.Replica) string {
	voters := o.Voters()
	switch {
	case !r.IsVoter():
		return "it has no vote yet"
	case len(voters) < leastToFence:
		return fmt.Sprintf("the cluster has %s, and no quorum without it. Three members can spare one",
			counted(len(voters), "voting member"))
	case !o.IsFenced(r) || !o.MaySleep(r):
		return "what it holds is not written down on a volume that stays"
	case r.IsBusy(o.Now):
		return "it is being defragmented"
	}
	for _, other := range voters {
		switch {
		case other.Name == r.Name:
		case o.IsKeptDown(other):
			return other.Name + " is fenced already"
		case !isWell(o.Incarnation, other):
			return other.Name + " does not serve"
		}
	}
	return ""
}

func counted(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fenced tells of a member that is kept down, or is nil. It is looked at like one that is as it should be.
func fenced(o pass, r facts.Replica) *proposal {
	if !o.IsKeptDown(r) {
		return nil
	}
	p := wait(facts.ReasonFenced, "Member %s is fenced: a person had it stopped, and its volume is kept. The others "+
		"are a quorum. Until it is back no other one that serves is restarted, moved or removed. "+unfence, r.Name,
		r.Name, o.Cluster.Namespace)
	p.Recheck = recheckSettled
	return p.answering()
}

// afterLeaving says what comes after a Pod that is terminating.
func afterLeaving(o pass, r facts.Replica) string {
	if o.IsFenced(r) {
		return fmt.Sprintf("%[1]s stays stopped, since etcdsteward.dev/fence names %[1]s", r.Name)
	}
	return r.Name + " is started again when its Pod is gone"
}

// isAnyKeptDown reports a fenced member that is down: no member that serves leaves beside it.
func isAnyKeptDown(o judge.Judged) bool { return len(o.KeptDown()) > 0 }

// despiteFence says that fenced members start, because the others are no quorum, as a sentence with a space in front,
// or "".
func despiteFence(o pass, starts []changes.Start) string {
	var names []string
	for _, s := range starts {
		if o.IsFenced(o.Find(s.Name)) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" etcdsteward.dev/fence names %s, and without it the others are no quorum.",
		strings.Join(slices.Sorted(slices.Values(names)), ", "))
}

// leastToFence is as many voters as leave a quorum of two without one.
const leastToFence = 3
