package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// unseenLimit is how long a pass waits for the cache. After that it begins all the same: what it decides on a stale cache
// can waste a request, and nothing else.
const unseenLimit = 2 * time.Second

// unseenWrites are writes of this process that its cache may not show yet. Without them every pass that follows a change
// would begin too early, and try the same change again.
type unseenWrites struct {
	now func() time.Time

	mu       sync.Mutex
	clusters map[types.NamespacedName]map[string]unseenWrite
}

type unseenWrite struct {
	key             types.NamespacedName
	empty           func() client.Object
	resourceVersion string    // of what was written
	deleted         types.UID // of what was deleted
	until           time.Time
}

func newUnseenWrites(now func() time.Time) *unseenWrites {
	return &unseenWrites{now: now, clusters: map[types.NamespacedName]map[string]unseenWrite{}}
}

func (u *unseenWrites) wrote(cluster types.NamespacedName, object client.Object) {
	u.add(cluster, object, unseenWrite{resourceVersion: object.GetResourceVersion()})
}

func (u *unseenWrites) deleted(cluster types.NamespacedName, object client.Object, uid types.UID) {
	u.add(cluster, object, unseenWrite{deleted: uid})
}

func (u *unseenWrites) add(cluster types.NamespacedName, object client.Object, w unseenWrite) {
	w.empty = cachedKind(object)
	if w.empty == nil || cluster.Name == "" {
		return
	}
	w.key, w.until = client.ObjectKeyFromObject(object), u.now().Add(unseenLimit)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.clusters[cluster] == nil {
		u.clusters[cluster] = map[string]unseenWrite{}
	}
	u.clusters[cluster][fmt.Sprintf("%T %s", object, w.key.Name)] = w
}

// cachedKind makes empty objects of the kind; nil for a kind that is not cached.
func cachedKind(object client.Object) func() client.Object {
	switch object.(type) {
	case *v1alpha1.EtcdCluster:
		return func() client.Object { return &v1alpha1.EtcdCluster{} }
	case *corev1.Pod:
		return func() client.Object { return &corev1.Pod{} }
	case *corev1.PersistentVolumeClaim:
		return func() client.Object { return &corev1.PersistentVolumeClaim{} }
	case *corev1.Service:
		return func() client.Object { return &corev1.Service{} }
	case *policyv1.PodDisruptionBudget:
		return func() client.Object { return &policyv1.PodDisruptionBudget{} }
	case *v1alpha1.EtcdBackup:
		return func() client.Object { return &v1alpha1.EtcdBackup{} }
	case *v1alpha1.EtcdBackupSchedule:
		return func() client.Object { return &v1alpha1.EtcdBackupSchedule{} }
	case *batchv1.Job:
		return func() client.Object { return &batchv1.Job{} }
	}
	return nil
}

// isBehind reports whether the cache lacks something that was written about the cluster, and drops what it shows.
func (u *unseenWrites) isBehind(ctx context.Context, cached client.Reader, cluster types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, w := range u.clusters[cluster] {
		if u.now().Before(w.until) && !w.isSeen(ctx, cached) {
			return true
		}
		delete(u.clusters[cluster], id)
	}
	delete(u.clusters, cluster)
	return false
}

// isSeen asks the cache, which answers from memory. What cannot be compared counts as seen.
func (w unseenWrite) isSeen(ctx context.Context, cached client.Reader) bool {
	object := w.empty()
	err := cached.Get(ctx, w.key, object)
	isDelete := w.resourceVersion == ""
	switch {
	case apierrors.IsNotFound(err):
		return isDelete
	case err != nil:
		return true
	case isDelete:
		return object.GetUID() != w.deleted || object.GetDeletionTimestamp() != nil
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), w.resourceVersion)
	return err != nil || order >= 0
}

func (u *unseenWrites) forget(cluster types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.clusters, cluster)
}
