package schedule

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

// publish writes the status if it differs, and only when it is stored says what became different.
func (r *Reconciler) publish(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, o scheduleplan.Observation, d scheduleplan.Decision,
) (later time.Duration, err error) {
	key := client.ObjectKeyFromObject(s)
	old, status := s.Status, scheduleplan.Status(o, d, s.Status)
	if o.Cluster.Exists {
		r.Metrics.Observe(key, s.Spec.ClusterRef.Name, scheduleTimes{
			backup: scheduleplan.ExpectedBy(o, status), proof: scheduleplan.ProofExpectedBy(o), proven: status.LastProvenTime,
		})
	} else {
		r.Metrics.Forget(key)
	}
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	updated := s.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, s, updated)
	if stored {
		r.Tell(s, scheduleplan.Events(d, old))
	}
	return later, err
}
