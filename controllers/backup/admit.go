package backup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// admit says what the first pass over a backup would say, before it is stored. One that would fail at once is refused.
// The spec of an EtcdBackup cannot change, so there is nothing to say of one that exists.
func (r *Reconciler) admit(ctx context.Context, mayGet kit.MayGet,
	before, now *v1alpha1.EtcdBackup) (kit.Said, error) {
	var said kit.Said
	if before != nil {
		return said, nil
	}
	seen, err := r.look(ctx, now)
	if err != nil {
		return said, err
	}
	decision := backupplan.Next(seen.Observation)
	if decision.Ignored {
		return said, nil
	}
	end, isEnd := decision.Change.(backupplan.RecordOutcome)
	switch {
	case isEnd && end.Outcome.Reason == backupplan.ReasonClaimOfAMember:
		if isTold, err := mayGet(ctx, corev1.ResourcePersistentVolumeClaims); !isTold || err != nil {
			return said, err
		}
		said.Refusals = field.ErrorList{field.Invalid(field.NewPath("spec", "store", "volume", "claimName"),
			now.Spec.Store.Volume.ClaimName, decision.Message)}
		return said, nil
	case decision.Trouble:
		said.Warn(decision.Message)
	}
	absent, err := observe.Absent(ctx, r.Live, mayGet, now.Namespace,
		observe.ReferencesOfStore("spec.store", &now.Spec.Store, "the backup does not start"))
	said.Warnings = append(said.Warnings, absent...)
	return said, err
}
