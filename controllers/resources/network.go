package resources

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Names of ports of members' Pods.
const (
	clientPortName  = "client"
	peerPortName    = "peer"
	metricsPortName = "metrics"
)

// BuildPeerService builds the headless Service below which members have their names. It publishes members that are not
// ready: they find each other by it before they can be. The bootstrap record and the operator's claim are on it from
// its creation; neither is ever applied over.
func BuildPeerService(c *v1alpha1.EtcdCluster, bootstrap record.Bootstrap, operator string) *corev1.Service {
	service := dress(c, buildService(c, PeerService(c.Name)))
	service.Annotations = merged(service.Annotations, map[string]string{
		v1alpha1.AnnotationBootstrap: bootstrap.Encode(), v1alpha1.AnnotationOperator: operator,
	})
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.PublishNotReadyAddresses = true
	service.Spec.Selector = MemberSelector(c.Name)
	service.Spec.Ports = discoveryPorts(c)
	return service
}

// discoveryPorts have the names below which etcd and its clients look for SRV records
// (etcd-io/etcd:client/pkg/srv/srv.go). Those of a headless Service lead to the names of its Pods
// (kubernetes/dns:docs/specification.md), which certificates hold. A rename costs nothing here. At the client Service
// kube-proxy refuses connections to a port of a new name until its endpoints have that name too.
func discoveryPorts(c *v1alpha1.EtcdCluster) []corev1.ServicePort {
	suffix := ""
	if c.Spec.TLSModeOrDefault() == v1alpha1.TLSManaged { // with Permissive clients find members without
		suffix = "-ssl"
	}
	client, peer := servicePort(clientPortName, etcdutil.ClientPort), servicePort(peerPortName, etcdutil.PeerPort)
	client.Name, peer.Name = "etcd-client"+suffix, "etcd-server"+suffix
	return []corev1.ServicePort{client, peer}
}

// PeerServiceShape is the part of the peer Service that is put right when it drifted: everything but its annotations.
func PeerServiceShape(c *v1alpha1.EtcdCluster) *corev1.Service {
	service := BuildPeerService(c, record.Bootstrap{}, "")
	service.Annotations = nil
	return service
}

// BuildClientService builds the Service that clients connect to. It reaches voters only, and these only when ready.
func BuildClientService(c *v1alpha1.EtcdCluster) *corev1.Service {
	service := buildService(c, ClientService(c.Name))
	service.Spec.Type = corev1.ServiceTypeClusterIP
	service.Spec.Selector = VoterSelector(c.Name)
	service.Spec.Ports = []corev1.ServicePort{servicePort(clientPortName, etcdutil.ClientPort)}
	if user := c.Spec.Service; user != nil {
		if user.Type != "" {
			service.Spec.Type = user.Type
		}
		service.Spec.LoadBalancerClass = user.LoadBalancerClass
		setAccess(service, user)
	}
	return dress(c, service)
}

// ClientServiceByRole is that Service. By role it reaches voters that Kubernetes does not call ready as well: only
// those that serve have the role.
func ClientServiceByRole(c *v1alpha1.EtcdCluster, byRole bool) *corev1.Service {
	service := BuildClientService(c)
	service.Spec.PublishNotReadyAddresses = byRole
	return service
}

// Fields of the client Service that the spec may set, and others as well.
const (
	fieldSourceRanges  = "loadBalancerSourceRanges"
	fieldTrafficPolicy = "externalTrafficPolicy"
)

// setAccess leaves out what a Service of its type cannot have: the spec is refused for it. A range that Kubernetes
// would refuse stays: without it the Service might let in everybody.
func setAccess(service *corev1.Service, user *v1alpha1.ServiceSpec) {
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		service.Spec.LoadBalancerSourceRanges = slices.Clone(user.LoadBalancerSourceRanges)
	}
	if service.Spec.Type != corev1.ServiceTypeClusterIP {
		service.Spec.ExternalTrafficPolicy = user.ExternalTrafficPolicy
	}
}

// fieldsOf are the fields that a Service has from the spec. One that left the spec is among them until it is reset.
func fieldsOf(c *v1alpha1.EtcdCluster, object metav1.Object, before []string) []string {
	service, isService := object.(*corev1.Service)
	if !isService || service.Name != ClientService(c.Name) {
		return nil
	}
	var fields []string
	add := func(name string, isAsked, isSet bool) {
		if isAsked || isSet && slices.Contains(before, name) {
			fields = append(fields, name)
		}
	}
	user := cmp.Or(c.Spec.Service, &v1alpha1.ServiceSpec{})
	add(fieldTrafficPolicy, user.ExternalTrafficPolicy != "",
		service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal)
	add(fieldSourceRanges, len(user.LoadBalancerSourceRanges) > 0, len(service.Spec.LoadBalancerSourceRanges) > 0)
	return fields
}

// KeepAccess has a Service that is wanted name the source ranges and the traffic policy that the one that is there is
// to have: those of the spec, or else what others set.
func KeepAccess(have, want *corev1.Service) {
	want.Spec.LoadBalancerSourceRanges, want.Spec.ExternalTrafficPolicy =
		sourceRanges(have, want), trafficPolicy(have, want)
}

// sourceRanges takes away what left the spec, and what Kubernetes accepts of load balancers alone.
func sourceRanges(have, want *corev1.Service) []string {
	asked := want.Spec.LoadBalancerSourceRanges
	if len(asked) > 0 || want.Spec.Type != corev1.ServiceTypeLoadBalancer || isFromSpec(have, fieldSourceRanges) {
		return asked
	}
	return have.Spec.LoadBalancerSourceRanges
}

// trafficPolicy is empty where a Service cannot be reached from outside and has none.
func trafficPolicy(have, want *corev1.Service) corev1.ServiceExternalTrafficPolicy {
	switch asked := want.Spec.ExternalTrafficPolicy; {
	case want.Spec.Type != corev1.ServiceTypeLoadBalancer && want.Spec.Type != corev1.ServiceTypeNodePort, asked != "":
		return asked
	case isFromSpec(have, fieldTrafficPolicy):
		return corev1.ServiceExternalTrafficPolicyCluster
	}
	return have.Spec.ExternalTrafficPolicy
}

func isFromSpec(service *corev1.Service, name string) bool {
	before, _ := dressedOf(service)
	return slices.Contains(before.Fields, name)
}

// buildService prefers both address families and asks for neither, unless the user does: what the cluster's network has
// decides.
func buildService(c *v1alpha1.EtcdCluster, name string) *corev1.Service {
	service, policy := &corev1.Service{ObjectMeta: ownedMeta(c, name)}, corev1.IPFamilyPolicy("")
	if user := c.Spec.Service; user != nil {
		service.Spec.IPFamilies, policy = slices.Clone(user.IPFamilies), user.IPFamilyPolicy
	}
	service.Spec.IPFamilyPolicy = new(cmp.Or(policy, corev1.IPFamilyPolicyPreferDualStack))
	return service
}

// KeepFamilies has a Service that is wanted name all families of the one that is there, after those that are asked for.
// To leave out what the API server filled in would be to ask for its removal, which only SingleStack may.
func KeepFamilies(have, want *corev1.Service) {
	if *want.Spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack && len(want.Spec.IPFamilies) > 0 {
		return
	}
	for _, family := range have.Spec.IPFamilies {
		if !slices.Contains(want.Spec.IPFamilies, family) {
			want.Spec.IPFamilies = append(want.Spec.IPFamilies, family)
		}
	}
}

// ownedMeta is the metadata of what goes with the cluster.
func ownedMeta(c *v1alpha1.EtcdCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: c.Namespace, Name: name, Labels: Labels(c),
		OwnerReferences: []metav1.OwnerReference{OwnerReference(c)},
	}
}

func servicePort(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
}

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

// tasksWithMembers are the Pods that take backups of the cluster, those that restore what a member still holds, and
// those that have members defragmented. No other task connects to a member.
func tasksWithMembers(c *v1alpha1.EtcdCluster) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name},
		MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1alpha1.LabelComponent, Operator: metav1.LabelSelectorOpIn,
			Values: []string{v1alpha1.ComponentBackup, v1alpha1.ComponentDefrag, v1alpha1.ComponentRestore},
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

// BuildBudget builds the PodDisruptionBudget that keeps so many voters ready. The bound is a number: a percentage would
// be counted by the owners' scale, which is what is wanted and not what there is.
func BuildBudget(c *v1alpha1.EtcdCluster, minAvailable int) *policyv1.PodDisruptionBudget {
	return dress(c, &policyv1.PodDisruptionBudget{
		ObjectMeta: ownedMeta(c, Budget(c.Name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(int32(minAvailable))),
			Selector: &metav1.LabelSelector{MatchLabels: MemberSelector(c.Name),
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelRole,
					Operator: metav1.LabelSelectorOpIn,
					Values:   []string{v1alpha1.RoleVoter, v1alpha1.RoleLeaving, v1alpha1.RoleCounted}}}},
		},
	})
}
