package schedule

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

// admit says what passes over a schedule would say, before it is stored: of its times, which no schema can read, and of
// what it relies on.
func (r *Reconciler) admit(ctx context.Context, mayGet kit.MayGet,
	before, now *v1alpha1.EtcdBackupSchedule) (kit.Said, error) {
	var said kit.Said
	cluster, err := r.lookAtCluster(ctx, now)
	if err != nil || cluster.Operator != "" && cluster.Operator != r.Operator {
		return said, err
	}
	said.Refusals = refusalsOf(now, r.Now())
	store := observe.ReferencesOfStore("spec.store", &now.Spec.Store, "its backups do not start")
	if before != nil {
		said.Refusals = kit.NewRefusals(refusalsOf(before, r.Now()), said.Refusals)
		known := observe.ReferencesOfStore("spec.store", &before.Spec.Store, "its backups do not start")
		store = slices.DeleteFunc(store, func(r observe.Reference) bool { return slices.Contains(known, r) })
	}
	if len(said.Refusals) > 0 {
		return said, nil
	}
	said.Warn(scheduleplan.WhyNoCluster(now.Spec.ClusterRef.Name, cluster))
	absent, err := observe.Absent(ctx, r.Live, mayGet, now.Namespace, store)
	said.Warnings = append(said.Warnings, absent...)
	return said, err
}

func refusalsOf(s *v1alpha1.EtcdBackupSchedule, now time.Time) field.ErrorList {
	var errs field.ErrorList
	for _, fault := range scheduleplan.Faults(scheduleOf(s), now) {
		errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: fault.Field, BadValue: fault.Value,
			Detail: fault.Message})
	}
	return errs
}
