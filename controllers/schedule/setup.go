package schedule

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// parallelPasses bounds the passes at once; one waits for nothing but the API server.
const parallelPasses = 2

// Add adds the controller of schedules to a manager. Install is what this operator is and which clock it reads,
// agentImage tells what the Jobs of schedules run from.
func Add(mgr ctrl.Manager, install kit.Install, agentImage func(context.Context) (string, error)) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	frame := kit.NewFrame(mgr, install)
	r := &Reconciler{Frame: frame, Metrics: registered, AgentImage: agentImage,
		Secrets: observe.NewSecretCache(frame.Live, frame.Now)}
	if err := kit.ServeAdmission(mgr, install, r.admit); err != nil {
		return err
	}
	err = kit.ControllerOf(mgr, kit.Kind{
		Name: "etcdbackupschedule", Object: &v1alpha1.EtcdBackupSchedule{}, Word: "schedule", Parallel: parallelPasses,
		IsTold: func(o client.Object) bool {
			s, ok := o.(*v1alpha1.EtcdBackupSchedule)
			return ok && len(s.Status.Conditions) > 0
		},
	}).
		Owns(&batchv1.Job{}).
		Watches(&v1alpha1.EtcdBackup{}, kit.ByLabel(v1alpha1.LabelSchedule)).
		Watches(&corev1.Pod{}, kit.ByLabel(v1alpha1.LabelSchedule)).
		Complete(r.Traced(&v1alpha1.EtcdBackupSchedule{}, r))
	if err != nil {
		return fmt.Errorf("setting up the controller of schedules: %w", err)
	}
	return nil
}
