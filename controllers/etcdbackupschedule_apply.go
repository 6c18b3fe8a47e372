package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// apply makes one change. What the platform refuses comes as apply.Rejected or apply.Later; apply.ErrStale asks to look again.
func (r *EtcdBackupScheduleReconciler) apply(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change schedule.Change) error {
	switch change := change.(type) {
	case schedule.CreateRun:
		return r.createRun(ctx, s, change)
	case schedule.RecordRun:
		return r.annotate(ctx, s, v1alpha1.AnnotationLastRun, words.Format(change.At))
	}
	return fmt.Errorf("the change %T of the schedule %s is unknown", change, client.ObjectKeyFromObject(s))
}

// createRun makes the EtcdBackup of a run. The schedule does not own it: it outlives the schedule, as what is in the store does.
func (r *EtcdBackupScheduleReconciler) createRun(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, run schedule.CreateRun) error {
	b := &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: run.Name,
			Labels: map[string]string{
				v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelInstance: s.Spec.ClusterRef.Name, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
				v1alpha1.LabelComponent: v1alpha1.ComponentBackup, v1alpha1.LabelSchedule: s.Name,
			},
		},
		Spec: s.Spec.BackupSpec(),
	}
	err := r.create(ctx, s, b)
	if errors.Is(err, apply.ErrStale) {
		return r.existing(ctx, s, b)
	}
	return err
}

// existing tells a run of this schedule that the cache does not show yet from another EtcdBackup.
func (r *EtcdBackupScheduleReconciler) existing(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, b *v1alpha1.EtcdBackup) error {
	is, err := absentAsNil(ctx, r.Live, b.Namespace, b.Name, &v1alpha1.EtcdBackup{})
	if err != nil {
		return err
	}
	if is == nil || isRunOf(s, is) {
		return apply.ErrStale
	}
	return apply.Rejected{Reason: schedule.ReasonNameTaken, Message: fmt.Sprintf(
		"The EtcdBackup %s, whose name this run needs, is there and is not of this schedule. Delete it, or wait for the next run.", b.Name)}
}

// publish writes the status if it differs, and only when it is stored says what became different.
func (r *EtcdBackupScheduleReconciler) publish(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, o schedule.Observation, d schedule.Decision,
) (later time.Duration, err error) {
	key := client.ObjectKeyFromObject(s)
	old, status := s.Status, schedule.Status(o, d, s.Status)
	if o.Cluster.Exists {
		r.Metrics.ObserveSchedule(key, s.Spec.ClusterRef.Name, scheduleTimes{
			backup: schedule.ExpectedBy(o, status), proof: schedule.ProofExpectedBy(o), proven: status.LastProvenTime,
		})
	} else {
		r.Metrics.ForgetSchedule(key)
	}
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	updated := s.DeepCopy()
	updated.Status = status
	stored, later, err := r.writeStatus(ctx, s, updated)
	if stored {
		r.tell(s, schedule.Events(d, old))
	}
	return later, err
}
