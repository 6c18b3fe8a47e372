package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// What other people's clusters have: tools that prune, rules that keep Pods apart, webhooks, quotas and tainted nodes.
var _ = Describe("In a Kubernetes of other people's,", Label("platforms"), func() {
	ownNamespace()

	It("a tool that deletes what has the label of its application and no owner finds nothing of a cluster", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 3)
		cluster.AwaitReady(ctx, 3)
		story.Claim(ctx, "backups")
		Expect(kube.Client.Create(ctx, &v1alpha1.EtcdBackupSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: "minutely"},
			Spec: v1alpha1.EtcdBackupScheduleSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster.Name}, Schedule: "* * * * *",
				Store: world.ToVolume("backups")},
		})).To(Succeed())
		Eventually(ctx, func() ([]v1alpha1.EtcdBackup, error) {
			list := &v1alpha1.EtcdBackupList{}
			err := kube.Client.List(ctx, list, client.InNamespace(story.Namespace))
			return list.Items, err
		}).WithTimeout(world.Patience).ShouldNot(BeEmpty())
		Expect(prunable(ctx, cluster.Name)).To(BeEmpty())
		Expect(unguarded(ctx)).To(BeEmpty(), "what has no owner says that it must not be pruned")
	})

	It("the Service and the disruption budget of an old chart take in no member of a cluster with the name of its release", perStory, func(ctx context.Context) {
		release := map[string]string{v1alpha1.LabelName: "etcd", v1alpha1.LabelInstance: "demo"}
		for name, selector := range map[string]map[string]string{"old": release, "whole": {v1alpha1.LabelInstance: "demo"}} {
			Expect(kube.Client.Create(ctx, &corev1.Service{ObjectMeta: meta(story.Namespace, name), Spec: corev1.ServiceSpec{
				Selector: selector, Ports: []corev1.ServicePort{{Name: "client", Port: 2379, TargetPort: intstr.FromString("client")}}}})).To(Succeed())
		}
		Expect(kube.Client.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta(story.Namespace, "old"), Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(3)), Selector: &metav1.LabelSelector{MatchLabels: release}}})).To(Succeed())
		cluster := story.Create(ctx, "demo", 3)
		cluster.AwaitReady(ctx, 3)
		Eventually(ctx, func() []string { return readyAddresses(ctx, "whole") }).Should(HaveLen(3), "such a Service is followed")
		Expect(readyAddresses(ctx, "old")).To(BeEmpty())
		cluster.Change(ctx, otherSettings)
		cluster.AwaitReady(ctx, 3)
		expectOtherSettings(ctx, cluster)
	})

	It("a rule that keeps members apart keeps no backup and no restore in place from running on three nodes", perStory, func(ctx context.Context) {
		store := story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access)
		cluster := story.Create(ctx, "apart", 3, apartBy(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: v1alpha1.LabelName, Operator: metav1.LabelSelectorOpIn, Values: []string{v1alpha1.MemberNameValue}}}}))
		cluster.AwaitReady(ctx, 3)
		save(ctx, cluster, store)
		goBack(ctx, cluster)
	})

	It("a rule that keeps the Pods of a team apart keeps no backup and no restore in place from running on three nodes", perStory, func(ctx context.Context) {
		store := story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access)
		cluster := story.Create(ctx, "apart", 3, apartBy(metav1.LabelSelector{MatchLabels: map[string]string{"team": "storage"}}),
			func(c *v1alpha1.EtcdCluster) { c.Spec.Pod.Labels = map[string]string{"team": "storage"} })
		cluster.AwaitReady(ctx, 3)
		save(ctx, cluster, store)
		goBack(ctx, cluster)
	})

	It("a proxy that a webhook puts into each Pod, and that never ends, keeps no backup and no restore from ending", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "meshed", 1)
		cluster.AwaitReady(ctx, 1)
		pod, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		story.InjectProxy(ctx, pod)
		story.Claim(ctx, "backups")
		status := save(ctx, cluster, world.ToVolume("backups"))
		job := &batchv1.Job{}
		Eventually(ctx, func() error { return kube.Client.Get(ctx, key(status.JobName), job) }).WithTimeout(world.Patience).
			ShouldNot(Succeed(), "its Job goes on for ever")
		restored := story.Create(ctx, "restored", 1, fromBackup("first"))
		restored.AwaitReady(ctx, 1)
		holdsBackup(ctx, restored, cluster)
		members, err := restored.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(members[0].Spec.Containers).To(HaveLen(2), "the member has no proxy, so that nothing was tried")
	})

	It("a quota that wants limits on every container lets backups and restores run with those of members, and spec.tasks is named where a task has none", perStory, func(ctx context.Context) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: "limits"}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"limits.cpu": resource.MustParse("20"), "limits.memory": resource.MustParse("20Gi"),
				"requests.cpu": resource.MustParse("20"), "requests.memory": resource.MustParse("20Gi")},
		}}
		Expect(kube.Client.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, func(g Gomega) { // a quota counts once its controller has looked
			g.Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Used).NotTo(BeEmpty())
		}).Should(Succeed())
		limits := map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: "1", corev1.ResourceMemory: "1Gi"}
		limited := func(c *v1alpha1.EtcdCluster) { c.Spec.Pod.Resources.Limits = limits }
		cluster := story.Create(ctx, "limited", 1, limited)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		save(ctx, cluster, world.ToVolume("backups"))
		restored := story.Create(ctx, "restored", 1, fromBackup("first"), limited)
		restored.AwaitReady(ctx, 1)
		holdsBackup(ctx, restored, cluster)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Tasks = &v1alpha1.TaskSpec{Resources: &v1alpha1.ResourceRequirements{
				Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: "50m"}}}
		})
		refused := story.Backup(ctx, "refused", cluster.Name, world.ToVolume("backups"))
		Eventually(ctx, func() string { return refused.Says(ctx) }).WithTimeout(saidWithin).Should(SatisfyAll(
			HavePrefix("QuotaExceeded: "), ContainSubstring("limits.cpu"), ContainSubstring("Set spec.tasks.resources")))
	})

	It("a policy that wants a label on every object admits those with spec.inheritedMetadata, and refuses the others by name", perStory, func(ctx context.Context) {
		story.WantLabel(ctx, "team")
		cluster := story.Create(ctx, "labelled", 1)
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).Should(ContainSubstring("objects need the label team"))
		inherit := func(labels map[string]string) func(*v1alpha1.EtcdClusterSpec) {
			return func(s *v1alpha1.EtcdClusterSpec) { s.InheritedMetadata = &v1alpha1.InheritedMetadata{Labels: labels} }
		}
		cluster.Change(ctx, inherit(map[string]string{"team": "a", "tier": "gold"}))
		cluster.AwaitReady(ctx, 1)
		Expect(kube.Client.Create(ctx, labelledClaim("backups"))).To(Succeed())
		save(ctx, cluster, world.ToVolume("backups"))
		pods := processesOf(ctx, []*world.Cluster{cluster})
		cluster.Change(ctx, inherit(map[string]string{"team": "b"}))
		for name, object := range map[string]client.Object{
			cluster.Name: &corev1.Service{}, cluster.Member(0): pvc(), cluster.Name + "-ca": &corev1.Secret{}, cluster.Name + "-client-tls": &corev1.Secret{},
		} {
			Eventually(ctx, func() (map[string]string, error) {
				err := kube.Client.Get(ctx, key(name), object)
				return object.GetLabels(), err
			}).Should(SatisfyAll(HaveKeyWithValue("team", "b"), Not(HaveKey("tier"))), "%T %s", object, name)
		}
		Expect(processesOf(ctx, []*world.Cluster{cluster})).To(Equal(pods), "no member is restarted")
	})

	It("an annotation that is taken out of spec.service goes from the Service within seconds, and that of others stays", perStory, func(ctx context.Context) {
		const name = "external-dns.alpha.kubernetes.io/hostname"
		cluster := story.Create(ctx, "demo", 1, world.Ephemeral, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Service = &v1alpha1.ServiceSpec{Annotations: map[string]string{name: "etcd.example.com", "example.com/a": "1"}}
		})
		cluster.AwaitReady(ctx, 1)
		said, err := kube.Kubectl(ctx, "-n", story.Namespace, "annotate", "service", cluster.Name, "example.com/of-others=x")
		Expect(err).NotTo(HaveOccurred(), said)
		annotations := func() (map[string]string, error) {
			service := &corev1.Service{}
			err := kube.Client.Get(ctx, key(cluster.Name), service)
			return service.Annotations, err
		}
		Expect(annotations()).To(HaveKeyWithValue(name, "etcd.example.com"))
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Service.Annotations = map[string]string{"example.com/a": "2"} })
		Eventually(ctx, annotations).WithTimeout(10 * time.Second).Should(SatisfyAll(Not(HaveKey(name)), HaveKeyWithValue("example.com/a", "2")))
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Service = nil })
		Eventually(ctx, annotations).WithTimeout(10 * time.Second).Should(SatisfyAll(Not(HaveKey("example.com/a")), HaveKeyWithValue("example.com/of-others", "x")))
	})

	It("where every node has a taint, and members go by node affinity, all Pods of a cluster run where its members may", Serial, perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		nodes, err := kube.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		pool, taint := nodes[0], corev1.Taint{Key: "e2e.etcdsteward.dev/dedicated", Value: "etcd", Effect: corev1.TaintEffectNoSchedule}
		for _, node := range nodes {
			kube.Taint(ctx, node, taint)
		}
		onPool := func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.Tolerations = []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}}
			c.Spec.Pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{pool}}}}}}}}
		}
		cluster := story.Create(ctx, "tainted", 1, onPool)
		cluster.AwaitReady(ctx, 1)
		inVolume(ctx, cluster)
		for _, pod := range backupPods(ctx) {
			Expect(pod.Spec.NodeName).To(Equal(pool))
		}
		restored := story.Create(ctx, "restored", 1, onPool, fromBackup("first"))
		restored.AwaitReady(ctx, 1)
		holdsBackup(ctx, restored, cluster)
		goBack(ctx, cluster)
	})
})

// prunable are the objects that a tool takes for its application's: they have its label and no owner, and do not say that
// they must not be pruned.
func prunable(ctx context.Context, application string) []string {
	GinkgoHelper()
	return ownerless(ctx, func(object client.Object) bool { return object.GetLabels()[v1alpha1.LabelInstance] == application })
}

// unguarded are the operator's objects that have no owner, and do not say that they must not be pruned.
func unguarded(ctx context.Context) []string {
	GinkgoHelper()
	return ownerless(ctx, func(object client.Object) bool {
		return object.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue
	})
}

func ownerless(ctx context.Context, which func(client.Object) bool) []string {
	GinkgoHelper()
	var found []string
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "PersistentVolumeClaim"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Pod"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "batch", Version: "v1", Kind: "Job"},
		v1alpha1.GroupVersion.WithKind("EtcdBackup"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		Expect(kube.Client.List(ctx, list, client.InNamespace(story.Namespace))).To(Succeed())
		for i := range list.Items {
			object := &list.Items[i]
			isGuarded := strings.Contains(object.GetAnnotations()[v1alpha1.AnnotationArgoSync], "Prune=false")
			if len(object.GetOwnerReferences()) == 0 && !isGuarded && which(object) {
				found = append(found, fmt.Sprintf("%s/%s", kind.Kind, object.GetName()))
			}
		}
	}
	return found
}

func apartBy(selector metav1.LabelSelector) world.Option {
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &selector}},
		}}
	}
}

// labelledClaim is a claim for backups that the policy of the story admits.
func labelledClaim(name string) *corev1.PersistentVolumeClaim {
	claim := pvc()
	claim.ObjectMeta = metav1.ObjectMeta{Namespace: story.Namespace, Name: name, Labels: map[string]string{"team": "a"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

// goBack restores the backup that save made in place.
func goBack(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	before := asItIs(ctx, cluster)
	restore := cluster.RestoreTo(ctx, "back", toBackup())
	restore.Approve(ctx)
	status := restore.Complete(ctx)
	cluster.AwaitReady(ctx, len(before.pods))
	wentBack(ctx, cluster, before, status)
}
