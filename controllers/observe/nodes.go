package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// +kubebuilder:rbac:groups="",resources=nodes;persistentvolumes,verbs=get,roleName=node-reader-role

// nodeSearch finds out what became of the nodes of members that do not answer. Nodes are read one by one and past the
// cache: a watch on all nodes of Kubernetes would cost every cluster something, and a few reads cost only one in
// trouble.
//
// Where the operator may not read nodes or volumes, nothing is known of them, and the evidence of Pods alone decides.
type nodeSearch struct {
	observer *Observer
	reader   client.Reader

	mu   sync.Mutex
	seen map[string]nodeAnswer // each node is read once in a look
}

// nodeAnswer is one node as it was read; nil when there is no such node.
type nodeAnswer struct {
	node    *corev1.Node
	isKnown bool
}

// addNodes says of each member that does not answer whether its node, or the only one that can use its volume, is gone
// for good, of each that is not ready since when its node is not, and of each that runs whether it could be restarted.
func (o *Observer) addNodes(ctx context.Context, cluster *v1alpha1.EtcdCluster, bootstrap record.Bootstrap,
	g gathered, joined replicas) error {
	look := &nodeSearch{observer: o, reader: cmp.Or(o.Live, o.Reader), seen: map[string]nodeAnswer{}}
	var group errgroup.Group
	group.SetLimit(parallelReads)
	asksDrains := cluster.Spec.Size == 1 || joined.voters() == 1
	incarnations, places := incarnationsOf(bootstrap, g), look.placesOf(cluster)
	for _, replica := range joined.byName {
		if incarnations.isFormer(replica.Name) && replica.Pod == nil { // it is not there to answer
			continue
		}
		group.Go(func() error { return places.add(ctx, g, replica) })
		if asksDrains && replica.Pod != nil && replica.Pod.Scheduled {
			group.Go(func() error { return look.addDrain(ctx, g, replica.Pod) })
		}
		switch {
		case isUnheard(replica) && incarnations.isWorthIt(replica):
			group.Go(func() error { return look.add(ctx, g, replica) })
		case bootstrap.ClusterID != 0 && isAnsweringUnready(replica):
			group.Go(func() error { look.addReadiness(ctx, replica.Pod); return nil })
		}
	}
	return group.Wait()
}

// isWorthIt lets a bootstrap not wait for nodes, since it waits for its Pods, unless it waits in vain. Members of an
// incarnation that is restored have no Pod yet, and the cluster must not move to volumes that no node can use.
func (l incarnations) isWorthIt(r *facts.Replica) bool {
	return l.bootstrap.ClusterID != 0 || isUnschedulable(r) || l.isFormer(r.Name) || l.isNext(r.Name)
}

// isUnheard reports that neither the member nor its kubelet says that it is well. A Pod that is not ready for others
// looks the same when its node dies.
func isUnheard(r *facts.Replica) bool {
	return r.Answer == nil && (r.Pod == nil || !r.Pod.Ready || r.Pod.HeldUnready)
}

// isAnsweringUnready reports a member that answers, and that Kubernetes does not call ready: its node may be the cause.
func isAnsweringUnready(r *facts.Replica) bool {
	return r.Answer != nil && r.Pod != nil && r.Pod.Scheduled && !r.Pod.Ready
}

func isUnschedulable(r *facts.Replica) bool {
	return r.Pod != nil && r.Pod.Waiting == corev1.PodReasonUnschedulable ||
		r.Restoring != nil && r.Restoring.Waiting == corev1.PodReasonUnschedulable
}

func (s *nodeSearch) add(ctx context.Context, g gathered, replica *facts.Replica) (err error) {
	if place := replica.Restoring; place != nil && place.Holds {
		if place.Unwanted, err = s.unwanted(ctx, g, replica.Name); err != nil {
			return err
		}
	}
	if replica.Pod != nil && replica.Pod.Scheduled {
		if err := s.addNode(ctx, replica.Pod); err != nil {
			return err
		}
	}
	return s.addVolume(ctx, g, replica)
}

// addNode says how a Pod's node is. What its kubelet said last of a container counts no longer than it is heard.
func (s *nodeSearch) addNode(ctx context.Context, pod *facts.Pod) (err error) {
	if pod.NodeGone, err = s.fateOf(ctx, pod.Node); err != nil {
		return err
	}
	pod.NodeUnheard, err = s.unheardSince(ctx, pod.Node)
	s.addReadiness(ctx, pod)
	if pod.HeldUnready && !pod.NodeUnheard.IsZero() {
		pod.Ready, pod.ReadySince = false, pod.NodeUnheard
	}
	return err
}

// addReadiness says since when a Pod's node is not ready, and why in a word: for people alone, so that a node that
// cannot be read ends no look. What its kubelet says beside that word may have other numbers each time.
func (s *nodeSearch) addReadiness(ctx context.Context, pod *facts.Pod) {
	answer, err := s.node(ctx, pod.Node)
	if err != nil || answer.node == nil {
		return
	}
	if ready := readinessOf(answer.node); ready != nil && ready.Status != corev1.ConditionTrue {
		since := ready.LastTransitionTime.UTC().Format(time.RFC3339)
		pod.NodeNotReady = fmt.Sprintf("since %s (%s)", since, ready.Reason)
	}
}

// unwanted says why the node of a Pod that holds a place would take no such Pod any more, or "". Kubernetes asks that
// once, when it schedules a Pod.
func (s *nodeSearch) unwanted(ctx context.Context, g gathered, member string) (string, error) {
	i := slices.IndexFunc(g.tasks, func(pod corev1.Pod) bool { return pod.Name == resources.RestorePod(member) })
	if i < 0 || g.tasks[i].Spec.NodeName == "" {
		return "", nil
	}
	name := g.tasks[i].Spec.NodeName
	answer, err := s.node(ctx, name)
	switch {
	case err != nil || !answer.isKnown:
		return "", err
	case answer.node == nil:
		return fmt.Sprintf("node %s was deleted", name), nil
	case !isNodeReady(answer.node):
		return fmt.Sprintf("node %s is not ready", name), nil
	}
	return keptOut(answer.node, g.tasks[i].Spec.Tolerations), nil
}

// keptOut says which taint of a node a Pod does not tolerate, or "". To cordon a node is to taint it
// (kubernetes/kubernetes:pkg/scheduler/framework/plugins/nodeunschedulable).
func keptOut(node *corev1.Node, tolerations []corev1.Toleration) string {
	taints := slices.Clone(node.Spec.Taints)
	if node.Spec.Unschedulable {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	keepsOut := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	taint, isKept := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), taints, tolerations, keepsOut, false)
	if !isKept {
		return ""
	}
	return fmt.Sprintf("node %s has the taint %s, which the member does not tolerate", node.Name, taint.ToString())
}

func (s *nodeSearch) addVolume(ctx context.Context, g gathered, replica *facts.Replica) (err error) {
	i := slices.IndexFunc(g.volumes, func(claim corev1.PersistentVolumeClaim) bool {
		return claim.Name == replica.Name
	})
	switch {
	case i < 0 || replica.Volume == nil:
		return nil
	case replica.Volume.IsUnbound() && isUnschedulable(replica):
		s.observer.addProvisioning(ctx, &g.volumes[i], replica)
		if half := g.halfOf(&g.volumes[i]); half != nil && replica.Volume.Unmade == "" {
			s.observer.addProvisioning(ctx, half, replica)
		}
		return nil
	case replica.Volume.Phase != facts.VolumeBound:
		return nil
	}
	err = s.addBacking(ctx, &g.volumes[i], replica)
	if half := g.halfOf(&g.volumes[i]); half != nil && err == nil && replica.Volume.Stranded == "" {
		err = s.addBacking(ctx, half, replica)
		replica.Volume.Directory, replica.Volume.IsOwnDisk = "", false // nothing says which of them is full
	}
	return err
}

// addBacking says of what a claim is bound to whether only its node can use it, and whether it shares the node's disk.
func (s *nodeSearch) addBacking(ctx context.Context, claim *corev1.PersistentVolumeClaim, r *facts.Replica) error {
	volume, err := s.backing(ctx, claim)
	if err != nil || volume == nil {
		return err
	}
	r.Volume.Directory = directory(volume)
	r.Volume.IsOwnDisk = r.Volume.Directory == ""
	r.Volume.Stranded, err = s.stranded(ctx, volume, scheduledTo(claim, r.Pod))
	return err
}

// fateOf says why a node will not come back; empty when it may.
func (s *nodeSearch) fateOf(ctx context.Context, name string) (string, error) {
	answer, err := s.node(ctx, name)
	if err != nil || !answer.isKnown {
		return "", err
	}
	return fate(name, answer.node), nil
}

// unheardSince is since when a node's kubelet was not heard of, by the node controller's clock; zero while it is, and
// where nodes may not be read (kubernetes/kubernetes:pkg/controller/nodelifecycle sets Ready to Unknown).
func (s *nodeSearch) unheardSince(ctx context.Context, name string) (time.Time, error) {
	answer, err := s.node(ctx, name)
	if err != nil || !answer.isKnown || answer.node == nil {
		return time.Time{}, err
	}
	if ready := readinessOf(answer.node); ready != nil && ready.Status == corev1.ConditionUnknown {
		return ready.LastTransitionTime.Time, nil
	}
	return time.Time{}, nil
}

// fate believes in an out-of-service taint only of a node that is down: the person who sets it says that the node is
// shut down, and forgets it there when the node is back
// (https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown).
func fate(name string, node *corev1.Node) string {
	switch {
	case node == nil:
		return fmt.Sprintf("node %s was deleted", name)
	case !isNodeReady(node) && isOutOfService(node):
		return fmt.Sprintf("node %s is out of service", name)
	}
	return ""
}

func isNodeReady(node *corev1.Node) bool {
	ready := readinessOf(node)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

func readinessOf(node *corev1.Node) *corev1.NodeCondition {
	return found(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

func isOutOfService(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeOutOfService
	})
}

func (s *nodeSearch) node(ctx context.Context, name string) (nodeAnswer, error) {
	s.mu.Lock()
	answer, ok := s.seen[name]
	s.mu.Unlock()
	if ok {
		return answer, nil
	}
	var err error
	if answer.node, answer.isKnown, err = readOutside[corev1.Node](ctx, s, name); err != nil {
		return nodeAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[name] = answer
	return answer, nil
}

// readOutside reads an object that lies in no namespace; nil when there is none. It is not known when the operator may
// not read such objects.
func readOutside[T any, P interface {
	*T
	client.Object
}](ctx context.Context, s *nodeSearch, name string) (found P, isKnown bool, err error) {
	object := P(new(T))
	kind := fmt.Sprintf("%T", object)
	if s.observer.denied.isDenied(kind, s.observer.Now()) {
		return nil, false, nil
	}
	err = s.reader.Get(ctx, types.NamespacedName{Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case apierrors.IsForbidden(err):
		s.observer.denied.add(kind, s.observer.Now())
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return object, true, nil
}

// deniedFor is how long a right that the operator lacks is not asked for again. Rights come with an install, and rarely
// after it.
const deniedFor = 5 * time.Minute

// denials are the kinds that the API server did not let the operator read, and until when that is believed. An install
// for one namespace has no rights on nodes, and must not ask for them in each look.
type denials struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (d *denials) isDenied(kind string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.until[kind])
}

// MayNotRead names what lies in no namespace and may not be read, as rights name it: "nodes", "persistentvolumes".
func (o *Observer) MayNotRead() (those []string) {
	for kind, plural := range map[string]string{fmt.Sprintf("%T", &corev1.Node{}): "nodes",
		fmt.Sprintf("%T", &corev1.PersistentVolume{}): "persistentvolumes"} {
		if o.denied.isDenied(kind, o.Now()) {
			those = append(those, plural)
		}
	}
	slices.Sort(those)
	return those
}

func (d *denials) add(kind string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = map[string]time.Time{}
	}
	d.until[kind] = now.Add(deniedFor)
}
