package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// SecretReader reads Secrets by name. What it returns must not be changed.
type SecretReader interface {
	Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
	// GetLeft is Get of what nothing uses any more. That it is absent may be remembered for a while.
	GetLeft(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
}

// gathered is what Kubernetes holds of one cluster and of its name.
type gathered struct {
	pods          []corev1.Pod                   // ours, under members' names
	volumes       []corev1.PersistentVolumeClaim // ours, under members' names
	kept          []corev1.PersistentVolumeClaim // ours, of members that were replaced
	wals          []corev1.PersistentVolumeClaim // under the names of those of members' write-ahead logs
	peerService   *corev1.Service                // nil: absent; like the following it may be foreign
	clientService *corev1.Service
	tasks         []corev1.Pod    // ours, of the agent
	streaming     string          // a Pod of a backup whose first step has not ended
	told          map[string]told // of Pods, by name
	budget        *policyv1.PodDisruptionBudget
	policy        *networkingv1.NetworkPolicy
	schedules     []facts.Schedule    // that back the cluster up
	proven        *facts.Backup       // the newest backup that was proven
	heldUp        *facts.HeldUp       // the newest one that does not get on
	failed        *facts.FailedBackup // the newest one of all, where that failed

	otherPods    []corev1.Pod                   // under this cluster's label and not ours
	otherVolumes []corev1.PersistentVolumeClaim // the same
}

// gather reads everything but the Secrets, whose names depend on it. Nothing of it waits for the rest: a look that asks
// the API server takes as long as the slowest answer, and the bootstrap of a cluster waits for four looks.
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
	group.Go(func() error { return o.addBackups(ctx, cluster, g) })
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

// LeadsClients reports whether clients are led to any member. A cluster that is being bootstrapped has none: another
// look would only take the API server's time from the leader's.
func (o *Observer) LeadsClients(ctx context.Context, cluster types.NamespacedName) (bool, error) {
	pods, led := &corev1.PodList{}, client.MatchingLabels(resources.MemberSelector(cluster.Name))
	led[v1alpha1.LabelRole] = v1alpha1.RoleVoter
	if err := o.Reader.List(ctx, pods, client.InNamespace(cluster.Namespace), client.Limit(1), led); err != nil {
		return false, fmt.Errorf("listing the members of %s that clients are led to: %w", cluster, err)
	}
	return len(pods.Items) > 0, nil
}

// peerService reads the Service with the bootstrap record. That it is absent is believed of the API server alone: on a
// cache that is behind, or that does not hold what has lost its labels, a cluster would seem not to be bootstrapped.
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
		case resources.IsStreaming(&pod):
			g.streaming = pod.Name
		case !ours.isMember(pod.Name):
		case isControlled:
			g.pods = append(g.pods, pod)
		default:
			g.otherPods = append(g.otherPods, pod)
		}
	}
	for _, volume := range volumes {
		switch {
		case ours.isWAL(volume.Name):
			g.wals = append(g.wals, volume)
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

// Find reads one object; nil when there is none.
func Find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, namespace, name string) (P, error) {
	object := P(new(T))
	err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %T %s/%s: %w", object, namespace, name, err)
	}
	return object, nil
}

// Unreadable says that a record of ours, which is an annotation of an object of ours, is there and cannot be read. It
// is never taken for none.
type Unreadable struct {
	Kind, Name string // of the object
	Annotation string
	Err        error
}

func (e Unreadable) Error() string {
	return fmt.Sprintf("annotation %s of %s %s: %v", e.Annotation, e.Kind, e.Name, e.Err)
}

func (e Unreadable) Unwrap() error { return e.Err }

// LastWarning is the last warning that Kubernetes gave about an object; nil when it gave none. It is for display only,
// so events that cannot be read are none.
func LastWarning(ctx context.Context, live client.Reader, namespace string, uid types.UID) *corev1.Event {
	var list corev1.EventList
	err := live.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingFields{"involvedObject.uid": string(uid)}, client.Limit(100))
	if err != nil {
		log.FromContext(ctx).Info("the events of an object cannot be listed", "uid", uid, "error", err.Error())
		return nil
	}
	var last *corev1.Event
	for i := range list.Items {
		event := &list.Items[i]
		if event.Type == corev1.EventTypeWarning && (last == nil || saysMore(event, last)) {
			last = event
		}
	}
	return last
}

// unmounted begins what the kubelet says every two minutes of volumes that it cannot mount: which ones, and never why
// (kubernetes/kubernetes:pkg/kubelet/volumemanager/volume_manager.go).
const unmounted = "Unable to attach or mount volumes"

// saysMore reports an event that is newer than another one, or as old as may be and names a cause that that one lacks.
func saysMore(event, last *corev1.Event) bool {
	isVague := func(e *corev1.Event) bool { return strings.HasPrefix(e.Message, unmounted) }
	if isVague(event) != isVague(last) {
		return isVague(last)
	}
	return lastSeen(event).After(lastSeen(last))
}

// lastSeen is when an event last happened; its author filled in one of several fields.
func lastSeen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

const subresourceStatus = "status"

// KeepStatusTimes is what the cache keeps of a Pod's managed fields: when its status was written, and not which fields.
// A kubelet dates a status by its own clock, the API server by its own.
func KeepStatusTimes(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil
	}
	pod.ManagedFields = slices.DeleteFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource != subresourceStatus
	})
	for i := range pod.ManagedFields {
		pod.ManagedFields[i].FieldsV1 = nil
	}
	return pod, nil
}

// lastWritten is when an object, or its subresource, was last written; zero where nothing says it.
func lastWritten(fields []metav1.ManagedFieldsEntry, subresource string) time.Time {
	var last time.Time
	for _, entry := range fields {
		if entry.Subresource == subresource && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}
