package world

import (
	"context"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// Access is one EtcdClient of a story.
type Access struct {
	cluster *Cluster
	name    string
}

// Below is a permission to read and write the keys with a prefix.
func Below(prefix string) v1alpha1.ClientPermission {
	return v1alpha1.ClientPermission{Prefix: prefix, Access: v1alpha1.AccessReadWrite}
}

// CreateClient creates an EtcdClient with these permissions.
func (c *Cluster) CreateClient(ctx context.Context, name string, permissions ...v1alpha1.ClientPermission) *Access {
	ginkgo.GinkgoHelper()
	gomega.Expect(c.Client.Create(ctx, &v1alpha1.EtcdClient{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec: v1alpha1.EtcdClientSpec{ClusterRef: v1alpha1.ClientClusterReference{Name: c.Name},
			Permissions: permissions},
	})).To(gomega.Succeed())
	return &Access{cluster: c, name: name}
}

// Get reads the EtcdClient.
func (a *Access) Get(ctx context.Context) (*v1alpha1.EtcdClient, error) {
	object := &v1alpha1.EtcdClient{}
	return object, a.cluster.Client.Get(ctx, ctrlclient.ObjectKey{Namespace: a.cluster.Namespace, Name: a.name}, object)
}

// Reason is the reason of its condition Ready, once that judges the spec as it is; empty before.
func (a *Access) Reason(ctx context.Context) (string, error) {
	object, err := a.Get(ctx)
	if err != nil {
		return "", err
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == v1alpha1.ClientReady && condition.ObservedGeneration == object.Generation {
			return condition.Reason, nil
		}
	}
	return "", nil
}

// Allow changes its permissions.
func (a *Access) Allow(ctx context.Context, permissions ...v1alpha1.ClientPermission) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		object, err := a.Get(ctx)
		if err != nil {
			return err
		}
		object.Spec.Permissions = permissions
		return a.cluster.Client.Update(ctx, object)
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// Delete deletes it.
func (a *Access) Delete(ctx context.Context) {
	ginkgo.GinkgoHelper()
	object, err := a.Get(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(a.cluster.Client.Delete(ctx, object)).To(gomega.Succeed())
}

// Connect is a program with what its Secret holds.
func (a *Access) Connect(ctx context.Context) *clientv3.Client {
	ginkgo.GinkgoHelper()
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: a.cluster.Namespace, Name: a.name + "-etcd"}
	gomega.Expect(a.cluster.Client.Get(ctx, key, secret)).To(gomega.Succeed())
	gomega.Expect(string(secret.Data["endpoints"])).To(gomega.Equal(
		fmt.Sprintf("https://%s.%s.svc:2379", a.cluster.Name, a.cluster.Namespace)))
	config, err := pki.ClientTLS(secret.Data["ca.crt"],
		pki.Pair{Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	names := &names{}
	endpoints, err := a.cluster.endpoints(ctx, names)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	etcd, err := client.Dial(client.Options{Endpoints: endpoints, TLS: config, Connect: names.connect})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(etcd.Close)
	return etcd
}
