package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// Access is one EtcdClient of a story.
type Access struct {
	cluster         *Cluster
	namespace, name string
}

// Below is a permission to read and write the keys with a prefix.
func Below(prefix string) v1alpha1.ClientPermission {
	return v1alpha1.ClientPermission{Prefix: prefix, Access: v1alpha1.AccessReadWrite}
}

// CreateClient creates an EtcdClient with these permissions.
func (c *Cluster) CreateClient(ctx context.Context, name string, permissions ...v1alpha1.ClientPermission) *Access {
	ginkgo.GinkgoHelper()
	return c.createClient(ctx, metav1.ObjectMeta{Namespace: c.Namespace, Name: name}, v1alpha1.EtcdClientSpec{
		ClusterRef: v1alpha1.ClientClusterReference{Name: c.Name}, Permissions: permissions})
}

// CreateClientIn creates an EtcdClient in another namespace, with a password as well.
func (c *Cluster) CreateClientIn(ctx context.Context, namespace, name string, permissions ...v1alpha1.ClientPermission) *Access {
	ginkgo.GinkgoHelper()
	return c.createClient(ctx, metav1.ObjectMeta{Namespace: namespace, Name: name}, v1alpha1.EtcdClientSpec{
		ClusterRef:  v1alpha1.ClientClusterReference{Name: c.Name, Namespace: c.Namespace},
		Permissions: permissions, Password: true})
}

// createClient makes sure that nothing keeps a namespace from going once there is no operator.
func (c *Cluster) createClient(ctx context.Context, meta metav1.ObjectMeta, spec v1alpha1.EtcdClientSpec) *Access {
	ginkgo.GinkgoHelper()
	object := &v1alpha1.EtcdClient{ObjectMeta: meta, Spec: spec}
	gomega.Expect(c.Client.Create(ctx, object)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		released := ctrlclient.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		return ctrlclient.IgnoreNotFound(errors.Join(ctrlclient.IgnoreNotFound(c.Client.Delete(ctx, object)),
			ctrlclient.IgnoreNotFound(c.Client.Patch(ctx, object, released))))
	})
	return &Access{cluster: c, namespace: meta.Namespace, name: meta.Name}
}

// Beside makes another namespace that the story's operators may look after.
func (s *Story) Beside(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	other, err := s.newStory(ctx, map[string]string{LabelOwnOperator: "true"})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(s.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: other.Namespace, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ManagerRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.Namespace, Name: "operator"}},
	})).To(gomega.Succeed())
	return other.Namespace
}

// Get reads the EtcdClient.
func (a *Access) Get(ctx context.Context) (*v1alpha1.EtcdClient, error) {
	object := &v1alpha1.EtcdClient{}
	return object, a.cluster.Client.Get(ctx, ctrlclient.ObjectKey{Namespace: a.namespace, Name: a.name}, object)
}

// ReasonOf is the reason of one of its conditions, once that judges the spec as it is; empty before.
func (a *Access) ReasonOf(ctx context.Context, name string) (string, error) {
	object, err := a.Get(ctx)
	if err != nil {
		return "", err
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == name && condition.ObservedGeneration == object.Generation {
			return condition.Reason, nil
		}
	}
	return "", nil
}

// Allow changes its permissions.
func (a *Access) Allow(ctx context.Context, permissions ...v1alpha1.ClientPermission) {
	ginkgo.GinkgoHelper()
	a.change(ctx, func(s *v1alpha1.EtcdClientSpec) { s.Permissions = permissions })
}

// Limit changes its quota.
func (a *Access) Limit(ctx context.Context, quota string) {
	ginkgo.GinkgoHelper()
	a.change(ctx, func(s *v1alpha1.EtcdClientSpec) { s.Quota = new(resource.MustParse(quota)) })
}

func (a *Access) change(ctx context.Context, change func(*v1alpha1.EtcdClientSpec)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		object, err := a.Get(ctx)
		if err != nil {
			return err
		}
		change(&object.Spec)
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

// Renew asks for another certificate and password than those that it has. Both times are in whole seconds.
func (a *Access) Renew(ctx context.Context) {
	ginkgo.GinkgoHelper()
	made := pki.Made(a.Secret(ctx)[corev1.TLSCertKey])
	gomega.Eventually(ctx, func() error {
		object, err := a.Get(ctx)
		if err != nil {
			return err
		}
		asked := time.Now().UTC().Truncate(time.Second)
		if !asked.After(made) {
			return fmt.Errorf("the certificate was made at %s, within this second", made)
		}
		object.Annotations = map[string]string{v1alpha1.AnnotationRenewCertificate: asked.Format(time.RFC3339)}
		return a.cluster.Client.Update(ctx, object)
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// Secret is what its Secret holds.
func (a *Access) Secret(ctx context.Context) map[string][]byte {
	ginkgo.GinkgoHelper()
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: a.namespace, Name: a.name + "-etcd"}
	gomega.Expect(a.cluster.Client.Get(ctx, key, secret)).To(gomega.Succeed())
	gomega.Expect(string(secret.Data["endpoints"])).To(gomega.Equal(
		fmt.Sprintf("https://%s.%s.svc:2379", a.cluster.Name, a.cluster.Namespace)))
	return secret.Data
}

// Connect is a program with what its Secret holds.
func (a *Access) Connect(ctx context.Context) *clientv3.Client {
	ginkgo.GinkgoHelper()
	etcd, err := a.dial(ctx, a.Secret(ctx), "")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return etcd
}

// LogIn is a program that logs in by a password, with the certificate of its Secret.
func (a *Access) LogIn(ctx context.Context, password string) (*clientv3.Client, error) {
	ginkgo.GinkgoHelper()
	return a.dial(ctx, a.Secret(ctx), password)
}

func (a *Access) dial(ctx context.Context, secret map[string][]byte, password string) (*clientv3.Client, error) {
	ginkgo.GinkgoHelper()
	config, err := pki.ClientTLS(secret["ca.crt"],
		pki.Pair{Cert: secret[corev1.TLSCertKey], Key: secret[corev1.TLSPrivateKeyKey]})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	names := &names{}
	endpoints, err := a.cluster.endpoints(ctx, names)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	options := client.Options{Endpoints: endpoints, TLS: config, Connect: names.connect}
	if password != "" {
		options.User, options.Password = string(secret["user"]), password
	}
	etcd, err := client.Dial(options)
	if err == nil {
		ginkgo.DeferCleanup(etcd.Close)
	}
	return etcd, err
}
