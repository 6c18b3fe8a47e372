package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Bundle is what OLM installs the operator from: the part of a ClusterServiceVersion that names the Deployment and rights.
type Bundle struct {
	world     *World
	namespace string
	Spec      struct {
		Install struct {
			Spec struct {
				Deployments []struct {
					Name  string                `json:"name"`
					Label map[string]string     `json:"label"`
					Spec  appsv1.DeploymentSpec `json:"spec"`
				} `json:"deployments"`
				Permissions        []permission `json:"permissions"`
				ClusterPermissions []permission `json:"clusterPermissions"`
			} `json:"spec"`
		} `json:"install"`
	} `json:"spec"`
}

type permission struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

// Bundle reads this tree's, to install it in that namespace.
func (w *World) Bundle(namespace string) *Bundle {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(project, "config", "olm", "bundle", "manifests", "etcd-steward.clusterserviceversion.yaml"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	b := &Bundle{world: w, namespace: namespace}
	gomega.Expect(yaml.Unmarshal(text, b)).To(gomega.Succeed())
	gomega.Expect(b.Spec.Install.Spec.Deployments).To(gomega.HaveLen(1))
	return b
}

// Install makes what OLM makes of the bundle, for an OperatorGroup of these namespaces or of all. It waits until the operator is
// ready. OLM has its roles in its own namespace and in each of the group's, or as ClusterRoles for all
// (operator-lifecycle-manager:pkg/controller/operators/olm/operatorgroup.go).
func (b *Bundle) Install(ctx context.Context, targets ...string) {
	ginkgo.GinkgoHelper()
	strategy := b.Spec.Install.Spec
	b.create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: OperatorName}})
	for _, p := range strategy.Permissions {
		for _, namespace := range slices.Compact(slices.Sorted(slices.Values(append(targets, b.namespace)))) {
			b.grant(ctx, namespace, p)
		}
		if len(targets) == 0 {
			b.grantEverywhere(ctx, "all", p)
		}
	}
	for _, p := range strategy.ClusterPermissions {
		b.grantEverywhere(ctx, "outside", p)
	}
	deployment := strategy.Deployments[0]
	pod := &deployment.Spec.Template
	pod.Annotations["olm.targetNamespaces"] = strings.Join(targets, ",")
	pod.Annotations["olm.operatorNamespace"] = b.namespace
	b.create(ctx, &appsv1.Deployment{Spec: deployment.Spec,
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: deployment.Name, Labels: deployment.Label}})
	b.world.kubectl(ctx, "-n", b.namespace, "rollout", "status", "deployment/"+deployment.Name, "--timeout=180s")
}

// grant binds rules in one namespace.
func (b *Bundle) grant(ctx context.Context, namespace string, p permission) {
	ginkgo.GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "olm-" + b.namespace}
	b.create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: p.Rules})
	b.create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: b.subjects(p),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}})
}

// grantEverywhere binds rules in no namespace.
func (b *Bundle) grantEverywhere(ctx context.Context, name string, p permission) {
	ginkgo.GinkgoHelper()
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("olm-%s-%s", b.namespace, name)}
	b.create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: p.Rules})
	b.create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: b.subjects(p),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}})
}

func (b *Bundle) subjects(p permission) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: b.namespace, Name: p.ServiceAccountName}}
}

// create makes an object, which goes with the story.
func (b *Bundle) create(ctx context.Context, object client.Object) {
	ginkgo.GinkgoHelper()
	gomega.Expect(b.world.Client.Create(ctx, object)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		return client.IgnoreNotFound(b.world.Client.Delete(ctx, object))
	})
}

// MayNot reports whether the operator is refused that request, in the words of `kubectl auth can-i`.
func (b *Bundle) MayNot(ctx context.Context, request ...string) bool {
	ginkgo.GinkgoHelper()
	user := "system:serviceaccount:" + b.namespace + ":" + OperatorName
	answer, _ := b.world.Kubectl(ctx, append([]string{"auth", "can-i", "--as", user}, request...)...)
	return strings.HasSuffix(strings.TrimSpace(answer), "no")
}
