package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
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

// Reference is an object of others that a spec names, and that may come later than the spec.
type Reference struct {
	Field string // of the spec
	Kind  schema.GroupVersionKind
	Name  string
	Needs string // what waits until the object is there
}

var (
	kindSecret = corev1.SchemeGroupVersion.WithKind("Secret")
	kindClaim  = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	kindClass  = storagev1.SchemeGroupVersion.WithKind("StorageClass")
)

// resourcesOf are what a user has to be allowed to get to be told that an object is not there. A StorageClass lies in
// no namespace and holds no secret.
var resourcesOf = map[schema.GroupVersionKind][]corev1.ResourceName{
	kindSecret: {corev1.ResourceSecrets},
	kindClaim:  {corev1.ResourcePersistentVolumeClaims},
}

// ReferencesOfCluster are the objects that the spec of a cluster names.
func ReferencesOfCluster(cluster *v1alpha1.EtcdCluster) []Reference {
	var refs []Reference
	if storage := cluster.Spec.Storage; storage != nil && storage.StorageClassName != nil {
		refs = append(refs, Reference{Field: "spec.storage.storageClassName", Kind: kindClass,
			Name: *storage.StorageClassName, Needs: "members have no volume, and do not start"})
	}
	if wal := cluster.Spec.WAL(); wal != nil && cluster.Spec.Storage.WAL.StorageClassName != nil {
		refs = append(refs, Reference{Field: "spec.storage.wal.storageClassName", Kind: kindClass,
			Name: *wal.StorageClassName, Needs: "members have no volume for their write-ahead log, and do not start"})
	}
	clients, peers := cluster.Spec.CASources()
	refs = append(refs, Reference{Field: "spec.tls.clientCA.secretRef.name", Kind: kindSecret,
		Name: clients.SecretName(), Needs: "the CA for clients stays as it is, or the cluster does not begin"},
		Reference{Field: "spec.tls.peerCA.secretRef.name", Kind: kindSecret, Name: peers.SecretName(),
			Needs: "the CA for members stays as it is, or the cluster does not begin"})
	if image := cluster.Spec.Image; image != nil {
		for i, secret := range image.PullSecrets {
			refs = append(refs, Reference{Field: fmt.Sprintf("spec.image.pullSecrets[%d]", i), Kind: kindSecret,
				Name: secret.Name, Needs: "nodes pull the image without it"})
		}
	}
	if bootstrap := cluster.Spec.Bootstrap; bootstrap != nil && bootstrap.Restore != nil {
		refs = append(refs, ReferencesOfStore("spec.bootstrap.restore.store", bootstrap.Restore.Store,
			"the restore does not start")...)
	}
	return slices.DeleteFunc(refs, func(r Reference) bool { return r.Name == "" })
}

// ReferencesOfStore are the objects that a store of backups names; needs says what waits for them.
func ReferencesOfStore(at string, store *v1alpha1.BackupStore, needs string) []Reference {
	var refs []Reference
	add := func(field string, secrets ...*v1alpha1.StoreSecretReference) {
		for i, secret := range secrets {
			if secret != nil {
				refs = append(refs, Reference{Kind: kindSecret, Name: secret.Name, Needs: needs,
					Field: at + field + []string{".credentialsSecretRef", ".caSecretRef"}[i]})
			}
		}
	}
	switch {
	case store == nil:
	case store.S3 != nil:
		add(".s3", store.S3.CredentialsSecretRef, store.S3.CASecretRef)
	case store.GCS != nil:
		add(".gcs", store.GCS.CredentialsSecretRef, store.GCS.CASecretRef)
	case store.Azure != nil:
		add(".azure", store.Azure.CredentialsSecretRef, store.Azure.CASecretRef)
	case store.Volume != nil:
		add(".volume", store.Volume.CredentialsSecretRef)
		refs = append(refs, Reference{Field: at + ".volume.claimName", Kind: kindClaim, Name: store.Volume.ClaimName,
			Needs: needs})
	}
	return refs
}

// Absent says which of the references lead to nothing, in a sentence each. It reads no more than the metadata of an
// object. One that the operator, or who is told, may not read counts as there.
func Absent(ctx context.Context, live client.Reader, mayGet func(context.Context, ...corev1.ResourceName) (bool, error),
	namespace string, refs []Reference) ([]string, error) {
	var sentences []string
	for _, ref := range refs {
		isTold, err := mayGet(ctx, resourcesOf[ref.Kind]...)
		if err != nil {
			return sentences, err
		}
		if !isTold {
			continue
		}
		isThere, err := exists(ctx, live, namespace, ref)
		if err != nil {
			return sentences, err
		}
		if !isThere {
			sentences = append(sentences, fmt.Sprintf("%s names the %s %s, which does not exist. Create it: until "+
				"then %s.", ref.Field, ref.Kind.Kind, ref.Name, ref.Needs))
		}
	}
	return sentences, nil
}

func exists(ctx context.Context, live client.Reader, namespace string, ref Reference) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(ref.Kind)
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	if ref.Kind == kindClass {
		key.Namespace = ""
	}
	err := live.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err == nil, apierrors.IsForbidden(err):
		return true, nil
	}
	return false, fmt.Errorf("reading the %s %s: %w", ref.Kind.Kind, key, err)
}
