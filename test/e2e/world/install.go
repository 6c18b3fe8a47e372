package world

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// project is the top of this tree, from where stories run.
var project = filepath.Join("..", "..")

// Install is an operator for all namespaces, as users install it: manifests, and images that the nodes have.
type Install struct {
	world    *World
	manifest string
}

// Installed is the operator of this tree, as `make deploy` installed it.
func (w *World) Installed() *Install {
	return &Install{world: w, manifest: filepath.Join(project, "dist", "install.yaml")}
}

// Deploy puts the operator where the other release is, or where none is, and waits until it is the only one that runs.
func (i *Install) Deploy(ctx context.Context) {
	ginkgo.GinkgoHelper()
	i.world.kubectl(ctx, "apply", "-f", i.manifest)
	i.world.kubectl(ctx, "-n", OperatorNamespace, "rollout", "status", "deployment/"+OperatorName, "--timeout=180s")
	gomega.Eventually(ctx, func() ([]string, error) { return i.world.operatorPods(ctx) }).WithTimeout(Patience).Should(gomega.HaveLen(2), "the other one's Pods end")
}

// DeleteDeployment deletes the installed operator and waits until none of it runs.
func (w *World) DeleteDeployment(ctx context.Context) {
	ginkgo.GinkgoHelper()
	w.kubectl(ctx, "-n", OperatorNamespace, "delete", "deployment", OperatorName)
	w.awaitNoOperator(ctx)
}

// DeleteOperatorNamespace deletes all that the operator was installed with, except what lies in no namespace.
func (w *World) DeleteOperatorNamespace(ctx context.Context) {
	ginkgo.GinkgoHelper()
	w.kubectl(ctx, "delete", "namespace", OperatorNamespace)
	w.awaitNoOperator(ctx)
}

func (w *World) awaitNoOperator(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() ([]string, error) { return w.operatorPods(ctx) }).WithTimeout(Patience).Should(gomega.BeEmpty())
}

func (w *World) operatorPods(ctx context.Context) ([]string, error) {
	pods := &corev1.PodList{}
	if err := w.Client.List(ctx, pods, client.InNamespace(OperatorNamespace)); err != nil {
		return nil, fmt.Errorf("listing the operator's Pods: %w", err)
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names, nil
}

// kubectl runs kubectl, which has to like what it is told.
func (w *World) kubectl(ctx context.Context, args ...string) string {
	ginkgo.GinkgoHelper()
	said, err := w.Kubectl(ctx, args...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "kubectl %v: %s", args, said)
	return said
}

// NamespacedInstall is an operator with a Role in the story's namespace and no right outside.
type NamespacedInstall struct{ story *Story }

// InstallNamespaced installs config/namespaced in the story's namespace, and waits until both replicas are ready.
func (s *Story) InstallNamespaced(ctx context.Context) NamespacedInstall {
	ginkgo.GinkgoHelper()
	overlay, err := filepath.Abs(filepath.Join(project, "dist", s.Namespace))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(os.MkdirAll(overlay, 0o755)).To(gomega.Succeed())
	ginkgo.DeferCleanup(os.RemoveAll, overlay)
	kustomization := fmt.Sprintf("namespace: %s\nresources: [../../config/namespaced]\n", s.Namespace)
	gomega.Expect(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(kustomization), 0o600)).To(gomega.Succeed())
	s.kubectl(ctx, "apply", "-k", overlay)
	install := NamespacedInstall{story: s}
	ginkgo.DeferCleanup(func(ctx context.Context) {
		if ginkgo.CurrentSpecReport().Failed() {
			ginkgo.GinkgoWriter.Printf("\n---- operator of the namespace\n%s\n", linesWith(install.Log(ctx), "", 300))
		}
	})
	s.kubectl(ctx, "-n", s.Namespace, "rollout", "status", "deployment/"+OperatorName, "--timeout=180s")
	install.expectNoRightOutside(ctx)
	return install
}

// expectNoRightOutside asks what the operator may do where it was not installed.
func (n NamespacedInstall) expectNoRightOutside(ctx context.Context) {
	ginkgo.GinkgoHelper()
	for _, args := range [][]string{{"get", "nodes"}, {"get", "persistentvolumes"}, {"get", "pods", "--namespace", "default"}} {
		answer, _ := n.story.Kubectl(ctx, append([]string{"auth", "can-i", "--as", n.User()}, args...)...)
		gomega.Expect(strings.Split(strings.TrimSpace(answer), "\n")).To(gomega.ContainElement("no"), "%v: %s", args, answer)
	}
	bindings := &rbacv1.ClusterRoleBindingList{}
	gomega.Expect(n.story.Client.List(ctx, bindings)).To(gomega.Succeed())
	for _, binding := range bindings.Items {
		for _, subject := range binding.Subjects {
			gomega.Expect(subject.Namespace).NotTo(gomega.Equal(n.story.Namespace), "bound by the ClusterRoleBinding %s", binding.Name)
		}
	}
}

// User is whom the API server takes the operator for.
func (n NamespacedInstall) User() string {
	return "system:serviceaccount:" + n.story.Namespace + ":" + OperatorName
}

// Log is what all its replicas have logged.
func (n NamespacedInstall) Log(ctx context.Context) string {
	said, _ := n.story.Kubectl(ctx, "-n", n.story.Namespace, "logs", "-l", "control-plane=controller-manager", "--tail=-1")
	return said
}

// NewFencedStory makes a namespace that the installed operator cannot write to, for a story that installs another.
func (w *World) NewFencedStory(ctx context.Context) (*Story, error) {
	if err := w.Fence(ctx); err != nil { // another run of stories may have taken it away
		return nil, err
	}
	return w.newStory(ctx, map[string]string{LabelOwnOperator: "true"})
}

// Strip takes away every label of an object but those that Kubernetes writes when it schedules, and its annotations of ours.
func (s *Story) Strip(ctx context.Context, object client.Object) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		labels := object.GetLabels()
		maps.DeleteFunc(labels, func(name, _ string) bool { return !strings.HasPrefix(name, "topology.kubernetes.io/") })
		object.SetLabels(labels)
		annotations := object.GetAnnotations()
		for name := range annotations {
			if strings.HasPrefix(name, "etcdsteward.dev/") {
				delete(annotations, name)
			}
		}
		object.SetAnnotations(annotations)
		return s.Client.Update(ctx, object)
	}).WithTimeout(Patience).Should(gomega.Or(gomega.Succeed(), gomega.MatchError(apierrors.IsNotFound, "gone meanwhile")))
}
