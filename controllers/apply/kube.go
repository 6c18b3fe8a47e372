package apply

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

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

// isData tells what is kept without an owner: volumes and authorities.
func (s step) isData(object ctrlclient.Object) bool {
	switch object.(type) {
	case *corev1.PersistentVolumeClaim:
		return true
	case *corev1.Secret:
		return resources.IsAuthority(s.cluster, object.GetName())
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
