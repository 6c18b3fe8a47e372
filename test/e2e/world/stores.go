package world

import (
	"context"
	"crypto/rand"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// hostAddress is where Pods of localkube find this machine.
const hostAddress = "198.18.0.1"

// S3Server starts a real S3 server on this machine, which Pods of localkube reach, until the story ends. Where localkube is, a story
// that cannot have one fails: if it were passed over, a run of it would look like a success.
func (w *World) S3Server(kind s3server.Kind) *s3server.Server {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	gomega.Expect(os.Getenv("S3_BINARIES")).NotTo(gomega.BeEmpty(), "build the servers (make bin/s3/versitygw bin/s3/rclone) and set S3_BINARIES to bin/s3, as make does")
	return s3server.Start(ginkgo.GinkgoTB(), kind, s3server.Options{Host: hostAddress, TLS: true})
}

// ToS3 is a store on a server, or on a proxy before one; its credentials and its authority are Secrets of the story.
func (s *Story) ToS3(ctx context.Context, access s3server.Access) v1alpha1.BackupStore {
	ginkgo.GinkgoHelper()
	return v1alpha1.BackupStore{S3: &v1alpha1.S3Store{
		Bucket: access.Bucket, Prefix: "stories/" + s.Namespace, Endpoint: access.Endpoint, Region: access.Region, ForcePathStyle: true,
		CredentialsSecretRef: s.secret(ctx, map[string]string{"access-key-id": access.AccessKeyID, "secret-access-key": access.SecretAccessKey}),
		CASecretRef:          s.secret(ctx, map[string]string{"ca.crt": string(access.CA)}),
	}}
}

// Signed is the store with a key of its own for the manifests of what lies on its volume.
func (s *Story) Signed(ctx context.Context, store v1alpha1.BackupStore) v1alpha1.BackupStore {
	ginkgo.GinkgoHelper()
	signed := store.DeepCopy()
	signed.Volume.CredentialsSecretRef = s.secret(ctx, map[string]string{"manifest-key": rand.Text() + rand.Text()})
	return *signed
}

func (s *Story) secret(ctx context.Context, data map[string]string) *v1alpha1.StoreSecretReference {
	ginkgo.GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "store-"}, StringData: data}
	gomega.Expect(s.Client.Create(ctx, secret)).To(gomega.Succeed())
	return &v1alpha1.StoreSecretReference{Name: secret.Name}
}
