package controllers

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Bounds of passes at once. One over a backup may wait a second for a Pod to tell its progress, one over a schedule for nobody
// but the API server.
const (
	parallelBackups   = 8
	parallelSchedules = 2
)

// AddBackups adds the controllers of backups and of their schedules to a manager. Operator is the namespace/name by which this install claims
// clusters, agentImage tells what backups run from.
func AddBackups(mgr ctrl.Manager, operator string, agentImage func(context.Context) (string, error)) error {
	registered, err := NewBackupMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	r := &EtcdBackupReconciler{frame: newFrame(mgr, operator), Metrics: registered, AgentImage: agentImage, Progress: askProgress(newProgressClient())}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return (&EtcdBackupScheduleReconciler{frame: newFrame(mgr, operator), Metrics: registered, AgentImage: agentImage}).setup(mgr)
}

func (r *EtcdBackupReconciler) setup(mgr ctrl.Manager) error {
	err := controllerOf(mgr, kind{
		name: "etcdbackup", object: &v1alpha1.EtcdBackup{}, word: "backup", parallel: parallelBackups,
		isTold: func(o client.Object) bool {
			b, is := o.(*v1alpha1.EtcdBackup)
			return is && len(b.Status.Conditions) > 0
		},
	}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, byLabel(v1alpha1.LabelBackup)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of backups: %w", err)
	}
	return nil
}

func (r *EtcdBackupScheduleReconciler) setup(mgr ctrl.Manager) error {
	err := controllerOf(mgr, kind{
		name: "etcdbackupschedule", object: &v1alpha1.EtcdBackupSchedule{}, word: "schedule", parallel: parallelSchedules,
		isTold: func(o client.Object) bool {
			s, is := o.(*v1alpha1.EtcdBackupSchedule)
			return is && len(s.Status.Conditions) > 0
		},
	}).
		Owns(&batchv1.Job{}).
		Watches(&v1alpha1.EtcdBackup{}, byLabel(v1alpha1.LabelSchedule)).
		Watches(&corev1.Pod{}, byLabel(v1alpha1.LabelSchedule)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of schedules: %w", err)
	}
	return nil
}
