package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// SecretReader reads Secrets by name. What it returns must not be changed.
type SecretReader interface {
	Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
}

// gathered is what Kubernetes holds of one cluster and of its name.
type gathered struct {
	pods          []corev1.Pod                   // ours, under members' names
	volumes       []corev1.PersistentVolumeClaim // ours, under members' names
	kept          []corev1.PersistentVolumeClaim // ours, of members that were replaced
	peerService   *corev1.Service                // nil: absent; like the following it may be foreign
	clientService *corev1.Service
	tasks         []corev1.Pod    // ours, of a restore
	told          map[string]told // of Pods, by name
	budget        *policyv1.PodDisruptionBudget
	policy        *networkingv1.NetworkPolicy
	schedules     []facts.Schedule // that back the cluster up
	proven        *facts.Backup    // the newest backup that was proven

	otherPods    []corev1.Pod                   // under this cluster's label and not ours
	otherVolumes []corev1.PersistentVolumeClaim // the same
}

// gather reads everything but the Secrets, whose names depend on it.
func (o *Observer) gather(ctx context.Context, cluster *v1alpha1.EtcdCluster) (gathered, error) {
	var (
		g       gathered
		pods    corev1.PodList
		volumes corev1.PersistentVolumeClaimList
	)
	for _, selector := range resources.SelectorsOf(cluster.Name) {
		scope := []client.ListOption{client.InNamespace(cluster.Namespace),
			client.MatchingLabelsSelector{Selector: selector}}
		if err := o.Reader.List(ctx, &pods, scope...); err != nil {
			return g, fmt.Errorf("listing the Pods of %s/%s: %w", cluster.Namespace, cluster.Name, err)
		}
		if err := o.Reader.List(ctx, &volumes, scope...); err != nil {
			return g, fmt.Errorf("listing the volumes of %s/%s: %w", cluster.Namespace, cluster.Name, err)
		}
		g.sort(ownershipOf(cluster), pods.Items, volumes.Items)
	}
	g.told = o.askPods(ctx, g.tasks, g.pods)

	var err error
	if g.schedules, err = schedulesOf(ctx, o.Reader, cluster, o.Now()); err != nil {
		return g, err
	}
	if o.Backups != nil {
		if g.proven, err = provenOf(ctx, o.Backups, cluster, o.Now()); err != nil {
			return g, err
		}
	}
	if g.peerService, err = o.peerService(ctx, cluster); err != nil {
		return g, err
	}
	if g.clientService, err = Find[corev1.Service](ctx, o.Reader, cluster.Namespace,
		resources.ClientService(cluster.Name)); err != nil {
		return g, err
	}
	if g.budget, err = Find[policyv1.PodDisruptionBudget](ctx, o.Reader, cluster.Namespace,
		resources.Budget(cluster.Name)); err != nil {
		return g, err
	}
	g.policy, err = Find[networkingv1.NetworkPolicy](ctx, o.Reader, cluster.Namespace,
		resources.NetworkPolicy(cluster.Name))
	return g, err
}

// peerService reads the Service with the birth record. That it is absent is believed of the API server alone: on a
// cache that is behind, or that does not hold what has lost its labels, a cluster would seem not to be born.
func (o *Observer) peerService(ctx context.Context, cluster *v1alpha1.EtcdCluster) (*corev1.Service, error) {
	name := resources.PeerService(cluster.Name)
	service, err := Find[corev1.Service](ctx, o.Reader, cluster.Namespace, name)
	if service != nil || err != nil || o.Live == nil {
		return service, err
	}
	return Find[corev1.Service](ctx, o.Live, cluster.Namespace, name)
}

// sort parts what is ours from what is not. What is under a name that no member can have is not the operator's making.
func (g *gathered) sort(ours ownership, pods []corev1.Pod, volumes []corev1.PersistentVolumeClaim) {
	for _, pod := range pods {
		isControlled := resources.IsControlledBy(&pod, ours.uid)
		switch {
		case ours.isTask(pod.Name) && isControlled:
			g.tasks = append(g.tasks, pod)
		case !ours.isMember(pod.Name):
		case isControlled:
			g.pods = append(g.pods, pod)
		default:
			g.otherPods = append(g.otherPods, pod)
		}
	}
	for _, volume := range volumes {
		switch {
		case !ours.isMember(volume.Name):
		case resources.IsDataOf(&volume, ours.uid) && isKept(&volume):
			g.kept = append(g.kept, volume)
		case resources.IsDataOf(&volume, ours.uid):
			g.volumes = append(g.volumes, volume)
		default:
			g.otherVolumes = append(g.otherVolumes, volume)
		}
	}
}
