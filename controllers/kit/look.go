package kit

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Begin reads what a pass is about. It is not ready while the cache does not show what was written, and when it is
// gone: then what is kept of it is dropped.
func (f *Frame) Begin(ctx context.Context, key types.NamespacedName, into client.Object,
	forget func(types.NamespacedName)) (bool, ctrl.Result, error) {
	if f.Unseen.IsBehind(ctx, f.Client, key) {
		return false, ctrl.Result{RequeueAfter: AfterChange}, nil
	}
	err := f.Client.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		f.Unseen.Forget(key)
		forget(key)
		return false, ctrl.Result{}, nil
	case err != nil:
		return false, ctrl.Result{}, fmt.Errorf("reading %T %s: %w", into, key, err)
	}
	return true, ctrl.Result{}, nil
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

// unseenLimit is how long a pass waits for the cache. After that it begins all the same: what it decides on a stale
// cache can waste a request, and nothing else.
const unseenLimit = 2 * time.Second

// UnseenWrites are writes of this process that its cache may not show yet. Without them every pass that follows a
// change would begin too early, and try the same change again.
type UnseenWrites struct {
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

// NewUnseenWrites makes none.
func NewUnseenWrites(now func() time.Time) *UnseenWrites {
	return &UnseenWrites{now: now, clusters: map[types.NamespacedName]map[string]unseenWrite{}}
}

// Wrote notes what was written about an object.
func (u *UnseenWrites) Wrote(cluster types.NamespacedName, object client.Object) {
	u.add(cluster, object, unseenWrite{resourceVersion: object.GetResourceVersion()})
}

// Deleted notes what was deleted for an object.
func (u *UnseenWrites) Deleted(cluster types.NamespacedName, object client.Object, uid types.UID) {
	u.add(cluster, object, unseenWrite{deleted: uid})
}

func (u *UnseenWrites) add(cluster types.NamespacedName, object client.Object, w unseenWrite) {
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
	case *v1alpha1.EtcdCluster, *v1alpha1.EtcdBackup, *v1alpha1.EtcdBackupSchedule, *v1alpha1.EtcdClient, *corev1.Pod,
		*corev1.PersistentVolumeClaim, *corev1.Service,
		*policyv1.PodDisruptionBudget, *networkingv1.NetworkPolicy, *batchv1.Job:
		kind := reflect.TypeOf(object).Elem()
		return func() client.Object { return reflect.New(kind).Interface().(client.Object) }
	}
	return nil
}

// IsBehind reports whether the cache lacks something that was written about the cluster, and drops what it shows.
func (u *UnseenWrites) IsBehind(ctx context.Context, cached client.Reader, cluster types.NamespacedName) bool {
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

// Forget drops what is noted of an object that is gone.
func (u *UnseenWrites) Forget(cluster types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.clusters, cluster)
}

// leaseMargin is how much of the Lease must be left before a call that changes etcd. The call ends with the Lease.
const leaseMargin = 3 * time.Second

// LeadsBy returns what asks the API server whether this process holds the Lease, and until when; nil where no leader is
// elected.
func LeadsBy(live client.Reader, lease *Lease) func(context.Context) (time.Time, error) {
	if lease == nil {
		return nil
	}
	return func(ctx context.Context) (time.Time, error) {
		held := &coordinationv1.Lease{}
		if err := live.Get(ctx, lease.NamespacedName, held); err != nil {
			return time.Time{}, fmt.Errorf("reading the Lease %s: %w", lease.NamespacedName, err)
		}
		spec := held.Spec
		if spec.HolderIdentity == nil || *spec.HolderIdentity != lease.Identity {
			return time.Time{}, fmt.Errorf("another process of the operator may hold the Lease %s",
				lease.NamespacedName)
		}
		if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
			return time.Time{}, fmt.Errorf("the Lease %s does not say how long it lasts", lease.NamespacedName)
		}
		end := spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second)
		if lease.Now().Add(leaseMargin).After(end) {
			return time.Time{}, fmt.Errorf("the Lease %s was not renewed in time", lease.NamespacedName)
		}
		return end, nil
	}
}

// askedFor bounds the question at the start.
const askedFor = 10 * time.Second

// Unserved says why objects of a kind cannot be looked after: its definition is missing, or the right to list them in
// the namespaces (none: in all). It is nil where they can be, and where the API server does not answer: then the cache
// waits. A cache that waits for what never comes ends the whole manager after two minutes
// (kubernetes-sigs/controller-runtime:pkg/internal/source/kind.go).
func Unserved(ctx context.Context, live client.Reader, list client.ObjectList, namespaces []string) error {
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		err := live.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}
