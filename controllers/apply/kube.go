package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// create makes an object. One of that name that is ours, and stays, counts as made; it is returned instead. The pass
// that asked for it did not see it: labels that it lost are put back, or it would be asked for again and again.
func (s step) create(ctx context.Context, kind string, object ctrlclient.Object) (ctrlclient.Object, error) {
	err := s.Client.Create(ctx, object, FieldOwner)
	if !apierrors.IsAlreadyExists(err) {
		return object, Answer(err, fmt.Sprintf("creating %s %s", kind, object.GetName()))
	}
	existing, err := s.find(ctx, kind, object)
	switch {
	case err != nil:
		return nil, err
	case existing == nil:
		return nil, Later{Reason: LaterTerminating,
			Message: fmt.Sprintf("%s %s was there and is gone", kind, object.GetName())}
	case existing.GetDeletionTimestamp() != nil:
		return nil, Later{Reason: LaterTerminating,
			Message: fmt.Sprintf("%s %s of that name is still being deleted", kind, object.GetName())}
	}
	return existing, s.remark(ctx, kind, existing)
}

// find reads what is there under an object's name; nil when nothing is. What is not ours is an error.
func (s step) find(ctx context.Context, kind string, like ctrlclient.Object) (ctrlclient.Object, error) {
	existing := reflect.New(reflect.TypeOf(like).Elem()).Interface().(ctrlclient.Object)
	key := ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: like.GetName()}
	err := s.Live.Get(ctx, key, existing)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind, key.Name, err)
	}
	return existing, s.checkOurs(kind, existing)
}

// findSeen is find of what was seen: that it is gone since, or has another UID, makes a decision stale. Without a UID
// any will do.
func (s step) findSeen(ctx context.Context, kind string, like ctrlclient.Object,
	uid string) (ctrlclient.Object, error) {
	found, err := s.find(ctx, kind, like)
	if err == nil && (found == nil || uid != "" && found.GetUID() != types.UID(uid)) {
		err = ErrStale
	}
	return found, err
}

// checkOurs returns an error unless an object belongs to this very cluster.
func (s step) checkOurs(kind string, object ctrlclient.Object) error {
	if s.isData(object) {
		if resources.IsDataOf(object, s.cluster.UID) {
			return nil
		}
		return NameTaken{Kind: kind, Name: object.GetName(), Owner: ownerOf(object)}
	}
	if resources.IsControlledBy(object, s.cluster.UID) {
		return nil
	}
	if s.isOfEarlierCluster(object) {
		return Later{Reason: LaterTerminating, Message: fmt.Sprintf(
			"%s %s belongs to an earlier cluster of this name; the garbage collector removes it", kind,
			object.GetName())}
	}
	return NameTaken{Kind: kind, Name: object.GetName(), Owner: ownerOf(object)}
}

// isData tells what is kept without an owner: volumes and CAs.
func (s step) isData(object ctrlclient.Object) bool {
	switch object.(type) {
	case *corev1.PersistentVolumeClaim:
		return true
	case *corev1.Secret:
		return resources.IsCA(s.cluster, object.GetName())
	}
	return false
}

func (s step) isOfEarlierCluster(object ctrlclient.Object) bool {
	ref := metav1.GetControllerOf(object)
	return ref != nil && ref.Kind == resources.KindCluster && ref.Name == s.cluster.Name &&
		ref.APIVersion == v1alpha1.GroupVersion.String()
}

func ownerOf(object ctrlclient.Object) string {
	if ref := metav1.GetControllerOf(object); ref != nil {
		return fmt.Sprintf("%s %s", ref.Kind, ref.Name)
	}
	if uid := object.GetLabels()[v1alpha1.LabelClusterUID]; uid != "" {
		return fmt.Sprintf("an %s with UID %s", resources.KindCluster, uid)
	}
	return ""
}

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

// serverSideApply puts the fields that are ours back on an object that is there. The UID goes along, so that an object
// that was deleted meanwhile gives a conflict and is not made anew, and another of its name is not changed. Applying
// blindly would merge into anybody's object.
//
// shape is given the wanted object as plain data, to take out what is not to be owned.
func (s step) serverSideApply(ctx context.Context, have, want ctrlclient.Object, shape func(map[string]any)) error {
	doing := fmt.Sprintf("correcting %s", want.GetName())
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	kind, err := s.Client.GroupVersionKindFor(want)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	delete(fields, "status")
	shape(fields)
	config := &unstructured.Unstructured{Object: fields}
	config.SetGroupVersionKind(kind)
	config.SetUID(have.GetUID())
	config.SetResourceVersion(want.GetResourceVersion())
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	err = s.Client.Apply(ctx, ctrlclient.ApplyConfigurationFromUnstructured(config), FieldOwner,
		ctrlclient.ForceOwnership)
	if apierrors.IsInvalid(err) && s.isAnother(ctx, want, want.GetName(), string(have.GetUID())) {
		return ErrStale
	}
	return Answer(err, doing)
}

// serviceFields says "false" where leaving it out would leave the "true" that another client wrote, and "none" where it
// would leave the source ranges that the Service was created with.
func serviceFields(fields map[string]any) {
	spec := fields["spec"].(map[string]any)
	if _, ok := spec["publishNotReadyAddresses"]; !ok {
		spec["publishNotReadyAddresses"] = false
	}
	if _, ok := spec["loadBalancerSourceRanges"]; !ok {
		spec["loadBalancerSourceRanges"] = []any{}
	}
}
