package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch

// resizePod gives a Pod that runs other amounts, then writes on it what it was made from: pods/resize takes no
// annotations. Where only the first was done the Pod says what it had before, and the same change is wanted again.
func (s step) resizePod(ctx context.Context, c changes.ResizePod) error {
	live, err := s.podOf(ctx, c.Pod.Name)
	switch {
	case err != nil:
		return err
	case live == nil || live.UID != types.UID(c.Pod.UID) || live.DeletionTimestamp != nil:
		return ErrStale
	}
	in, err := resources.DecodeInputs(c.Choices.Inputs)
	if err != nil {
		return err
	}
	body, err := resources.ResizePatch(live, in)
	if err != nil {
		return err
	}
	doing := "changing CPU and memory of Pod " + c.Pod.Name
	patch := ctrlclient.RawPatch(types.StrategicMergePatchType, body)
	err = s.Client.SubResource("resize").Patch(ctx, live, patch, FieldOwner)
	switch {
	case apierrors.IsNotFound(err) && s.isAnother(ctx, podNamed(c.Pod.Name), c.Pod.Name, c.Pod.UID):
		return ErrStale
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return Rejected{Reason: RejectedInvalid, Message: fmt.Sprintf("%s: this Kubernetes has no pods/resize, which "+
			"1.33 and later have; the member is restarted instead", doing)}
	case err != nil:
		return Answer(err, doing)
	}
	return s.restoreInputs(ctx, changes.RestoreInputs(c))
}
