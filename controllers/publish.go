package controllers

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// detailInterval is how often details of a status are written. Members that start, and steps that follow one another
// within moments, would each be a write that nobody reads.
const detailInterval = 2 * time.Second

// publish writes the status if it differs, and only then says what happened, so that a repeated pass does not say it
// again. A result above zero means that details wait to be written until then.
func (r *EtcdClusterReconciler) publish(ctx context.Context, in report.Input) (later time.Duration, err error) {
	r.Metrics.Observe(report.Metrics(in))
	old, status := in.Cluster.Status, report.Status(in)
	events := report.Events(in, old)
	if !equality.Semantic.DeepEqual(old, status) {
		later = r.written.rest(keyOf(in.Cluster), r.Now(), detailInterval)
		if later > 0 && len(events) == 0 && !isUrgent(old, status) {
			return later, nil
		}
		if err := r.writeStatus(ctx, in.Cluster, status); err != nil {
			return 0, err
		}
	}
	for _, event := range events {
		r.Recorder.Eventf(in.Cluster, podOf(in.Cluster, event.Member), event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return 0, nil
}

// isUrgent says that somebody may be waiting for it: a condition turned, or the spec's generation was taken up.
func isUrgent(old, status v1alpha1.EtcdClusterStatus) bool {
	return old.ObservedGeneration != status.ObservedGeneration || !maps.Equal(turns(old.Conditions), turns(status.Conditions))
}

func turns(conditions []metav1.Condition) map[string]metav1.ConditionStatus {
	turns := make(map[string]metav1.ConditionStatus, len(conditions))
	for _, c := range conditions {
		turns[c.Type] = c.Status
	}
	return turns
}

func (r *EtcdClusterReconciler) writeStatus(ctx context.Context, cluster *v1alpha1.EtcdCluster, status v1alpha1.EtcdClusterStatus) error {
	updated := cluster.DeepCopy()
	updated.Status = status
	lock := client.MergeFromWithOptions(cluster, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, updated, lock, fieldOwner)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil // the cluster moved on, and its next pass says what is true then
	case err != nil:
		return fmt.Errorf("writing the status of %s: %w", keyOf(cluster), err)
	}
	r.written.mark(keyOf(cluster), r.Now())
	r.unseen.wrote(keyOf(updated), updated)
	return nil
}

// podOf is the Pod that an event is about as well. The API server tells series of events apart by it, and would drop what
// happens to a second member soon after the first.
func podOf(cluster *v1alpha1.EtcdCluster, member string) runtime.Object {
	if member == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: cluster.Namespace, Name: member}
}
