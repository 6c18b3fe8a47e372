package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A private registry", Label("operator"), func() {
	const secret = "registry"

	Context("that the spec names", func() {
		ownNamespace()

		It("has members by digest; a wrong pull Secret is told, and putting it right heals", perStory, func(ctx context.Context) {
			registry := kube.Registry(ctx)
			story.PullSecret(ctx, secret, registry, "wrong")
			cluster := story.Create(ctx, "private", 3, func(c *v1alpha1.EtcdCluster) {
				c.Spec.Image = &v1alpha1.ImageSpec{
					Repository: registry.Repository, Digests: registry.Digests,
					PullSecrets: []corev1.LocalObjectReference{{Name: secret}},
					PullPolicy:  corev1.PullAlways, // a node may have the image from another story
				}
			})
			cluster.AwaitStep(ctx, "ImagePullFailed")
			Eventually(ctx, func() (string, error) { return readyMessage(ctx, cluster) }).WithTimeout(world.Patience).
				Should(And(ContainSubstring("401 Unauthorized"), ContainSubstring("spec.image.pullSecrets")))
			story.PullSecret(ctx, secret, registry, registry.Password)
			cluster.AwaitReady(ctx, 3)
			Expect(imagesOf(ctx, cluster)).To(HaveEach(registry.Reference(world.DefaultVersion)))
			expectNoRestarts(ctx, cluster)
			cluster.Write(ctx).Finish(ctx)
		})
	})

	Context("that the operator was told of", func() {
		BeforeEach(func() { kube.NeedLocalkube() })

		It("serves members and backups; flags that are put right heal, and other flags restart no member", perStory, func(ctx context.Context) {
			registry := kube.Registry(ctx)
			made, err := kube.NewFencedStory(ctx)
			Expect(err).NotTo(HaveOccurred())
			story = made
			story.PullSecret(ctx, secret, registry, registry.Password)
			story.Claim(ctx, "backups")
			own := "crds.install=false,watchNamespaces={" + story.Namespace + "}"
			byTag := func(repository string) string {
				return own + ",etcd.repository=" + repository + ",etcd.pullSecrets={" + secret + "}"
			}
			from := func(repository string) string {
				return byTag(repository) + ",etcd.digests." + strings.ReplaceAll(world.DefaultVersion, ".", `\.`) + "=" +
					string(registry.Digests[world.DefaultVersion])
			}
			release := kube.Release(story.Namespace)
			release.Install(ctx, world.Chart, "--set", from(registry.Host+"/nowhere/etcd"))
			cluster := story.Create(ctx, "told", 3)
			cluster.AwaitStep(ctx, "ImagePullFailed")
			Eventually(ctx, func() (string, error) { return readyMessage(ctx, cluster) }).WithTimeout(world.Patience).
				Should(ContainSubstring("--etcd-repository"))
			release.Upgrade(ctx, world.Chart, "--set", from(registry.Repository))
			cluster.AwaitReady(ctx, 3)
			Expect(imagesOf(ctx, cluster)).To(HaveEach(registry.Reference(world.DefaultVersion)))
			story.Backup(ctx, "saved", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)

			was := identityOf(ctx, cluster)
			release.Upgrade(ctx, world.Chart, "--set", byTag(registry.Repository))
			Consistently(ctx, func() map[string]types.UID { return podsOf(ctx, cluster) }).WithTimeout(20*time.Second).
				Should(Equal(was.pods), "other flags restart no member")
			deletePod(ctx, cluster, cluster.Member(1))
			cluster.AwaitReady(ctx, 3)
			expectSame(ctx, cluster, was)
			images := imagesOf(ctx, cluster)
			Expect(images[cluster.Member(0)]).To(Equal(registry.Reference(world.DefaultVersion)))
			Expect(images[cluster.Member(1)]).To(Equal(registry.Repository + ":v" + world.DefaultVersion))
			cluster.Write(ctx).Finish(ctx)
		})
	})
})

// readyMessage is what the condition Ready says.
func readyMessage(ctx context.Context, c *world.Cluster) (string, error) {
	object, err := c.Get(ctx)
	if err != nil {
		return "", err
	}
	condition := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	if condition == nil {
		return "", nil
	}
	return condition.Message, nil
}

// imagesOf are the images of etcd in the members' Pods, by name.
func imagesOf(ctx context.Context, c *world.Cluster) map[string]string {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	images := map[string]string{}
	for i := range pods {
		images[pods[i].Name] = pods[i].Spec.Containers[0].Image
	}
	return images
}
