package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

// held are the snapshots that somebody who is seen from here restores, or is to restore: what the lives of clusters
// begin with, what was found for one, and what EtcdClusters and EtcdRestores name that have not begun with it. The
// newest of a cluster is never removed, so whoever is to have that needs no list, until it was chosen.
func (r *Reconciler) held(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]string, error) {
	incarnations, err := r.bootstraps(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, incarnation := range incarnations {
		keys = append(keys, heldBy(incarnation)...)
	}
	for _, more := range []func() ([]string, error){
		func() ([]string, error) { return r.heldByPreflights(ctx, cluster) },
		func() ([]string, error) { return r.heldByClusters(ctx, incarnations) },
		func() ([]string, error) { return r.heldByRestores(ctx, incarnations) },
	} {
		found, err := more()
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// bootstraps reads what all clusters began with. While one cannot be read, it is unknown what it is restored from. Of a
// Service that has no cluster, such as one that was left when it was deleted, what can be read holds all the same; one
// that cannot holds nothing up, since any user may write one.
func (r *Reconciler) bootstraps(ctx context.Context) (bootstraps, error) {
	var services corev1.ServiceList
	if err := r.Client.List(ctx, &services,
		client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}); err != nil {
		return nil, fmt.Errorf("listing the clusters that are restored: %w", err)
	}
	found := bootstraps{}
	for _, service := range services.Items {
		text, ok := service.Annotations[v1alpha1.AnnotationBootstrap]
		if !ok {
			continue
		}
		uid := clusterUIDOf(&service)
		bootstrap, err := record.DecodeBootstrap(text)
		switch {
		case err != nil && uid == "":
			continue
		case err != nil:
			return nil, apply.Rejected{Reason: backupplan.ReasonRecordUnreadable, Message: fmt.Sprintf(
				"Nothing is removed from the store, because it is unknown what the cluster of the Service %s/%s is "+
					"restored from: %v",
				service.Namespace, service.Name, err)}
		case uid == "":
			uid = service.UID
		}
		found[uid] = bootstrap
	}
	return found, nil
}

// heldByPreflights are the snapshots that were found for an incarnation that is not written down yet. The one that is
// being chosen among the backups of this cluster is waited for: there may be a newer one by the time that the store is
// looked through.
func (r *Reconciler) heldByPreflights(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]string, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		v1alpha1.LabelComponent: v1alpha1.ComponentPreflight})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods that look at backups: %w", err)
	}
	var keys []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if hasNotChosen(pod, cluster) {
			return nil, apply.Later{Reason: scheduleplan.ReasonRestoreBegins, Message: fmt.Sprintf(
				"The Pod %s/%s chooses a backup of this cluster for a restore; nothing is removed until it has.",
				pod.Namespace, pod.Name)}
		}
		if key := observe.FoundBy(pod).Key; key != "" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// heldByClusters are the snapshots that clusters are to begin with that are not bootstrapped.
func (r *Reconciler) heldByClusters(ctx context.Context, incarnations bootstraps) ([]string, error) {
	var clusters v1alpha1.EtcdClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("listing the clusters that are to begin with a backup: %w", err)
	}
	var keys []string
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		current := incarnations[cluster.UID]
		if cluster.Spec.Bootstrap == nil || current.ClusterID != 0 || len(current.Former) > 0 {
			continue
		}
		key, err := r.keyOfSource(ctx, cluster.Namespace, cluster.Spec.Bootstrap.Restore)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key...)
	}
	return keys, nil
}

// heldByRestores are the snapshots that EtcdRestores name of which no incarnation has come, whether they are approved
// or not.
func (r *Reconciler) heldByRestores(ctx context.Context, incarnations bootstraps) ([]string, error) {
	var restores v1alpha1.EtcdRestoreList
	if err := r.Client.List(ctx, &restores); err != nil {
		return nil, fmt.Errorf("listing the EtcdRestores: %w", err)
	}
	var keys []string
	for i := range restores.Items {
		restore := &restores.Items[i]
		if incarnations.cameOf(observe.RequestID(restore)) {
			continue
		}
		key, err := r.keyOfSource(ctx, restore.Namespace, restore.Spec.Source.Backup())
		if err != nil {
			return nil, err
		}
		keys = append(keys, key...)
	}
	return keys, nil
}

// keyOfSource is the key of the snapshot that is named; none when it is the newest one, or not there.
func (r *Reconciler) keyOfSource(ctx context.Context, namespace string,
	source *v1alpha1.RestoreSource) ([]string, error) {
	if source == nil {
		return nil, nil
	}
	found, _, err := observe.Sources{Reader: r.Client}.Named(ctx, namespace, source)
	if found == nil || found.Key == "" || err != nil {
		return nil, err
	}
	return []string{found.Key}, nil
}

// bootstraps are the bootstrap records of all clusters, by the UIDs of these.
type bootstraps map[types.UID]record.Bootstrap

// clusterUIDOf is the UID of the EtcdCluster that controls a Service; empty when none does.
func clusterUIDOf(service *corev1.Service) types.UID {
	owner := metav1.GetControllerOf(service)
	if owner == nil || owner.Kind != resources.KindCluster || !strings.HasPrefix(owner.APIVersion, v1alpha1.Group+"/") {
		return ""
	}
	return owner.UID
}

// heldBy are the snapshots that a cluster begins with, or that are restored beside it to take its place.
func heldBy(bootstrap record.Bootstrap) []string {
	var keys []string
	if bootstrap.ClusterID == 0 && !bootstrap.Void {
		keys = append(keys, bootstrap.Origin.Key)
	}
	keys = append(keys, bootstrap.Next.Origin.Key)
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" }) // what a member left has none
}

// hasNotChosen reports whether a preflight looks for the newest backup of a cluster.
func hasNotChosen(pod *corev1.Pod, cluster *v1alpha1.EtcdCluster) bool {
	if phase := resources.TaskPhase(pod); phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return false
	}
	asked := "--latest-of=" + cluster.Namespace + "/" + cluster.Name
	return slices.ContainsFunc(resources.Steps(pod), func(s resources.Step) bool {
		return slices.Contains(s.Args, asked)
	})
}

func (b bootstraps) cameOf(request string) bool {
	for _, incarnation := range b {
		isPast := slices.ContainsFunc(incarnation.Former, func(p record.Former) bool { return p.Restore == request })
		if isPast || incarnation.Restore == request {
			return true
		}
	}
	return false
}
