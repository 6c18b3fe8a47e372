package world

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Chart is this tree's.
var Chart = filepath.Join(project, "config", "helm", "etcd-steward")

// releaseName is what releases are called, so that their objects have the names that kustomize gives them.
const releaseName = "etcd-steward"

// Release is an operator that Helm installs into a namespace.
type Release struct {
	world     *World
	namespace string
	home      string // where helm keeps what it keeps
}

// Release is one in that namespace; it need not be installed. After the story it is uninstalled.
func (w *World) Release(namespace string) Release {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	r := Release{world: w, namespace: namespace, home: ginkgo.GinkgoT().TempDir()}
	ginkgo.DeferCleanup(func(ctx context.Context) {
		if ginkgo.CurrentSpecReport().Failed() {
			said, _ := w.Kubectl(ctx, "-n", namespace, "logs", "-l", "control-plane=controller-manager", "--tail=-1")
			ginkgo.GinkgoWriter.Printf("\n---- operator of the release\n%s\n", linesWith(said, "", 300))
		}
		r.helm(ctx, "uninstall", releaseName, "--ignore-not-found", "--wait")
	})
	return r
}

// Install installs a chart with these arguments of helm, and waits until the operator is ready.
func (r Release) Install(ctx context.Context, chart string, args ...string) {
	ginkgo.GinkgoHelper()
	r.helm(ctx, append([]string{"install", releaseName, chart}, args...)...)
	r.awaitReady(ctx)
}

// TakeOver installs a chart over what kustomize installed. Helm 3 knows no conflicts: it does not apply on the server.
func (r Release) TakeOver(ctx context.Context, chart string, args ...string) {
	ginkgo.GinkgoHelper()
	args = append(args, "--take-ownership")
	if strings.HasPrefix(r.helm(ctx, "version", "--template", "{{.Version}}"), "v4") {
		args = append(args, "--force-conflicts")
	}
	r.Install(ctx, chart, args...)
}

// Upgrade goes to another chart, or other values.
func (r Release) Upgrade(ctx context.Context, chart string, args ...string) {
	ginkgo.GinkgoHelper()
	r.helm(ctx, append([]string{"upgrade", releaseName, chart}, args...)...)
	r.awaitReady(ctx)
}

// Rollback goes back to what was installed before.
func (r Release) Rollback(ctx context.Context) {
	ginkgo.GinkgoHelper()
	r.helm(ctx, "rollback", releaseName)
	r.awaitReady(ctx)
}

// Uninstall removes the release, and waits until none of its Pods is left.
func (r Release) Uninstall(ctx context.Context) {
	ginkgo.GinkgoHelper()
	r.helm(ctx, "uninstall", releaseName, "--wait")
	r.world.kubectl(ctx, "-n", r.namespace, "wait", "--for=delete", "pod", "-l", "control-plane=controller-manager",
		"--timeout=120s")
}

func (r Release) awaitReady(ctx context.Context) {
	ginkgo.GinkgoHelper()
	r.world.kubectl(ctx, "-n", r.namespace, "rollout", "status", "deployment/"+OperatorName, "--timeout=180s")
}

// ExpectNoRightOutside asks what the operator may do outside its namespaces.
func (r Release) ExpectNoRightOutside(ctx context.Context, others ...*Story) {
	ginkgo.GinkgoHelper()
	install := NamespacedInstall{story: &Story{World: r.world, Namespace: r.namespace}}
	install.expectNoRightOutside(ctx)
	for _, other := range others {
		answer, _ := r.world.Kubectl(ctx, "auth", "can-i", "--as", install.User(), "get", "pods", "-n", other.Namespace)
		gomega.Expect(strings.TrimSpace(answer)).To(gomega.HaveSuffix("no"), "in %s", other.Namespace)
	}
}

// helm runs helm with nothing of this machine's own settings, and is what it says.
func (r Release) helm(ctx context.Context, args ...string) string {
	ginkgo.GinkgoHelper()
	program := helmProgram()
	if _, err := os.Stat(program); err != nil {
		needs.Missing(ginkgo.GinkgoT(), "there is no bin/helm: make bin/helm")
	}
	command := exec.CommandContext(ctx, program, append(args, "--namespace", r.namespace)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+r.world.Kubeconfig, "HELM_CACHE_HOME="+r.home,
		"HELM_CONFIG_HOME="+r.home, "HELM_DATA_HOME="+r.home)
	said, err := command.CombinedOutput()
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "helm %v: %s", args, said)
	return string(said)
}

// helmProgram is the helm that make builds, or the one that HELM names.
func helmProgram() string { return cmp.Or(os.Getenv("HELM"), filepath.Join(project, "bin", "helm")) }

// FormerChart is this tree's chart as a former release might have been: the definition of EtcdClusters has a column of
// another name.
func FormerChart(column, former string) string {
	ginkgo.GinkgoHelper()
	chart := filepath.Join(ginkgo.GinkgoT().TempDir(), releaseName)
	gomega.Expect(os.CopyFS(chart, os.DirFS(Chart))).To(gomega.Succeed())
	file := filepath.Join(chart, "files", "crds", "etcdsteward.dev_etcdclusters.yaml")
	text, err := os.ReadFile(file)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(strings.Count(string(text), "name: "+column+"\n")).To(gomega.Equal(1), "columns of that name")
	text = []byte(strings.Replace(string(text), "name: "+column+"\n", "name: "+former+"\n", 1))
	gomega.Expect(os.WriteFile(file, text, 0o600)).To(gomega.Succeed())
	return chart
}
