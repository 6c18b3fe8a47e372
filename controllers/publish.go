package controllers

import (
	"context"
	"errors"
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
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// detailInterval is how often details of a status are written. Members that start, and steps that follow one another
// within moments, would each be a write that nobody reads.
const detailInterval = 2 * time.Second

// publish writes the status if it differs, and only when it is stored says what became different, so that a repeated pass
// does not say it again. What was done is said in any case: no later pass would say it. A result above zero means that details wait to be written until then.
func (r *EtcdClusterReconciler) publish(ctx context.Context, in report.Input) (later time.Duration, err error) {
	r.Metrics.Observe(report.Metrics(in))
	old, status := in.Cluster.Status, report.Status(in)
	events := report.Events(in, old)
	if !equality.Semantic.DeepEqual(old, status) {
		later = r.written.rest(keyOf(in.Cluster), r.Now(), detailInterval)
		if later > 0 && len(events) == 0 && !isUrgent(old, status) {
			return later, nil
		}
		stored, err := r.writeStatus(ctx, in.Cluster, status)
		if !stored {
			r.tell(in.Cluster, report.Done(in))
			return 0, err
		}
	}
	r.tell(in.Cluster, events)
	return 0, nil
}

func (r *EtcdClusterReconciler) tell(cluster *v1alpha1.EtcdCluster, events []report.Event) {
	for _, event := range events {
		r.Recorder.Eventf(cluster, podOf(cluster, event.Member), event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// publishUnreadable tells people of a record that only they can put right. Of other errors it tells nothing: they pass.
func (r *EtcdClusterReconciler) publishUnreadable(ctx context.Context, cluster *v1alpha1.EtcdCluster, view observe.View, err error) error {
	var record observe.Unreadable
	o := view.Observation
	isAnothers := o.Birth.Operator != "" && o.Birth.Operator != o.Cluster.Operator
	if !errors.As(err, &record) || isAnothers {
		return nil
	}
	_, err = r.publish(ctx, report.Input{Cluster: cluster, Observation: o, IsBlind: true, Decision: plan.Decision{
		Verdict: plan.Refuse, Rule: report.RuleObserve, Reason: apply.RejectedUnreadable, NeedsHuman: true,
		Message: fmt.Sprintf("The annotation %s of %s %s cannot be read (%v), so nothing of this cluster is touched. Put it back as it was, "+
			"from a backup of the %s for one.", record.Annotation, record.Kind, record.Name, record.Err, record.Kind),
	}})
	return err
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

// writeStatus reports whether the status is stored.
func (r *EtcdClusterReconciler) writeStatus(
	ctx context.Context, cluster *v1alpha1.EtcdCluster, status v1alpha1.EtcdClusterStatus,
) (stored bool, err error) {
	updated := cluster.DeepCopy()
	updated.Status = status
	lock := client.MergeFromWithOptions(cluster, client.MergeFromWithOptimisticLock{})
	err = r.Client.Status().Patch(ctx, updated, lock, fieldOwner)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return false, nil // the cluster moved on, and its next pass says what is true then
	case err != nil:
		return false, fmt.Errorf("writing the status of %s: %w", keyOf(cluster), err)
	}
	r.written.mark(keyOf(cluster), r.Now())
	r.unseen.wrote(keyOf(updated), updated)
	return true, nil
}

// podOf is the Pod that an event is about as well. The API server tells series of events apart by it, and would drop what
// happens to a second member soon after the first.
func podOf(cluster *v1alpha1.EtcdCluster, member string) runtime.Object {
	if member == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: cluster.Namespace, Name: member}
}
