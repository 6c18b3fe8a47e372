package backup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// progressInterval is how often the status shows how far a step is.
const progressInterval = 5 * time.Second

// publish writes the status if it differs, and only when it is stored says what became different. A result above zero
// means that progress waits to be written until then.
func (r *Reconciler) publish(
	ctx context.Context, b *v1alpha1.EtcdBackup, o backupplan.Observation, d backupplan.Decision,
) (later time.Duration, err error) {
	key := client.ObjectKeyFromObject(b)
	old, status := b.Status, backupplan.Status(o, d, resources.BackupJob(b), b.Status)
	if o.Cluster.Exists {
		r.Metrics.Observe(key, b.Spec.ClusterRef.Name, status)
	} else {
		r.Metrics.Forget(key) // anybody can make up names of clusters, and each would have its series
	}
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	if isProgressOnly(old, status) {
		if later = r.written.Rest(key, r.Now(), progressInterval); later > 0 {
			return later, nil
		}
	}
	updated := b.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, b, updated)
	if !stored {
		return later, err
	}
	r.written.Set(key, r.Now())
	r.Tell(b, backupplan.Events(d, old, status))
	return 0, nil
}

// isProgressOnly reports that nothing differs but how far a step is.
func isProgressOnly(old, status v1alpha1.EtcdBackupStatus) bool {
	old.BytesTransferred, old.BytesTotal = status.BytesTransferred, status.BytesTotal
	return equality.Semantic.DeepEqual(old, status)
}
