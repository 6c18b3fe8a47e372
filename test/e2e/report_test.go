package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("The install", Label("report"), func() {
	It("is two restricted replicas of which one leads, with a disruption budget", perStory, func(ctx context.Context) {
		namespace := &corev1.Namespace{}
		Expect(kube.Client.Get(ctx, client.ObjectKey{Name: world.OperatorNamespace}, namespace)).To(Succeed())
		Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
		Eventually(ctx, func() (int32, error) {
			operator := &appsv1.Deployment{}
			err := kube.Client.Get(ctx, operatorKey(world.OperatorName), operator)
			return operator.Status.ReadyReplicas, err
		}).Should(BeEquivalentTo(2))
		budget := &policyv1.PodDisruptionBudget{}
		Expect(kube.Client.Get(ctx, operatorKey(world.OperatorName), budget)).To(Succeed())
		lease := &coordinationv1.Lease{}
		Expect(kube.Client.Get(ctx, operatorKey(world.LeaseName), lease)).To(Succeed())
		leader, err := kube.OperatorLeader(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(leader.Labels).To(HaveKeyWithValue("control-plane", "controller-manager"))
	})

	It("may not list or watch Secrets", perStory, func(ctx context.Context) {
		for _, verb := range []string{"list", "watch"} {
			out, _ := kube.Kubectl(ctx, "auth", "can-i", verb, "secrets", "--all-namespaces", "--as=system:serviceaccount:"+world.OperatorNamespace+":"+world.OperatorName)
			Expect(out).To(HavePrefix("no"), verb)
		}
		out, _ := kube.Kubectl(ctx, "auth", "can-i", "create", "pods", "--all-namespaces", "--as=system:serviceaccount:"+world.OperatorNamespace+":"+world.OperatorName)
		Expect(out).To(HavePrefix("yes"), "the question is understood")
	})
})

var _ = Describe("What a user is told", Label("report"), func() {
	ownNamespace()

	It("is in conditions, columns and events, from the birth to a repair", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "told", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		Eventually(ctx, func(g Gomega) { // a probe that came late is told as well
			object, err := cluster.Get(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			for condition, status := range map[string]bool{
				v1alpha1.ConditionReady: true, v1alpha1.ConditionAvailable: true, v1alpha1.ConditionUpToDate: true, v1alpha1.ConditionDegraded: false,
			} {
				g.Expect(apimeta.IsStatusConditionPresentAndEqual(object.Status.Conditions, condition, conditionStatus(status))).To(BeTrue(), condition)
			}
			out, err := story.Kubectl(ctx, "-n", story.Namespace, "get", "etcd", "told")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(MatchRegexp(`told\s+3\s+3\s+3\.6\.16\s+True\s+Settled`))
		}).Should(Succeed())

		victim := follower(ctx, cluster)
		deletePod(ctx, cluster, victim)
		cluster.AwaitReady(ctx, 3)
		Eventually(ctx, func() ([]string, error) { return eventReasons(ctx, cluster) }).
			Should(ContainElements("CreatingCluster", "ClusterCreated", "Ready", "MemberRemoved", "MemberAdded", "MemberPromoted"))
	})

	It("is in etcd's own metrics, which Prometheus finds and reads of every member with no certificate, with TLS on", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "watched", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		addresses := monitored(ctx, cluster)
		Expect(addresses).To(HaveLen(3))
		for member, address := range addresses {
			metrics, err := world.ReadMetrics(ctx, address)
			Expect(err).NotTo(HaveOccurred(), member)
			led, found := world.Value(metrics, "etcd_server_has_leader", nil)
			Expect(found && led == 1).To(BeTrue(), member)
		}
		traffic.Finish(ctx)
	})

	It("is scaled by kubectl scale", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "scaled", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		out, err := story.Kubectl(ctx, "-n", story.Namespace, "scale", "etcd/scaled", "--replicas=3")
		Expect(err).NotTo(HaveOccurred(), out)
		cluster.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
		out, err = story.Kubectl(ctx, "-n", story.Namespace, "scale", "etcd/scaled", "--replicas=2")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("it must be 1, 3, 5 or 7"))
	})

	It("is in metrics, for those who may read them, and goes with the cluster", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "counted", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		nobody, err := story.ScraperToken(ctx, "nobody", false)
		Expect(err).NotTo(HaveOccurred())
		for _, token := range []string{"", nobody} {
			Eventually(ctx, func() (int, error) {
				status, _, err := kube.Scrape(ctx, token)
				return status, err
			}).Should(BeElementOf(http.StatusUnauthorized, http.StatusForbidden))
		}
		scraper, err := story.ScraperToken(ctx, "scraper", true)
		Expect(err).NotTo(HaveOccurred())
		mine := func(more ...string) map[string]string {
			labels := map[string]string{"namespace": story.Namespace, "name": "counted"}
			for i := 0; i+1 < len(more); i += 2 {
				labels[more[i]] = more[i+1]
			}
			return labels
		}
		Eventually(ctx, func(g Gomega) {
			status, metrics, err := kube.Scrape(ctx, scraper)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(Equal(http.StatusOK))
			for _, want := range []struct {
				family string
				labels map[string]string
				value  float64
			}{
				{"etcdsteward_cluster_info", mine("version", world.DefaultVersion, "tls", "Managed", "storage", "Ephemeral"), 1},
				{"etcdsteward_cluster_members_desired", mine(), 3},
				{"etcdsteward_cluster_members", mine("state", "voter"), 3},
				{"etcdsteward_cluster_quorum_margin", mine(), 1},
				{"etcdsteward_cluster_condition", mine("type", "Ready", "status", "true"), 1},
			} {
				value, found := world.Value(metrics, want.family, want.labels)
				g.Expect(found).To(BeTrue(), "%s %v", want.family, want.labels)
				g.Expect(value).To(Equal(want.value), "%s %v", want.family, want.labels)
			}
			applied, found := world.Value(metrics, "etcdsteward_changes_total", map[string]string{"kind": "BeginBootstrap", "result": "applied"})
			g.Expect(found).To(BeTrue())
			g.Expect(applied).To(BeNumerically(">=", 1))
		}).Should(Succeed())

		deleteCluster(ctx, cluster)
		Eventually(ctx, func(g Gomega) {
			_, metrics, err := kube.Scrape(ctx, scraper)
			g.Expect(err).NotTo(HaveOccurred())
			_, found := world.Value(metrics, "etcdsteward_cluster_info", mine())
			g.Expect(found).To(BeFalse())
		}).Should(Succeed())
	})
})

// monitored are the addresses of a cluster's members that config/monitoring lets Prometheus scrape, by member.
func monitored(ctx context.Context, c *world.Cluster) map[string]string {
	GinkgoHelper()
	manifest, err := os.ReadFile("../../config/monitoring/members.yaml")
	Expect(err).NotTo(HaveOccurred())
	var monitor struct {
		Spec struct {
			Selector  metav1.LabelSelector
			Endpoints []struct{ Port, Scheme string } `json:"podMetricsEndpoints"`
		}
	}
	Expect(yaml.Unmarshal(manifest, &monitor)).To(Succeed())
	Expect(monitor.Spec.Endpoints).To(HaveLen(1))
	pods, endpoint := &corev1.PodList{}, monitor.Spec.Endpoints[0]
	Expect(kube.Client.List(ctx, pods, client.InNamespace(c.Namespace), client.MatchingLabels(monitor.Spec.Selector.MatchLabels))).To(Succeed())
	addresses := map[string]string{}
	for _, pod := range pods.Items {
		for _, port := range pod.Spec.Containers[0].Ports {
			if port.Name == endpoint.Port {
				addresses[pod.Name] = endpoint.Scheme + "://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort))) + "/metrics"
			}
		}
	}
	return addresses
}

func operatorKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: world.OperatorNamespace, Name: name}
}

// eventsOf are all events about the cluster.
func eventsOf(ctx context.Context, c *world.Cluster) ([]eventsv1.Event, error) {
	events := &eventsv1.EventList{}
	err := kube.Client.List(ctx, events, client.InNamespace(c.Namespace))
	return slices.DeleteFunc(events.Items, func(event eventsv1.Event) bool {
		return event.Regarding.Kind != "EtcdCluster" || event.Regarding.Name != c.Name
	}), err
}

func eventReasons(ctx context.Context, c *world.Cluster) ([]string, error) {
	events, err := eventsOf(ctx, c)
	var reasons []string
	for i := range events {
		reasons = append(reasons, events[i].Reason)
	}
	return reasons, err
}
