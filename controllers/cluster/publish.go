package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// detailInterval is how often details of a status are written. Members that start, and steps that follow one another
// within moments, would each be a write for no reader.
const detailInterval = 2 * time.Second

// alternateInterval is how often a message is written that only takes turns with another one, as those of two webhooks
// that both refuse a write do.
const alternateInterval = time.Minute

// doubtInterval lies between the two looks in which no quorum must answer before that is told. An orderly hand-over of
// the leader is over by then.
const doubtInterval = time.Second

// publish writes the status if it differs, and only when it is stored says what became different, so that a repeated
// pass does not say it again. What was done is said in any case: no later pass would say it. A result above zero means
// that details wait to be written until then.
func (r *Reconciler) publish(ctx context.Context, in report.Input,
	status v1alpha1.EtcdClusterStatus) (later time.Duration, err error) {
	key, old, values := client.ObjectKeyFromObject(in.Cluster), in.Cluster.Status, report.Metrics(in, status)
	if later = r.doubt(key, old, status); later > 0 {
		r.Metrics.Count(values)
		r.Tell(in.Cluster, report.Done(in))
		return later, nil
	}
	r.Metrics.Observe(values)
	events := report.Events(in, status)
	if !equality.Semantic.DeepEqual(old, status) {
		if later, done := r.rests(in, old, status, len(events) == 0); later > 0 {
			r.Tell(in.Cluster, done)
			return later, nil
		}
		updated := in.Cluster.DeepCopy()
		updated.Status = status
		stored, _, err := r.WriteStatus(ctx, in.Cluster, updated)
		if !stored { // it switched over, and its next pass says what is true then
			r.Tell(in.Cluster, report.Done(in))
			return 0, err
		}
		r.written.Set(key, r.Now())
		if old.NextStep != nil {
			r.said.Set(key, old.NextStep.Message)
		}
	}
	r.Tell(in.Cluster, events)
	return 0, nil
}

// rests is how long a status is not written yet, and the events that do not wait for it.
func (r *Reconciler) rests(
	in report.Input, old, status v1alpha1.EtcdClusterStatus, isDetail bool,
) (later time.Duration, done []words.Event) {
	key := client.ObjectKeyFromObject(in.Cluster)
	if r.alternates(key, old, status) {
		if later = r.written.Rest(key, r.Now(), alternateInterval); later > 0 {
			return later, report.Done(in)
		}
	}
	if !isDetail || isUrgent(old, status) {
		return 0, nil
	}
	return r.written.Rest(key, r.Now(), detailInterval), nil
}

// alternates reports a status in which nothing is new but messages, and the step's is the one that was replaced last.
func (r *Reconciler) alternates(key types.NamespacedName, old, status v1alpha1.EtcdClusterStatus) bool {
	said, isKept := r.said.Get(key)
	if !isKept || old.NextStep == nil || status.NextStep == nil || len(old.Conditions) != len(status.Conditions) {
		return false
	}
	next := status.NextStep.Message
	if !words.Alike(said, next) || words.Alike(old.NextStep.Message, next) { // other numbers alone are progress
		return false
	}
	same := status.DeepCopy()
	same.NextStep.Message = old.NextStep.Message
	for i := range same.Conditions {
		same.Conditions[i].Message = old.Conditions[i].Message
	}
	return equality.Semantic.DeepEqual(old, *same)
}

// doubt is how long until a second look may tell that no quorum answers; zero when nothing is to be doubted. It
// concerns only what is told: changes are decided on each look as it is. An alarm waits for no second look.
func (r *Reconciler) doubt(key types.NamespacedName, old, status v1alpha1.EtcdClusterStatus) time.Duration {
	available := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable)
	isSilent := available != nil && available.Status == metav1.ConditionFalse &&
		available.Reason == report.ReasonReadFailed
	if !isSilent || !meta.IsStatusConditionTrue(old.Conditions, v1alpha1.ConditionAvailable) {
		r.doubts.Forget(key)
		return 0
	}
	if _, isKept := r.doubts.Get(key); !isKept {
		r.doubts.Set(key, r.Now())
	}
	return r.doubts.Rest(key, r.Now(), doubtInterval)
}

// publishUnreadable tells people of a record that only they can put right. Of other errors it tells nothing: they pass.
func (r *Reconciler) publishUnreadable(ctx context.Context, cluster *v1alpha1.EtcdCluster, o facts.Observation,
	err error) error {
	var unreadable observe.Unreadable
	if !errors.As(err, &unreadable) || o.IsAnothers() {
		return nil
	}
	in := report.Input{Cluster: cluster, Observation: o, IsBlind: true, Decision: unreadableRefusal(unreadable)}
	_, err = r.publish(ctx, in, report.Status(in))
	return err
}

// unreadableRefusal says what a person can do about a record that cannot be read.
func unreadableRefusal(u observe.Unreadable) plan.Decision {
	refusal := plan.Decision{
		Verdict: plan.Refuse, Rule: report.RuleObserve, Reason: apply.RejectedUnreadable, NeedsHuman: true,
		Message: fmt.Sprintf("The annotation %s of %s %s cannot be read (%v), so the operator changes nothing of "+
			"this cluster. "+
			"Put the annotation back as it was, for example from a backup of the %s.",
			u.Annotation, u.Kind, u.Name, u.Err, u.Kind),
	}
	if errors.As(u.Err, new(record.TooNew)) {
		refusal.Reason = apply.RejectedTooNew
		refusal.Message = fmt.Sprintf("The annotation %s of %s %s cannot be read: %v. The operator changes nothing "+
			"of this cluster, and its members serve on. "+
			"Upgrade the operator to the newer release again.", u.Annotation, u.Kind, u.Name, u.Err)
	}
	return refusal
}

// isUrgent says that a person may be waiting for it: a condition turned, or the spec's generation was taken up.
func isUrgent(old, status v1alpha1.EtcdClusterStatus) bool {
	return old.ObservedGeneration != status.ObservedGeneration ||
		!maps.Equal(turns(old.Conditions), turns(status.Conditions))
}

func turns(conditions []metav1.Condition) map[string]metav1.ConditionStatus {
	turns := make(map[string]metav1.ConditionStatus, len(conditions))
	for _, c := range conditions {
		turns[c.Type] = c.Status
	}
	return turns
}

// publishRestores writes the status of the EtcdRestores that name the cluster. Only the pass that carries them out
// knows how they stand. One that was written meanwhile is told of by the next pass.
func (r *Reconciler) publishRestores(ctx context.Context, in report.Input, evidence *v1alpha1.EvidenceStatus) error {
	if len(in.Observation.Requests) == 0 {
		r.Metrics.ObserveRestores(client.ObjectKeyFromObject(in.Cluster), nil)
		return nil
	}
	restores, err := observe.RestoresOf(ctx, r.Client, client.ObjectKeyFromObject(in.Cluster))
	if err != nil {
		return err
	}
	var (
		errs []error
		seen []v1alpha1.EtcdRestoreStatus
	)
	for i := range restores {
		status, ok := report.Restore(in, evidence, &restores[i])
		if !ok {
			seen = append(seen, restores[i].Status)
			continue
		}
		seen = append(seen, status)
		_, err := r.publishRestore(ctx, &restores[i], status)
		errs = append(errs, err)
	}
	r.Metrics.ObserveRestores(client.ObjectKeyFromObject(in.Cluster), seen)
	return errors.Join(errs...)
}

// publishOrphans tells of the EtcdRestores of a cluster that does not exist.
func (r *Reconciler) publishOrphans(ctx context.Context, key types.NamespacedName) (later time.Duration, err error) {
	restores, err := observe.RestoresOf(ctx, r.Client, key)
	for i := range restores {
		soon, failed := r.publishRestore(ctx, &restores[i], report.Orphan(r.Now(), &restores[i]))
		later, err = max(later, soon), errors.Join(err, failed)
	}
	return later, err
}

func (r *Reconciler) publishRestore(ctx context.Context, restore *v1alpha1.EtcdRestore,
	status v1alpha1.EtcdRestoreStatus) (later time.Duration, err error) {
	old := restore.Status
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	updated := restore.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, restore, updated)
	if stored {
		r.Tell(restore, report.RestoreEvents(old, status))
	}
	return later, err
}
