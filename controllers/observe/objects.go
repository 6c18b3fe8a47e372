package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// judge says how an object that goes with the cluster stands; drift is asked only of one that is ours.
func (o ownership) judge(kind, name string, object metav1.Object, isAbsent bool, drift func() string) facts.Object {
	judged := facts.Object{Kind: kind, Name: name}
	if isAbsent {
		judged.State = facts.ObjectAbsent
		return judged
	}
	if judged.State, judged.Detail = o.stateOf(object); judged.State != "" {
		judged.HeldBy = resources.HeldBy(object)
		return judged
	}
	if judged.Detail = drift(); judged.Detail != "" {
		judged.State = facts.ObjectDrifted
		return judged
	}
	judged.State = facts.ObjectCurrent
	return judged
}

// services are the peer Service and the client Service. The peer Service is created by a bootstrap alone; here it is
// put right, or found to be taken.
func (g gathered) services(cluster *v1alpha1.EtcdCluster, ours ownership, byRole bool) []facts.Object {
	forClients := ours.judge(resources.KindService, resources.ClientService(cluster.Name), g.clientService,
		g.clientService == nil, func() string {
			return cmp.Or(resources.ServiceDrift(g.clientService, resources.ClientServiceByRole(cluster, byRole)),
				resources.MetadataDrift(cluster, g.clientService))
		})
	forClients.ByRole = byRole
	return []facts.Object{
		ours.judge(resources.KindService, resources.PeerService(cluster.Name), g.peerService, g.peerService == nil,
			func() string {
				return cmp.Or(resources.ServiceDrift(g.peerService, resources.PeerServiceShape(cluster)),
					resources.MetadataDrift(cluster, g.peerService))
			}),
		forClients,
	}
}

// selectsByName reports that a Service, the budget or the NetworkPolicy of an earlier release selects members by
// LabelName too, which has another value now. A budget of none keeps nothing.
func (g gathered) selectsByName(ours ownership) bool {
	byName := func(object metav1.Object, selector map[string]string) bool {
		return resources.IsControlledBy(object, ours.uid) && selector[v1alpha1.LabelName] != ""
	}
	for _, service := range []*corev1.Service{g.peerService, g.clientService} {
		if service != nil && byName(service, service.Spec.Selector) {
			return true
		}
	}
	budget, policy := g.budget, g.policy
	return budget != nil && resources.BudgetBound(budget) > 0 && budget.Spec.Selector != nil &&
		byName(budget, budget.Spec.Selector.MatchLabels) ||
		policy != nil && byName(policy, policy.Spec.PodSelector.MatchLabels)
}

// loadBalancer are the addresses that the client Service got from its load balancer, if the Service is ours. Of any
// other type, what is written there leads nowhere.
func (g gathered) loadBalancer(ours ownership) []string {
	service := g.clientService
	if service == nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer ||
		!resources.IsControlledBy(service, ours.uid) {
		return nil
	}
	var addresses []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		// names with capitals are those of platforms that keep a user's; in DNS and in certificates they are the same
		for _, address := range []string{ingress.IP, strings.ToLower(ingress.Hostname)} {
			if v1alpha1.IsSAN(address) {
				addresses = append(addresses, address)
			}
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// networkPolicy is the NetworkPolicy, where the spec asks for one. One of ours that it asks for no more is drift.
func (g gathered) networkPolicy(cluster *v1alpha1.EtcdCluster, ours ownership, operator string) []facts.Object {
	name, isWanted := resources.NetworkPolicy(cluster.Name), cluster.Spec.NetworkPolicy != nil
	policy := ours.judge(resources.KindPolicy, name, g.policy, g.policy == nil, func() string {
		if !isWanted {
			return "the spec asks for none any more"
		}
		return cmp.Or(resources.NetworkPolicyDrift(g.policy, resources.BuildNetworkPolicy(cluster, operator)),
			resources.MetadataDrift(cluster, g.policy))
	})
	if !isWanted && policy.State != facts.ObjectDrifted {
		return nil
	}
	return []facts.Object{policy}
}

// bootstrap reads the record from the peer Service, if that is ours, and which install claims the cluster there.
func (g gathered) bootstrap(ours ownership) (bootstrap record.Bootstrap, claim string, err error) {
	if g.peerService == nil || !resources.IsControlledBy(g.peerService, ours.uid) {
		return record.Bootstrap{}, "", nil
	}
	bootstrap, err = bootstrapOf(g.peerService)
	return bootstrap, g.claim(ours), err
}

// claim is the install that claims the cluster on the peer Service, if that is ours.
func (g gathered) claim(ours ownership) string {
	if g.peerService == nil || !resources.IsControlledBy(g.peerService, ours.uid) {
		return ""
	}
	return g.peerService.Annotations[v1alpha1.AnnotationOperator]
}

// dataClaim is the install that claims the cluster beside its data. Volumes that were put aside are asked last.
func (g gathered) dataClaim(cluster *v1alpha1.EtcdCluster) string {
	return cmp.Or(resources.DataClaim(cluster, g.volumes), resources.DataClaim(cluster, g.pods),
		resources.DataClaim(cluster, g.kept))
}

// takenOver is when the install that claims the cluster took it over; zero where it says no time.
func (g gathered) takenOver() time.Time {
	if g.peerService == nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, g.peerService.Annotations[v1alpha1.AnnotationTakenOver])
	return at
}

// disruptionBudget is the PodDisruptionBudget with its bound. A bound that is no number is drift, and counts as none.
func (g gathered) disruptionBudget(cluster *v1alpha1.EtcdCluster, ours ownership) facts.Budget {
	name := resources.Budget(cluster.Name)
	budget := facts.Budget{Object: ours.judge(resources.KindBudget, name, g.budget, g.budget == nil, func() string {
		return budgetDrift(cluster, g.budget)
	})}
	if budget.State == facts.ObjectCurrent || budget.State == facts.ObjectDrifted {
		budget.MinAvailable = max(resources.BudgetBound(g.budget), 0)
	}
	return budget
}

func budgetDrift(cluster *v1alpha1.EtcdCluster, budget *policyv1.PodDisruptionBudget) string {
	bound := resources.BudgetBound(budget)
	if bound < 0 {
		return "minAvailable is not a number"
	}
	return cmp.Or(resources.BudgetDrift(budget, resources.BuildBudget(cluster, bound)),
		resources.MetadataDrift(cluster, budget))
}

// detailEarlier is what the garbage collector takes.
const detailEarlier = "it goes with an earlier cluster of this name"

// others are Pods and volumes under members' names that are not ours. What the garbage collector takes is waited for;
// what an earlier cluster left is for a person to decide about; anything else has taken a name.
func (g gathered) others(ours ownership) (objects []facts.Object, left []facts.Retained) {
	for _, pod := range g.otherPods {
		state, detail := ours.stateOf(&pod)
		objects = append(objects, facts.Object{Kind: resources.KindPod, Name: pod.Name, State: state, Detail: detail,
			HeldBy: resources.PodHeldBy(&pod)})
	}
	for _, volume := range g.otherVolumes {
		object := facts.Object{Kind: resources.KindVolume, Name: volume.Name, HeldBy: resources.HeldBy(&volume)}
		switch {
		case ours.goesWithAnother(&volume):
			object.State, object.Detail = facts.ObjectTerminating, detailEarlier
		case ours.isRetained(&volume):
			left = append(left, retainedVolume(&volume))
			continue
		default:
			object.State, object.Detail = facts.ObjectForeign, "it does not say to which cluster it belongs"
		}
		objects = append(objects, object)
	}
	return objects, left
}

// ownership tells what belongs to one cluster from what only looks like it. Labels that a user can write decide
// nothing.
type ownership struct {
	namespace, cluster string
	uid                types.UID
}

func ownershipOf(cluster *v1alpha1.EtcdCluster) ownership {
	return ownership{namespace: cluster.Namespace, cluster: cluster.Name, uid: cluster.UID}
}

// stateOf says how an object stands that goes with its cluster: ours (and then empty), leaving, or of another owner.
// What an earlier cluster of this name controlled is the garbage collector's already.
func (o ownership) stateOf(object metav1.Object) (state facts.ObjectState, detail string) {
	switch controller := metav1.GetControllerOf(object); {
	case controller == nil:
		return facts.ObjectForeign, "it has no owner"
	case controller.UID != o.uid && controller.Kind == resources.KindCluster && controller.Name == o.cluster:
		return facts.ObjectTerminating, detailEarlier
	case controller.UID != o.uid:
		return facts.ObjectForeign, "it belongs to " + controller.Kind + " " + controller.Name
	case object.GetDeletionTimestamp() != nil:
		return facts.ObjectTerminating, "it is being deleted"
	}
	return "", ""
}

// goesWithAnother says that the garbage collector takes the data, because an earlier cluster of this name owns it.
func (o ownership) goesWithAnother(data metav1.Object) bool {
	for _, owner := range data.GetOwnerReferences() {
		if owner.Kind == resources.KindCluster && owner.Name == o.cluster && owner.UID != o.uid {
			return true
		}
	}
	return data.GetDeletionTimestamp() != nil
}

// isMember says that the name is one that a member of this cluster may have.
func (o ownership) isMember(name string) bool {
	_, ok := etcdutil.Ordinal(o.cluster, name)
	return ok
}

// isTask says that the name is one that a Pod of a restore may have.
func (o ownership) isTask(name string) bool {
	restored, isRestore := resources.RestoredMember(name)
	return isRestore && o.isMember(restored) || name == resources.PreflightPod(o.cluster)
}

// memberOf is the name that a member's peer URLs give it; false when none of them is ours.
func (o ownership) memberOf(member etcdutil.Member) (string, bool) {
	for _, url := range member.PeerURLs {
		if name, ok := etcdutil.MemberFromPeerURL(url, o.cluster, o.namespace); ok {
			return name, true
		}
	}
	return "", false
}

// strangers are members that the operator did not add: nothing of ours can be joined to them.
func (o ownership) strangers(members []etcdutil.Member) []etcdutil.Member {
	var strangers []etcdutil.Member
	for _, m := range members {
		if _, ok := o.memberOf(m); !ok {
			strangers = append(strangers, m)
		}
	}
	return strangers
}
