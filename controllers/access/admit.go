package access

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// admit says what the first pass over a client would say, before it is stored. What cannot become good is refused,
// and what a person has to put right first is a warning. It asks no member and reads no Secret: who may create an
// object can ask in a loop.
func (r *Reconciler) admit(ctx context.Context, _ kit.MayGet, before, now *v1alpha1.EtcdClient) (kit.Said, error) {
	var said kit.Said
	if before != nil {
		return said, nil // all but permissions and quota stays as it was
	}
	seen, err := r.lookAround(ctx, now)
	if err != nil || seen.isIgnored() {
		return said, err
	}
	decision := accessplan.Next(seen.Observation)
	if decision.Reason == accessplan.ReasonUserReserved {
		said.Refusals = field.ErrorList{field.Invalid(field.NewPath("spec", "user"), now.UserOrDefault(),
			decision.Message)}
		return said, nil
	}
	if decision.Trouble {
		said.Warn(decision.Message)
	}
	return said, nil
}
