package report

import (
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestoreEvents are what became different about an EtcdRestore. The caller sends them after the status was stored.
func RestoreEvents(old, now v1alpha1.EtcdRestoreStatus) []words.Event {
	var events []words.Event
	for kind, reason := range map[string]string{
		v1alpha1.RestoreApproved: EventRestoreApproved, v1alpha1.RestorePrepared: EventRestorePrepared,
		v1alpha1.RestoreComplete: EventRestoreComplete,
	} {
		if c := turned(old, now, kind); c != nil {
			events = append(events, normal(reason, actionObserve, shorten(c.Message))...)
		}
	}
	if c := turned(old, now, v1alpha1.RestoreFailed); c != nil {
		events = append(events, warning(c.Reason, actionDecide, shorten(c.Message))...)
	}
	return events
}

// turned is a condition that became True just now; nil when it did not.
func turned(old, now v1alpha1.EtcdRestoreStatus, kind string) *metav1.Condition {
	if !meta.IsStatusConditionTrue(now.Conditions, kind) || meta.IsStatusConditionTrue(old.Conditions, kind) {
		return nil
	}
	return meta.FindStatusCondition(now.Conditions, kind)
}

// Orphan is the status of an EtcdRestore whose cluster does not exist. No pass over a cluster reports it.
func Orphan(now time.Time, r *v1alpha1.EtcdRestore) v1alpha1.EtcdRestoreStatus {
	says := NoCluster(r)
	status := v1alpha1.EtcdRestoreStatus{
		ObservedGeneration: r.Generation, Stage: stageWaiting, Key: r.Status.Key, Revision: r.Status.Revision,
		FromIncarnation: r.Status.FromIncarnation, ToIncarnation: r.Status.ToIncarnation, StartedAt: r.Status.StartedAt,
		CompletedAt: r.Status.CompletedAt,
	}
	for _, kind := range []string{v1alpha1.RestoreApproved, v1alpha1.RestorePrepared, v1alpha1.RestoreComplete} {
		status.Conditions = append(status.Conditions, is(kind, metav1.ConditionFalse, RestoreReasonAbsent, says))
	}
	status.Conditions = words.Since(now, r.Generation, status.Conditions, r.Status.Conditions)
	return status
}

// NoCluster says that the cluster of an EtcdRestore does not exist.
func NoCluster(r *v1alpha1.EtcdRestore) string {
	return "There is no EtcdCluster " + r.Spec.ClusterRef.Name +
		" in this namespace. To create a cluster from a backup, use spec.bootstrap.restore."
}
