package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// publishRestores writes the status of the EtcdRestores that name the cluster. Only the pass that carries them out knows how
// they stand. One that was written meanwhile is told of by the next pass.
func (r *EtcdClusterReconciler) publishRestores(ctx context.Context, in report.Input) error {
	if len(in.Observation.Requests) == 0 {
		r.Metrics.ObserveRestores(keyOf(in.Cluster), nil)
		return nil
	}
	restores, err := restoresOf(ctx, r.Client, in.Cluster)
	if err != nil {
		return err
	}
	var (
		errs []error
		seen []v1alpha1.EtcdRestoreStatus
	)
	for i := range restores {
		status, is := report.Restore(in, &restores[i])
		if !is {
			seen = append(seen, restores[i].Status)
			continue
		}
		seen = append(seen, status)
		errs = append(errs, r.publishRestore(ctx, &restores[i], status))
	}
	r.Metrics.ObserveRestores(keyOf(in.Cluster), seen)
	return errors.Join(errs...)
}

func (r *EtcdClusterReconciler) publishRestore(ctx context.Context, restore *v1alpha1.EtcdRestore, status v1alpha1.EtcdRestoreStatus) error {
	old := restore.Status
	if equality.Semantic.DeepEqual(old, status) {
		return nil
	}
	updated := restore.DeepCopy()
	updated.Status = status
	err := r.Client.Status().Patch(ctx, updated, client.MergeFromWithOptions(restore, client.MergeFromWithOptimisticLock{}), fieldOwner)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("writing the status of the EtcdRestore %s: %w", client.ObjectKeyFromObject(restore), err)
	}
	for _, event := range report.RestoreEvents(old, status) {
		r.Recorder.Eventf(restore, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return nil
}

// backupsOf are the complete backups of a cluster, where something has to be said of them.
func (r *EtcdClusterReconciler) backupsOf(ctx context.Context, cluster *v1alpha1.EtcdCluster, o plan.Observation) ([]report.Backup, error) {
	if !report.ShowsEvidence(o) {
		return nil, nil
	}
	var list v1alpha1.EtcdBackupList
	if err := r.Client.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackups of %s: %w", keyOf(cluster), err)
	}
	var backups []report.Backup
	for i := range list.Items {
		b := &list.Items[i]
		record, err := backup.DecodeRecord(b.Annotations[v1alpha1.AnnotationBackupRecord], b.Namespace, b.Name)
		if err != nil || b.Spec.ClusterRef.Name != cluster.Name || record.Outcome == nil || !record.Outcome.Complete {
			continue
		}
		facts := record.Outcome.Facts
		backups = append(backups, report.Backup{
			Name: b.Name, ClusterID: facts.ClusterID, Revision: facts.Revision, StartedAt: facts.StartedAt, Proven: !record.Outcome.VerifiedAt.IsZero(),
		})
	}
	return backups, nil
}
