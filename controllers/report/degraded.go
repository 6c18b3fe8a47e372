package report

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// degraded is True when, once the size was reached, fewer healthy voters than that are there, or when a wait is past
// its deadline. A cluster that is only growing, or whose first members are only starting, is not degraded.
func (in Input) degraded(s step) metav1.Condition {
	o := in.Observation
	voters, size := o.Current.Voters(), o.Desired.Size
	sick := sickVoters(o)
	switch {
	case s.late != nil:
		return is(v1alpha1.ConditionDegraded, metav1.ConditionTrue, s.late.Reason, s.late.Message)
	case !hasServed(o):
		return is(v1alpha1.ConditionDegraded, metav1.ConditionFalse, ReasonCreating, creating)
	case !o.Current.Membership.Known:
		return is(v1alpha1.ConditionDegraded, metav1.ConditionTrue, ReasonReadFailed,
			"No member is known to be healthy, because no quorum of them answers.")
	case len(sick) > 0 && len(o.Current.HealthyVoters()) < size:
		return is(v1alpha1.ConditionDegraded, metav1.ConditionTrue, ReasonUnhealthy,
			fmt.Sprintf("%d of %d members are healthy. Not healthy: %s.", len(o.Current.HealthyVoters()), len(voters),
				strings.Join(sick, ", ")))
	case len(voters) < size && in.hadReached(size):
		return is(v1alpha1.ConditionDegraded, metav1.ConditionTrue, ReasonMissing,
			fmt.Sprintf("The cluster has %d of %d voting members.", len(voters), size))
	case len(o.Current.HealthyVoters()) < size:
		return is(v1alpha1.ConditionDegraded, metav1.ConditionFalse, ReasonNotReached,
			fmt.Sprintf("%d of %d voting members serve; the others have not served yet.",
				len(o.Current.HealthyVoters()), size))
	}
	return is(v1alpha1.ConditionDegraded, metav1.ConditionFalse, ReasonAllHealthy, allHealthy(o))
}

// sickVoters are the voters that have served before and are not healthy now, each with the word that says why.
func sickVoters(o facts.Observation) []string {
	var sick []string
	judged := judge.Members(o)
	for _, r := range o.Current.Voters() {
		if !r.IsHealthy(o.Current.Membership) && r.Member.Started() {
			sick = append(sick, fmt.Sprintf("%s (%s)", r.Name, judged[r.Name].Reason))
		}
	}
	return sick
}

// hadReached reports whether the cluster once had so many voters. Nothing in the world says so of a cluster that grew
// after its birth; there the old status is asked, and a wiped one only makes a replacement look like growth.
func (in Input) hadReached(size int) bool {
	if len(in.Observation.Current.Birth.Names) >= size || int(in.old().Size) >= size {
		return true
	}
	old := in.oldCondition(v1alpha1.ConditionDegraded)
	return old != nil && old.Status == metav1.ConditionTrue && old.ObservedGeneration == in.Cluster.Generation &&
		(old.Reason == ReasonUnhealthy || old.Reason == ReasonMissing)
}

func allHealthy(o facts.Observation) string {
	n := len(o.Current.HealthyVoters())
	if n == 1 {
		return "The only member is healthy."
	}
	return fmt.Sprintf("All %d members are healthy.", n)
}
