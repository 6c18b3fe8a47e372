package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Reference is an object of others that a spec names, and that may come later than the spec.
type Reference struct {
	Field string // of the spec
	Kind  schema.GroupVersionKind
	Name  string
	Needs string // what waits until the object is there
}

var (
	kindSecret = corev1.SchemeGroupVersion.WithKind("Secret")
	kindClaim  = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	kindClass  = storagev1.SchemeGroupVersion.WithKind("StorageClass")
)

// resourcesOf are what a user has to be allowed to get to be told that an object is not there. A StorageClass lies in
// no namespace and holds no secret.
var resourcesOf = map[schema.GroupVersionKind][]corev1.ResourceName{
	kindSecret: {corev1.ResourceSecrets},
	kindClaim:  {corev1.ResourcePersistentVolumeClaims},
}

// ReferencesOfCluster are the objects that the spec of a cluster names.
func ReferencesOfCluster(cluster *v1alpha1.EtcdCluster) []Reference {
	var refs []Reference
	if storage := cluster.Spec.Storage; storage != nil && storage.StorageClassName != nil {
		refs = append(refs, Reference{Field: "spec.storage.storageClassName", Kind: kindClass,
			Name: *storage.StorageClassName, Needs: "members have no volume, and do not start"})
	}
	if image := cluster.Spec.Image; image != nil {
		for i, secret := range image.PullSecrets {
			refs = append(refs, Reference{Field: fmt.Sprintf("spec.image.pullSecrets[%d]", i), Kind: kindSecret,
				Name: secret.Name, Needs: "nodes pull the image without it"})
		}
	}
	if bootstrap := cluster.Spec.Bootstrap; bootstrap != nil && bootstrap.Restore != nil {
		refs = append(refs, ReferencesOfStore("spec.bootstrap.restore.store", bootstrap.Restore.Store,
			"the restore does not start")...)
	}
	return slices.DeleteFunc(refs, func(r Reference) bool { return r.Name == "" })
}

// ReferencesOfStore are the objects that a store of backups names; needs says what waits for them.
func ReferencesOfStore(at string, store *v1alpha1.BackupStore, needs string) []Reference {
	var refs []Reference
	add := func(field string, secrets ...*v1alpha1.StoreSecretReference) {
		for i, secret := range secrets {
			if secret != nil {
				refs = append(refs, Reference{Kind: kindSecret, Name: secret.Name, Needs: needs,
					Field: at + field + []string{".credentialsSecretRef", ".caSecretRef"}[i]})
			}
		}
	}
	switch {
	case store == nil:
	case store.S3 != nil:
		add(".s3", store.S3.CredentialsSecretRef, store.S3.CASecretRef)
	case store.GCS != nil:
		add(".gcs", store.GCS.CredentialsSecretRef, store.GCS.CASecretRef)
	case store.Azure != nil:
		add(".azure", store.Azure.CredentialsSecretRef, store.Azure.CASecretRef)
	case store.Volume != nil:
		add(".volume", store.Volume.CredentialsSecretRef)
		refs = append(refs, Reference{Field: at + ".volume.claimName", Kind: kindClaim, Name: store.Volume.ClaimName,
			Needs: needs})
	}
	return refs
}

// Absent says which of the references lead to nothing, in a sentence each. It reads no more than the metadata of an
// object. One that the operator, or who is told, may not read counts as there.
func Absent(ctx context.Context, live client.Reader, mayGet func(context.Context, ...corev1.ResourceName) (bool, error),
	namespace string, refs []Reference) ([]string, error) {
	var sentences []string
	for _, ref := range refs {
		isTold, err := mayGet(ctx, resourcesOf[ref.Kind]...)
		if err != nil {
			return sentences, err
		}
		if !isTold {
			continue
		}
		isThere, err := exists(ctx, live, namespace, ref)
		if err != nil {
			return sentences, err
		}
		if !isThere {
			sentences = append(sentences, fmt.Sprintf("%s names the %s %s, which does not exist. Create it: until "+
				"then %s.", ref.Field, ref.Kind.Kind, ref.Name, ref.Needs))
		}
	}
	return sentences, nil
}

func exists(ctx context.Context, live client.Reader, namespace string, ref Reference) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(ref.Kind)
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	if ref.Kind == kindClass {
		key.Namespace = ""
	}
	err := live.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err == nil, apierrors.IsForbidden(err):
		return true, nil
	}
	return false, fmt.Errorf("reading the %s %s: %w", ref.Kind.Kind, key, err)
}
