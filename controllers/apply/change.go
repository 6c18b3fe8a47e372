package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// metadataPatch changes labels and annotations; a nil value takes a key away.
type metadataPatch struct {
	Labels      map[string]*string
	Annotations map[string]*string
}

// patchMetadata patches one object and no other of its name: a UID in a patch that is not the object's is refused as
// invalid (kubernetes/kubernetes:pkg/controller/controller_ref_manager.go relies on that). No resource version goes
// along: a Pod's moves with each word of its kubelet, and what these patches say is true of the object under any
// status.
func (s step) patchMetadata(ctx context.Context, kind string, object ctrlclient.Object, uid string,
	p metadataPatch) error {
	metadata := map[string]any{"uid": uid}
	if len(p.Labels) > 0 {
		metadata["labels"] = p.Labels
	}
	if len(p.Annotations) > 0 {
		metadata["annotations"] = p.Annotations
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("patching %s %s: %w", kind, object.GetName(), err)
	}
	object.SetNamespace(s.cluster.Namespace)
	name := object.GetName()
	err = s.Client.Patch(ctx, object, ctrlclient.RawPatch(types.MergePatchType, body), FieldOwner)
	switch {
	case apierrors.IsNotFound(err):
		return ErrStale
	case apierrors.IsInvalid(err) && s.isAnother(ctx, object, name, uid):
		return ErrStale
	}
	return Answer(err, fmt.Sprintf("patching %s %s", kind, name))
}

// isAnother reports whether an object of that name is certainly not the one with the UID.
func (s step) isAnother(ctx context.Context, object ctrlclient.Object, name, uid string) bool {
	err := s.Live.Get(ctx, ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: name}, object)
	return apierrors.IsNotFound(err) || err == nil && object.GetUID() != types.UID(uid)
}

// update patches an object that was read live by what edit changes, unless it moved since.
func (s step) update(ctx context.Context, kind string, live ctrlclient.Object, edit func()) error {
	before := live.DeepCopyObject().(ctrlclient.Object)
	edit()
	patch := ctrlclient.MergeFromWithOptions(before, ctrlclient.MergeFromWithOptimisticLock{})
	err := s.Client.Patch(ctx, live, patch, FieldOwner)
	if apierrors.IsNotFound(err) {
		return ErrStale
	}
	return Answer(err, fmt.Sprintf("patching %s %s", kind, before.GetName()))
}

// delete deletes one object and no other of its name, as it was read just now. It is done when that object is gone or
// on its way. Nothing is ever deleted without the time that it asks for to stop.
func (s step) delete(ctx context.Context, kind string, like ctrlclient.Object, uid string) error {
	live, err := s.find(ctx, kind, like)
	if err != nil || live == nil || uid != "" && live.GetUID() != types.UID(uid) || live.GetDeletionTimestamp() != nil {
		return err
	}
	precondition := ctrlclient.Preconditions{UID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion())}
	err = s.Client.Delete(ctx, live, precondition)
	return Answer(ctrlclient.IgnoreNotFound(err), fmt.Sprintf("deleting %s %s", kind, live.GetName()))
}
