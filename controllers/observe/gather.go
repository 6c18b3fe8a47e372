package observe

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// gather reads everything but the Secrets, whose names depend on it. Nothing of it waits for the rest: a look that asks
// the API server takes as long as the slowest answer, and the birth of a cluster waits for four looks.
func (o *Observer) gather(ctx context.Context, cluster *v1alpha1.EtcdCluster) (gathered, error) {
	var (
		g     gathered
		group errgroup.Group
	)
	found := readLabelled(ctx, &group, o.Reader, cluster)
	o.gatherOthers(ctx, &group, cluster, &g)
	if err := group.Wait(); err != nil {
		return g, err
	}
	g.sortAll(ownershipOf(cluster), found)
	g.told = o.askPods(ctx, g.tasks, g.pods)
	return g, nil
}

// labelled is what bears one of the labels of a cluster.
type labelled struct {
	pods    corev1.PodList
	volumes corev1.PersistentVolumeClaimList
}

// readLabelled reads it, by each label. It is there once the group has ended.
func readLabelled(ctx context.Context, group *errgroup.Group, reader client.Reader,
	cluster *v1alpha1.EtcdCluster) []labelled {
	selectors := resources.SelectorsOf(cluster.Name)
	found := make([]labelled, len(selectors))
	for i, selector := range selectors {
		found[i].read(ctx, group, reader, cluster, selector)
	}
	return found
}

func (l *labelled) read(ctx context.Context, group *errgroup.Group, reader client.Reader, cluster *v1alpha1.EtcdCluster,
	selector labels.Selector) {
	for what, list := range map[string]client.ObjectList{"Pods": &l.pods, "volumes": &l.volumes} {
		group.Go(func() error {
			err := reader.List(ctx, list, client.InNamespace(cluster.Namespace),
				client.MatchingLabelsSelector{Selector: selector})
			if err != nil {
				return fmt.Errorf("listing the %s of %s/%s: %w", what, cluster.Namespace, cluster.Name, err)
			}
			return nil
		})
	}
}

// gatherOthers reads what a cluster has one of, and what backs it up.
func (o *Observer) gatherOthers(ctx context.Context, group *errgroup.Group, cluster *v1alpha1.EtcdCluster,
	g *gathered) {
	group.Go(func() (err error) {
		g.schedules, err = schedulesOf(ctx, o.Reader, cluster, o.Now())
		return err
	})
	group.Go(func() (err error) {
		if o.Backups != nil {
			g.proven, err = o.provenOf(ctx, cluster)
		}
		return err
	})
	group.Go(func() (err error) {
		g.peerService, err = o.peerService(ctx, cluster)
		return err
	})
	group.Go(func() (err error) {
		g.clientService, err = Find[corev1.Service](ctx, o.Reader, cluster.Namespace,
			resources.ClientService(cluster.Name))
		return err
	})
	group.Go(func() (err error) {
		g.budget, err = Find[policyv1.PodDisruptionBudget](ctx, o.Reader, cluster.Namespace,
			resources.Budget(cluster.Name))
		return err
	})
	group.Go(func() (err error) {
		g.policy, err = Find[networkingv1.NetworkPolicy](ctx, o.Reader, cluster.Namespace,
			resources.NetworkPolicy(cluster.Name))
		return err
	})
}

// LeadsClients reports whether clients are led to any member. A cluster that is being born has none: another look would
// only take the API server's time from the leader's.
func (o *Observer) LeadsClients(ctx context.Context, cluster types.NamespacedName) (bool, error) {
	pods, led := &corev1.PodList{}, client.MatchingLabels(resources.MemberSelector(cluster.Name))
	led[v1alpha1.LabelRole] = v1alpha1.RoleVoter
	if err := o.Reader.List(ctx, pods, client.InNamespace(cluster.Namespace), client.Limit(1), led); err != nil {
		return false, fmt.Errorf("listing the members of %s that clients are led to: %w", cluster, err)
	}
	return len(pods.Items) > 0, nil
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

func (g *gathered) sortAll(ours ownership, found []labelled) {
	for _, l := range found {
		g.sort(ours, l.pods.Items, l.volumes.Items)
	}
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
