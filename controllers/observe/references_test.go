package observe_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func referring() *v1alpha1.EtcdCluster {
	secret := func(name string) *v1alpha1.StoreSecretReference { return &v1alpha1.StoreSecretReference{Name: name} }
	return &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{
		Storage: &v1alpha1.StorageSpec{StorageClassName: new("fast")},
		Image:   &v1alpha1.ImageSpec{PullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}},
		Bootstrap: &v1alpha1.BootstrapSpec{Restore: &v1alpha1.RestoreSource{Store: &v1alpha1.BackupStore{
			S3: &v1alpha1.S3Store{CredentialsSecretRef: secret("keys"), CASecretRef: secret("roots")}}}},
	}}
}

// server has these objects, and refuses what is not for the operator to read.
func server(t *testing.T, mayRead bool, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kube := kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return interceptor.NewClient(kube, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
		o client.Object, opts ...client.GetOption) error {
		if _, isPartial := o.(*metav1.PartialObjectMetadata); !isPartial {
			t.Errorf("more than the metadata of %s is read", key)
		}
		if !mayRead {
			return apierrors.NewForbidden(storagev1.Resource("storageclasses"), key.Name, nil)
		}
		return c.Get(ctx, key, o, opts...)
	}})
}

func TestWhatASpecNamesAndIsNotThereIsToldByItsField(t *testing.T) {
	refs := observe.ReferencesOfCluster(referring())
	got, err := observe.Absent(t.Context(), server(t, true), jobworld.MayGetAllBut(), "shop", refs)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"spec.storage.storageClassName names the StorageClass fast,", "spec.image.pullSecrets[0] names the Secret pull,",
		"spec.bootstrap.restore.store.s3.credentialsSecretRef names the Secret keys,", "spec.bootstrap.restore.store.s3.caSecretRef names the Secret roots,"} {
		if len(got) != 4 || !strings.HasPrefix(got[i], want+" which does not exist. Create it: until then ") {
			t.Errorf("want %q: %q", want, got)
		}
	}
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	full := server(t, true, &storagev1.StorageClass{ObjectMeta: meta("", "fast")}, &corev1.Secret{ObjectMeta: meta("shop", "pull")},
		&corev1.Secret{ObjectMeta: meta("shop", "keys")}, &corev1.Secret{ObjectMeta: meta("other", "roots")})
	got, err = observe.Absent(t.Context(), full, jobworld.MayGetAllBut(), "shop", refs)
	if err != nil || len(got) != 1 || !strings.Contains(got[0], "roots") {
		t.Errorf("only the Secret of another namespace is missing: %q, %v", got, err)
	}
	got, err = observe.Absent(t.Context(), server(t, false), jobworld.MayGetAllBut(), "shop", refs)
	if err != nil || len(got) > 0 {
		t.Errorf("what may not be read is missing: %q, %v", got, err)
	}
}

func TestTheSecretOfACAThatIsNotThereIsToldByItsField(t *testing.T) {
	c := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{TLS: &v1alpha1.TLSSpec{ClientCA: caFrom("clients"), PeerCA: caFrom("peers")}}}
	got, err := observe.Absent(t.Context(), server(t, true), jobworld.MayGetAllBut(), "shop", observe.ReferencesOfCluster(c))
	if err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "spec.tls.clientCA.secretRef.name names the Secret clients,") ||
		!strings.HasPrefix(got[1], "spec.tls.peerCA.secretRef.name names the Secret peers,") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatAUserMayNotGetIsNotToldAsMissing(t *testing.T) {
	refs := append(observe.ReferencesOfCluster(referring()), observe.ReferencesOfStore("spec.store",
		&v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}, "")...)
	for denied, want := range map[corev1.ResourceName]string{
		corev1.ResourceSecrets:                "StorageClass PersistentVolumeClaim",
		corev1.ResourcePersistentVolumeClaims: "StorageClass Secret Secret Secret",
	} {
		got, err := observe.Absent(t.Context(), server(t, true), jobworld.MayGetAllBut(denied), "shop", refs)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, sentence := range got {
			kinds = append(kinds, strings.Fields(sentence)[3])
		}
		if said := strings.Join(kinds, " "); said != want {
			t.Errorf("who may not get %s hears of %s", denied, said)
		}
	}
}

func TestAStoreOnAVolumeNamesItsClaim(t *testing.T) {
	store := &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}
	refs := observe.ReferencesOfStore("spec.store", store, "the backup does not start")
	if len(refs) != 1 || refs[0].Field != "spec.store.volume.claimName" || refs[0].Kind.Kind != "PersistentVolumeClaim" {
		t.Errorf("%+v", refs)
	}
	if refs := observe.ReferencesOfStore("spec.store", nil, ""); len(refs) > 0 {
		t.Errorf("%+v", refs)
	}
}
