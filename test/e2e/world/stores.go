package world

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// hostAddress is where Pods of localkube find this machine, and hostAddress6 where those of one without IPv4 do.
const hostAddress, hostAddress6 = "198.18.0.1", "2001:2::1"

// S3Server starts a real S3 server on this machine, which Pods of localkube reach, until the story ends. Where
// localkube is, a story that cannot have one fails: if it were passed over, a run of it would look like a success.
func (w *World) S3Server(kind s3server.Kind) *s3server.Server {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	gomega.Expect(os.Getenv("S3_BINARIES")).NotTo(gomega.BeEmpty(), "build the servers (make bin/s3/versitygw bin/s3/rclone) and set S3_BINARIES to bin/s3, as make does")
	host := hostAddress
	if strings.Contains(w.Config.Host, "[") { // the first family is IPv6
		host = hostAddress6
	}
	return s3server.Start(ginkgo.GinkgoTB(), kind, s3server.Options{Host: host, TLS: true})
}

// ToS3 is a store on a server, or on a proxy before one; its credentials and its CA are Secrets of the story.
func (s *Story) ToS3(ctx context.Context, access s3server.Access) v1alpha1.BackupStore {
	ginkgo.GinkgoHelper()
	return v1alpha1.BackupStore{S3: &v1alpha1.S3Store{
		Bucket: access.Bucket, Prefix: "stories/" + s.Namespace, Endpoint: access.Endpoint, Region: access.Region, ForcePathStyle: true,
		CredentialsSecretRef: s.secret(ctx, map[string]string{"access-key-id": access.AccessKeyID, "secret-access-key": access.SecretAccessKey}),
		CASecretRef:          s.ca(ctx, access.CA),
	}}
}

// Bucket is a store on a real server of this machine, which Pods of localkube reach until the story ends.
type Bucket struct {
	Store  v1alpha1.BackupStore
	Prefix string // of each key; it is the story's own
	// Put writes an object as another tool does.
	Put func(ctx context.Context, key string, content []byte) error
}

// Bucket starts a server by the name of its program. Where npm is missing there is none of Azure's, and the story is
// skipped.
func (s *Story) Bucket(ctx context.Context, program s3server.Kind) Bucket {
	ginkgo.GinkgoHelper()
	s.NeedLocalkube()
	b := Bucket{Prefix: "stories/" + s.Namespace}
	switch program {
	case gcsserver.Program:
		gomega.Expect(os.Getenv("GCS_BINARIES")).NotTo(gomega.BeEmpty(), "build the server (make bin/gcs/fake-gcs-server) and set GCS_BINARIES to bin/gcs, as make does")
		server := gcsserver.StartTLS(ginkgo.GinkgoTB(), hostAddress)
		b.Put, b.Store.GCS = server.Put, &v1alpha1.GCSStore{
			Bucket: server.Bucket, Prefix: b.Prefix, Endpoint: server.Endpoint,
			CredentialsSecretRef: s.mounted(ctx, server.Credentials), CASecretRef: s.ca(ctx, server.CA),
		}
	case azureserver.Program:
		server := azureserver.StartTLS(ginkgo.GinkgoTB(), hostAddress)
		b.Put, b.Store.Azure = server.Put, &v1alpha1.AzureStore{
			Container: server.Container, Prefix: b.Prefix, Endpoint: server.Endpoint,
			CredentialsSecretRef: s.mounted(ctx, server.Credentials), CASecretRef: s.ca(ctx, server.CA),
		}
	default:
		server := s.S3Server(program)
		b.Put, b.Store = server.Put, s.ToS3(ctx, server.Access)
	}
	return b
}

// mounted is a Secret with the files of a directory, as the kubelet would mount it.
func (s *Story) mounted(ctx context.Context, directory string) *v1alpha1.StoreSecretReference {
	ginkgo.GinkgoHelper()
	entries, err := os.ReadDir(directory)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	data := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		data[entry.Name()] = string(content)
	}
	return s.secret(ctx, data)
}

func (s *Story) ca(ctx context.Context, pem []byte) *v1alpha1.StoreSecretReference {
	ginkgo.GinkgoHelper()
	return s.secret(ctx, map[string]string{"ca.crt": string(pem)})
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
