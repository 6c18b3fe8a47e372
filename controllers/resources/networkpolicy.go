package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// BuildNetworkPolicy builds the NetworkPolicy of a cluster whose spec asks for one. It guards members alone, and only
// what comes in. Members reach each other on the client port too, for what people run inside one of them. The kubelet's
// probes need no rule: Kubernetes lets a Pod's own node in always. Operator is the namespace/name of this install.
func BuildNetworkPolicy(c *v1alpha1.EtcdCluster, operator string) *networkingv1.NetworkPolicy {
	members := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: MemberSelector(c.Name)}}
	clients := []networkingv1.NetworkPolicyPeer{members, tasksWithMembers(c), operatorIn(operator)}
	spec := c.Spec.NetworkPolicy
	ingress := []networkingv1.NetworkPolicyIngressRule{
		letIn(etcdutil.PeerPort, members),
		letIn(etcdutil.ClientPort, append(clients, spec.Clients...)...),
	}
	if len(spec.Metrics) > 0 { // a rule without peers would let everything in
		ingress = append(ingress, letIn(etcdutil.MetricsPort, spec.Metrics...))
	}
	return dress(c, &networkingv1.NetworkPolicy{
		ObjectMeta: ownedMeta(c, NetworkPolicy(c.Name)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: MemberSelector(c.Name)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     ingress,
		},
	})
}

// tasksWithMembers are the Pods that take backups of the cluster, and those that restore what a member still holds. No
// other task connects to a member.
func tasksWithMembers(c *v1alpha1.EtcdCluster) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name},
		MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1alpha1.LabelComponent, Operator: metav1.LabelSelectorOpIn,
			Values: []string{v1alpha1.ComponentBackup, v1alpha1.ComponentRestore},
		}},
	}}
}

// operatorIn are the operator's Pods. They are told by the label alone that every way to install it gives them.
func operatorIn(operator string) networkingv1.NetworkPolicyPeer {
	namespace, _, _ := strings.Cut(operator, "/")
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			corev1.LabelMetadataName: namespace}},
		PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1alpha1.LabelName: v1alpha1.OperatorNameValue}},
	}
}

func letIn(port int32, from ...networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		Ports: []networkingv1.NetworkPolicyPort{
			{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))},
		},
		From: from,
	}
}

// NetworkPolicyDrift says how a NetworkPolicy differs from the one that is wanted; empty when it does not. Rules on
// what goes out, which others added, count for nothing while policyTypes does not name them.
func NetworkPolicyDrift(have, want *networkingv1.NetworkPolicy) string {
	switch {
	case !equality.Semantic.DeepEqual(have.Spec.PodSelector, want.Spec.PodSelector):
		return "it selects other Pods"
	case !equality.Semantic.DeepEqual(have.Spec.PolicyTypes, want.Spec.PolicyTypes):
		return "its policyTypes were changed"
	case !equality.Semantic.DeepEqual(have.Spec.Ingress, want.Spec.Ingress):
		return "it lets others in than the spec asks for"
	}
	return ""
}
