package report

import (
	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RuleObserve is the rule that is named when a look itself found what only a person can put right.
const RuleObserve = "observe"

// RuleBrake is the rule that is named while every change of a cluster is slowed down.
const RuleBrake = "brake"

// blind is the status of a cluster of which nothing can be said. What never changes while a cluster lives stays; how
// its members are is absent, and conditions that would say so are Unknown.
func (in Input) blind() v1alpha1.EtcdClusterStatus {
	s, old := in.step(), in.old()
	return v1alpha1.EtcdClusterStatus{
		ObservedGeneration: in.Cluster.Generation,
		Conditions:         in.conditions(s),
		NextStep:           in.nextStep(s),
		Size:               old.Size,
		Selector:           selector(in.Cluster.Name),
		TargetVersion:      in.targetVersion(),
		ClusterID:          old.ClusterID,
		Incarnation:        old.Incarnation,
		DeletionPolicy:     old.DeletionPolicy,
		Endpoints:          old.Endpoints,
		ClientSecretRef:    old.ClientSecretRef,
	}
}

// unknown are the conditions of a cluster that cannot be looked at.
func unknown(s step) []metav1.Condition {
	var all []metav1.Condition
	for _, kind := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionDegraded, v1alpha1.ConditionUpToDate} {
		all = append(all, is(kind, metav1.ConditionUnknown, s.reason, s.message))
	}
	return all
}
