package resources

import (
	"cmp"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const operatorName = "ops/etcd-steward"

// guarded lets Pods of a shop connect, and a Prometheus in another namespace read metrics.
func guarded(c *v1alpha1.EtcdCluster) {
	c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{
		Clients: []networkingv1.NetworkPolicyPeer{
			{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}},
			{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}},
		},
		Metrics: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "monitoring"}},
		}},
	}
}

// closed lets in no more than what the cluster needs.
func closed(c *v1alpha1.EtcdCluster) {
	c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{
		Clients: []networkingv1.NetworkPolicyPeer{}, Metrics: []networkingv1.NetworkPolicyPeer{}}
}

// lets reports whether Kubernetes lets a Pod connect to a Pod that the policy selects
// (kubernetes/api:networking/v1/types.go, NetworkPolicyPeer).
func lets(t *testing.T, policy *networkingv1.NetworkPolicy, namespace string, pod map[string]string, port int) bool {
	t.Helper()
	matches := func(selector *metav1.LabelSelector, has map[string]string) bool {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		return s.Matches(labels.Set(has))
	}
	comes := func(from networkingv1.NetworkPolicyPeer) bool {
		if from.IPBlock != nil {
			return false
		}
		isThere := namespace == policy.Namespace
		if from.NamespaceSelector != nil {
			isThere = matches(from.NamespaceSelector, map[string]string{corev1.LabelMetadataName: namespace})
		}
		return isThere && (from.PodSelector == nil || matches(from.PodSelector, pod))
	}
	for _, rule := range policy.Spec.Ingress {
		if rule.Ports[0].Port.IntValue() != port || *rule.Ports[0].Protocol != corev1.ProtocolTCP {
			continue
		}
		if len(rule.From) == 0 {
			return true
		}
		for _, from := range rule.From {
			if comes(from) {
				return true
			}
		}
	}
	return false
}

// operatorPod has the labels of the operator's Pods, as they are installed.
func operatorPod(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile("../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal(file, &deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template.Labels
}

func TestTheNetworkPolicyLetsInWhatTheClusterLivesByAndWhoIsAskedForAndNoOther(t *testing.T) {
	shop, neighbour := map[string]string{"app": "shop"}, cluster(func(c *v1alpha1.EtcdCluster) { c.Name, c.UID = "other", "other" })
	backup := BuildBackupJob(toVolume(), cluster(), backupStart()).Spec.Template.Labels
	elsewhere := BuildBackupJob(toVolume(), neighbour, backupStart()).Spec.Template.Labels
	prune := BuildPruneJob(nightly(), cluster(), pruneStart()).Spec.Template.Labels
	restore := mustRestorePod(t, cluster(), ofSurvivorPod(restoring(cluster(), stored()))).Labels
	for _, row := range []struct {
		name, namespace string
		pod             map[string]string
		shape           func(*v1alpha1.EtcdCluster)
		ports           []int // of 2379, 2380 and 2381
	}{
		{"a member, also before it has a role", "prod", mustPod(t, cluster(), atBootstrap(cluster())).Labels, closed, []int{2379, 2380}},
		{"the operator", "ops", operatorPod(t), closed, []int{2379}},
		{"another Pod beside the operator", "ops", shop, closed, nil},
		{"a Pod elsewhere that calls itself the operator", "prod", operatorPod(t), closed, nil},
		{"a Pod that takes a backup", "prod", backup, closed, []int{2379}},
		{"a Pod that restores what a member holds", "prod", restore, closed, []int{2379}},
		{"a Pod that prunes backups", "prod", prune, closed, nil},
		{"a backup of another cluster", "prod", elsewhere, closed, nil},
		{"a member of another cluster", "prod", mustPod(t, neighbour, atBootstrap(neighbour)).Labels, closed, nil},
		{"a member of a cluster of this name elsewhere", "test", mustPod(t, cluster(), atBootstrap(cluster())).Labels, closed, nil},
		{"a client that is not asked for", "prod", shop, closed, nil},
		{"a client", "prod", shop, guarded, []int{2379}},
		{"a client of that label elsewhere", "test", shop, guarded, nil},
		{"Prometheus", "monitoring", map[string]string{"app": "prometheus"}, guarded, []int{2381}},
	} {
		policy, port := BuildNetworkPolicy(cluster(row.shape), operatorName), 2379
		for ; port <= 2381; port++ {
			want := false
			for _, open := range row.ports {
				want = want || open == port
			}
			if got := lets(t, policy, row.namespace, row.pod, port); got != want {
				t.Errorf("%s is let in at %d: %v", row.name, port, got)
			}
		}
	}
}

func TestTheNetworkPolicySelectsMembersAndNoTaskAndRulesNothingThatGoesOut(t *testing.T) {
	policy := BuildNetworkPolicy(cluster(closed), operatorName)
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(labels.Set(mustPod(t, cluster(), atBootstrap(cluster())).Labels)) {
		t.Error("it guards no member")
	}
	if selector.Matches(labels.Set(BuildBackupJob(toVolume(), cluster(), backupStart()).Spec.Template.Labels)) {
		t.Error("it guards a task")
	}
	if len(policy.Spec.PolicyTypes) != 1 || policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
		t.Errorf("it rules %v", policy.Spec.PolicyTypes)
	}
}

func TestANetworkPolicyDriftsInWhatItLetsInAndNotInWhatOthersAdd(t *testing.T) {
	want := BuildNetworkPolicy(cluster(guarded), operatorName)
	have := want.DeepCopy()
	have.Labels["example.com/of-others"] = "x"
	have.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}} // without effect, as policyTypes is
	if drift := cmp.Or(NetworkPolicyDrift(have, want), MetadataDrift(cluster(guarded), have)); drift != "" {
		t.Errorf("what others add: %s", drift)
	}
	for name, change := range map[string]func(*networkingv1.NetworkPolicy){
		"selector": func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = metav1.LabelSelector{} },
		"types": func(p *networkingv1.NetworkPolicy) {
			p.Spec.PolicyTypes = []networkingv1.PolicyType{"Ingress", "Egress"}
		},
		"more let in": func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[1].From = nil },
		"a rule less": func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress = p.Spec.Ingress[1:] },
		"label":       func(p *networkingv1.NetworkPolicy) { delete(p.Labels, v1alpha1.LabelManagedBy) },
	} {
		have := want.DeepCopy()
		change(have)
		if cmp.Or(NetworkPolicyDrift(have, want), MetadataDrift(cluster(guarded), have)) == "" {
			t.Errorf("%s changed, and it is no drift", name)
		}
	}
	if NetworkPolicyDrift(want, BuildNetworkPolicy(cluster(guarded), "elsewhere/etcd-steward")) == "" {
		t.Error("another operator looks after the cluster, and is not let in")
	}
}
