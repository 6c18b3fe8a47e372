package e2e

import (
	"context"
	"maps"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("Something that a person edits", Label("operator"), func() {
	ownNamespace()

	It("is put right: Services and the disruption budget", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "parts", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			edit(ctx, &corev1.Service{ObjectMeta: meta(story.Namespace, "parts")}, func(s *corev1.Service) {
				s.Spec.Selector = map[string]string{"no": "member"}
				s.Spec.Ports[0].TargetPort = intstr.FromInt32(1)
			}, func(s *corev1.Service) any { return []any{s.Spec.Selector, s.Spec.Ports[0].TargetPort} })
			edit(ctx, &corev1.Service{ObjectMeta: meta(story.Namespace, "parts-peers")}, func(s *corev1.Service) {
				s.Spec.PublishNotReadyAddresses = false
			}, func(s *corev1.Service) any { return s.Spec.PublishNotReadyAddresses })
			edit(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta(story.Namespace, "parts")}, func(b *policyv1.PodDisruptionBudget) {
				none := intstr.FromInt32(0)
				b.Spec.MinAvailable = &none
			}, func(b *policyv1.PodDisruptionBudget) any { return b.Spec.MinAvailable })
			cluster.AwaitReady(ctx, 3)
		})
		Eventually(ctx, func() any { return readyAddresses(ctx, "parts") }).Should(HaveLen(3))
		traffic.Finish(ctx)
	})

	It("is dressed again: labels and annotations stripped from Pods and volumes, with no member restarted", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "bare", 3, dressed)
		cluster.AwaitReady(ctx, 3)
		ids, processes := cluster.Identities(ctx), processesOf(ctx, []*world.Cluster{cluster})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			for ordinal := range 3 {
				name := cluster.Member(ordinal)
				stripped(ctx, &corev1.Pod{ObjectMeta: meta(story.Namespace, name)}, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, name)})
			}
			cluster.AwaitReady(ctx, 3)
		})
		Expect(processesOf(ctx, []*world.Cluster{cluster})).To(Equal(processes))
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: quantity("1Gi")} })
			cluster.AwaitReady(ctx, 3)
		})
		for _, process := range processesOf(ctx, []*world.Cluster{cluster}) {
			Expect(processes).NotTo(ContainElement(process), "it was not forgotten when settings changed")
		}
		Expect(cluster.Identities(ctx)).To(Equal(ids), "what was written down is right")
		traffic.Finish(ctx)
	})

	// Secrets are neither listed nor watched, so what became of one is seen when it is read again.
	It("or takes away, as every certificate that was issued, is issued again", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "secret", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		names := []string{"secret-client-tls", "secret-operator-tls", "secret-0-tls", "secret-1-tls", "secret-2-tls"}
		old := map[string]types.UID{}
		traffic.During(ctx, func() {
			for _, name := range names {
				lost := &corev1.Secret{ObjectMeta: meta(story.Namespace, name)}
				old[name] = uidOf(ctx, lost, key(name))
				Expect(old[name]).NotTo(BeEmpty())
				Expect(kube.Client.Delete(ctx, lost)).To(Succeed())
			}
			for _, name := range names {
				Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Secret{}, key(name)) }).WithTimeout(6*time.Minute).
					ShouldNot(BeElementOf(old[name], types.UID("")), name)
			}
			cluster.AwaitReady(ctx, 3)
		})
		cluster.Write(ctx).Finish(ctx)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A cluster that is deleted in the foreground", Label("operator"), func() {
	ownNamespace()

	It("goes after all that it owned, its volumes stay, and nothing is made again meanwhile", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "fore", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
		data, begin := volumes(ctx, cluster), mark(ctx)
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Client.Delete(ctx, object, client.PropagationPolicy("Foreground"))).To(Succeed())
		Eventually(ctx, func() types.UID { return uidOf(ctx, &v1alpha1.EtcdCluster{}, key("fore")) }).Should(BeEmpty())
		Expect(cluster.Pods(ctx)).To(BeEmpty(), "they went first")
		for _, service := range []string{"fore", "fore-peers"} {
			Expect(uidOf(ctx, &corev1.Service{}, key(service))).To(BeEmpty())
		}
		Expect(volumes(ctx, cluster)).To(Equal(data))
		Expect(kube.OperatorWrites(ctx, begin, story.Namespace)).NotTo(ContainElement(HaveField("Verb", "create")))
	})
})

// dressed has labels and annotations of its own.
func dressed(c *v1alpha1.EtcdCluster) {
	c.Spec.Pod.Labels = map[string]string{"example.com/team": "stories"}
	c.Spec.Pod.Annotations = map[string]string{"example.com/owner": "nobody in particular"}
}

// edit changes an object and waits until what was changed is as before.
func edit[T client.Object](ctx context.Context, object T, change func(T), look func(T) any) {
	GinkgoHelper()
	name := client.ObjectKeyFromObject(object)
	var before any
	Eventually(ctx, func(g Gomega) { // Kubernetes writes the status of some of them
		g.Expect(kube.Client.Get(ctx, name, object)).To(Succeed())
		before = look(object.DeepCopyObject().(T))
		change(object)
		g.Expect(look(object)).NotTo(Equal(before), "it is another")
		g.Expect(kube.Client.Update(ctx, object)).To(Succeed())
	}).Should(Succeed())
	Eventually(ctx, func() (any, error) {
		err := kube.Client.Get(ctx, name, object)
		return look(object), err
	}).Should(Equal(before), "%T %s", object, name.Name)
}

// later is what a record gains after its first writing: the version of the cluster, and at which entry of raft's log it
// was seen. One that is written again has both.
var later = regexp.MustCompile(`"clusterVersion(At)?":("[^"]*"|[0-9]+),`)

func asAtFirst(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	if record, isThere := out[v1alpha1.AnnotationRecord]; isThere {
		out[v1alpha1.AnnotationRecord] = later.ReplaceAllString(record, "")
	}
	return out
}

// stripped takes labels and annotations off objects, and waits until they are as before.
func stripped(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	type dress struct{ labels, annotations map[string]string }
	before := make([]dress, len(objects))
	for i, object := range objects {
		Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		before[i] = dress{maps.Clone(object.GetLabels()), asAtFirst(object.GetAnnotations())}
		delete(before[i].annotations, v1alpha1.AnnotationRenderer) // nobody else knows it, and nothing is decided by it
		// Nor does anything else say what a volume was made for: without that its claim counts, and no size moves its member.
		for _, lost := range []string{v1alpha1.AnnotationAccessMode, v1alpha1.AnnotationStorageSize} {
			delete(before[i].annotations, lost)
		}
	}
	for _, object := range objects {
		story.Strip(ctx, object)
	}
	for i, object := range objects {
		Eventually(ctx, func(g Gomega) {
			g.Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.GetLabels()).To(Equal(before[i].labels))
			g.Expect(asAtFirst(object.GetAnnotations())).To(Equal(before[i].annotations))
		}).Should(Succeed(), "%T %s", object, object.GetName())
	}
}
