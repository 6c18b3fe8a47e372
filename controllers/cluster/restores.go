package cluster

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// publishRestores writes the status of the EtcdRestores that name the cluster. Only the pass that carries them out
// knows how they stand. One that was written meanwhile is told of by the next pass.
func (r *Reconciler) publishRestores(ctx context.Context, in report.Input) error {
	if len(in.Observation.Requests) == 0 {
		r.Metrics.ObserveRestores(client.ObjectKeyFromObject(in.Cluster), nil)
		return nil
	}
	restores, err := observe.RestoresOf(ctx, r.Client, in.Cluster)
	if err != nil {
		return err
	}
	var (
		errs []error
		seen []v1alpha1.EtcdRestoreStatus
	)
	for i := range restores {
		status, ok := report.Restore(in, &restores[i])
		if !ok {
			seen = append(seen, restores[i].Status)
			continue
		}
		seen = append(seen, status)
		errs = append(errs, r.publishRestore(ctx, &restores[i], status))
	}
	r.Metrics.ObserveRestores(client.ObjectKeyFromObject(in.Cluster), seen)
	return errors.Join(errs...)
}

func (r *Reconciler) publishRestore(ctx context.Context, restore *v1alpha1.EtcdRestore,
	status v1alpha1.EtcdRestoreStatus) error {
	old := restore.Status
	if equality.Semantic.DeepEqual(old, status) {
		return nil
	}
	updated := restore.DeepCopy()
	updated.Status = status
	if stored, _, err := r.WriteStatus(ctx, restore, updated); !stored {
		return err
	}
	r.Tell(restore, report.RestoreEvents(old, status))
	return nil
}
