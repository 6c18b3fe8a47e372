package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
)

// births are the birth records of all clusters, by the UIDs of these.
type births map[types.UID]resources.BirthRecord

// held are the snapshots that somebody who is seen from here restores, or is to restore: what the lives of clusters begin with,
// what was found for one, and what EtcdClusters and EtcdRestores name that have not begun with it. The newest of a cluster is
// never removed, so whoever is to have that needs no list, until it was chosen.
func (r *EtcdBackupScheduleReconciler) held(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]string, error) {
	lives, err := r.births(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, life := range lives {
		keys = append(keys, heldBy(life)...)
	}
	for _, more := range []func() ([]string, error){
		func() ([]string, error) { return r.heldByPreflights(ctx, cluster) },
		func() ([]string, error) { return r.heldByClusters(ctx, lives) },
		func() ([]string, error) { return r.heldByRestores(ctx, lives) },
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

// births reads what all clusters began with. While one cannot be read, nobody knows what it is restored from. Of a Service that
// has no cluster, such as one that was left when it was deleted, what can be read holds all the same; what cannot stops nobody,
// since anybody may write one.
func (r *EtcdBackupScheduleReconciler) births(ctx context.Context) (births, error) {
	var services corev1.ServiceList
	if err := r.Client.List(ctx, &services, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}); err != nil {
		return nil, fmt.Errorf("listing the clusters that are restored: %w", err)
	}
	found := births{}
	for _, service := range services.Items {
		text, is := service.Annotations[v1alpha1.AnnotationBirth]
		if !is {
			continue
		}
		of := clusterUIDOf(&service)
		birth, err := resources.DecodeBirth(text)
		switch {
		case err != nil && of == "":
			continue
		case err != nil:
			return nil, apply.Rejected{Reason: backup.ReasonRecordUnreadable, Message: fmt.Sprintf(
				"Nothing is removed from the store while nobody can tell what the cluster of the Service %s/%s is restored from: %v",
				service.Namespace, service.Name, err)}
		case of == "":
			of = service.UID
		}
		found[of] = birth
	}
	return found, nil
}

// clusterUIDOf is the UID of the EtcdCluster that controls a Service; empty when none does.
func clusterUIDOf(service *corev1.Service) types.UID {
	owner := metav1.GetControllerOf(service)
	if owner == nil || owner.Kind != resources.KindCluster || !strings.HasPrefix(owner.APIVersion, v1alpha1.Group+"/") {
		return ""
	}
	return owner.UID
}

// heldBy are the snapshots that a cluster begins with, or that are laid beside it to take its place.
func heldBy(birth resources.BirthRecord) []string {
	var origins []*resources.BackupOrigin
	if birth.ClusterID == 0 && !birth.Void {
		origins = append(origins, birth.Backup)
	}
	if birth.Coming != nil {
		origins = append(origins, birth.Coming.Backup)
	}
	var keys []string
	for _, origin := range origins {
		if origin != nil && origin.Key != "" { // what a member left has none
			keys = append(keys, origin.Key)
		}
	}
	return keys
}

// heldByPreflights are the snapshots that were found for a life that is not written down yet. The one that is being chosen among
// the backups of this cluster is waited for: there may be a newer one by the time that the store is looked through.
func (r *EtcdBackupScheduleReconciler) heldByPreflights(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]string, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelComponent: v1alpha1.ComponentPreflight})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods that look at backups: %w", err)
	}
	var keys []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if hasNotChosen(pod, cluster) {
			return nil, apply.Later{Reason: schedule.ReasonRestoreBegins, Message: fmt.Sprintf(
				"The Pod %s/%s chooses a backup of this cluster to be restored; nothing is removed until it has.", pod.Namespace, pod.Name)}
		}
		if key := chosenBy(pod); key != "" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// hasNotChosen reports whether a preflight looks for the newest backup of a cluster.
func hasNotChosen(pod *corev1.Pod, cluster *v1alpha1.EtcdCluster) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	asked := "--latest-of=" + cluster.Namespace + "/" + cluster.Name
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return slices.Contains(c.Args, asked) })
}

// chosenBy is the key in the last words of a preflight; empty when it found none.
func chosenBy(pod *corev1.Pod) string {
	var manifest struct {
		Key string `json:"key"`
	}
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil && json.Unmarshal([]byte(ended.Message), &manifest) != nil {
			return ""
		}
	}
	return manifest.Key
}

// heldByClusters are the snapshots that clusters are to begin with that are not born.
func (r *EtcdBackupScheduleReconciler) heldByClusters(ctx context.Context, lives births) ([]string, error) {
	var clusters v1alpha1.EtcdClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("listing the clusters that are to begin with a backup: %w", err)
	}
	var keys []string
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if life := lives[cluster.UID]; cluster.Spec.Bootstrap == nil || life.ClusterID != 0 || len(life.Past) > 0 {
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

// heldByRestores are the snapshots that EtcdRestores name of which no life has come, whether they are approved or not.
func (r *EtcdBackupScheduleReconciler) heldByRestores(ctx context.Context, lives births) ([]string, error) {
	var restores v1alpha1.EtcdRestoreList
	if err := r.Client.List(ctx, &restores); err != nil {
		return nil, fmt.Errorf("listing the EtcdRestores: %w", err)
	}
	var keys []string
	for i := range restores.Items {
		restore := &restores.Items[i]
		if lives.cameOf(requestID(restore)) {
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

// cameOf reports whether a restore was carried out.
func (b births) cameOf(request string) bool {
	for _, life := range b {
		isPast := slices.ContainsFunc(life.Past, func(p resources.PastRecord) bool { return p.Restore == request })
		if isPast || life.Restore == request {
			return true
		}
	}
	return false
}

// keyOfSource is the key of the snapshot that is named; none when it is the newest one, or not there.
func (r *EtcdBackupScheduleReconciler) keyOfSource(ctx context.Context, namespace string, source *v1alpha1.RestoreSource) ([]string, error) {
	if source == nil {
		return nil, nil
	}
	found, _, err := beginnings{reader: r.Client}.findSource(ctx, namespace, source)
	if found == nil || found.Key == "" || err != nil {
		return nil, err
	}
	return []string{found.Key}, nil
}
