package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// healing is how long the operator's webhook takes at most to be trusted again after its CA was deleted.
const healing = 4 * time.Minute

var _ = Describe("The webhook", Label("operator"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })

	It("refuses a cluster over the volumes of another one, warns of restarts, keeps nothing waiting while it is down, and "+
		"heals its certificate", perStory, func(ctx context.Context) {
		var err error
		story, err = kube.NewFencedStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		release := kube.Release(story.Namespace)
		set := []string{"--set", "crds.install=false,webhook.enabled=true,replicas=1,watchNamespaces={" + story.Namespace + "}"}
		release.Install(ctx, world.Chart, set...)
		awaitWebhook(ctx)

		By("a change that restarts members")
		said, err := applied(ctx, "asked", 1, toStore)
		Expect(err).NotTo(HaveOccurred(), said)
		cluster := story.Cluster("asked")
		cluster.AwaitReady(ctx, 1)
		was := identityOf(ctx, cluster)
		slower := func(c *v1alpha1.EtcdCluster) {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))}
		}
		said, err = applied(ctx, "asked", 1, toStore, slower)
		Expect(err).NotTo(HaveOccurred(), said)
		Expect(said).To(ContainSubstring("Warning: This change restarts the only member once."))
		said, err = applied(ctx, "asked", 1, toStore, slower)
		Expect(err).NotTo(HaveOccurred(), said)
		Expect(said).NotTo(ContainSubstring("Warning:"), "of what is as it was")
		cluster.AwaitReady(ctx, 1)
		expectSame(ctx, cluster, was)

		By("a new size that waits")
		said, err = applied(ctx, "asked", 1, toStore, slower, func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true })
		Expect(err).NotTo(HaveOccurred(), said)
		said, err = story.Kubectl(ctx, "-n", story.Namespace, "scale", "etcd/asked", "--replicas=3", "--dry-run=server")
		Expect(err).NotTo(HaveOccurred(), said)
		Expect(said).To(ContainSubstring("Warning: spec.paused is true"))

		By("a cluster over the volumes of another one")
		deleteCluster(ctx, cluster)
		withoutTLS := func(c *v1alpha1.EtcdCluster) { c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled} }
		said, err = applied(ctx, "asked", 1, toStore, withoutTLS)
		Expect(err).To(HaveOccurred(), said)
		Expect(said).To(And(ContainSubstring("metadata.name"), ContainSubstring("asked-0"), ContainSubstring("set the mode to Permissive")))
		Expect(uidOf(ctx, &v1alpha1.EtcdCluster{}, key("asked"))).To(BeEmpty(), "nothing is stored")

		By("its CA is deleted")
		old := uidOf(ctx, &corev1.Secret{}, key("etcd-steward-webhook-ca"))
		Expect(kube.Client.Delete(ctx, &corev1.Secret{ObjectMeta: meta(story.Namespace, "etcd-steward-webhook-ca")})).To(Succeed())
		Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Secret{}, key("etcd-steward-webhook-ca")) }).
			WithTimeout(healing).Should(And(Not(BeEmpty()), Not(Equal(old))))
		Eventually(ctx, trusted).WithTimeout(healing).Should(BeTrue())
		awaitWebhook(ctx)

		By("no operator runs")
		release.Upgrade(ctx, world.Chart, append(set, "--set", "replicas=0")...)
		Eventually(ctx, func() ([]corev1.Pod, error) {
			pods := &corev1.PodList{}
			err := kube.Client.List(ctx, pods, client.InNamespace(story.Namespace), client.MatchingLabels{"control-plane": "controller-manager"})
			return pods.Items, err
		}).Should(BeEmpty())
		said, err = applied(ctx, "asked", 1, toStore, withoutTLS)
		Expect(err).NotTo(HaveOccurred(), said)
		release.Upgrade(ctx, world.Chart, set...)
		story.Cluster("asked").AwaitStalled(ctx, "RetainedData")
	})
})

// trusted reports whether the API server trusts the CA that is in the Secret now.
func trusted(ctx context.Context) (bool, error) {
	secret, configuration := &corev1.Secret{}, &admissionv1.ValidatingWebhookConfiguration{}
	if err := kube.Client.Get(ctx, key("etcd-steward-webhook-ca"), secret); err != nil {
		return false, fmt.Errorf("reading the CA: %w", err)
	}
	if err := kube.Client.Get(ctx, client.ObjectKey{Name: "etcd-steward-" + story.Namespace}, configuration); err != nil {
		return false, fmt.Errorf("reading the configuration: %w", err)
	}
	return !slices.ContainsFunc(configuration.Webhooks, func(hook admissionv1.ValidatingWebhook) bool {
		return !bytes.Equal(hook.ClientConfig.CABundle, secret.Data["ca.crt"])
	}), nil
}

// How a person applies.
var (
	toStore []string
	toTry   = []string{"--dry-run=server"}
)

// awaitWebhook waits until the API server hears of the webhook, what a schema cannot say.
func awaitWebhook(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() string {
		said, _ := applied(ctx, "unknown", 1, toTry, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"no-such-flag": "1"}}
		})
		return said
	}).WithTimeout(healing).Should(And(ContainSubstring("is invalid"), ContainSubstring("no-such-flag")))
}

// applied is what kubectl says of a cluster that a person applies, or only tries.
func applied(ctx context.Context, name string, size int32, args []string, options ...world.Option) (string, error) {
	GinkgoHelper()
	manifest := story.Manifest(name, size, options...)
	manifest.APIVersion, manifest.Kind = v1alpha1.GroupVersion.String(), "EtcdCluster"
	text, err := yaml.Marshal(manifest)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), name+".yaml")
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	return kube.Kubectl(ctx, append([]string{"apply", "-f", file}, args...)...)
}
