package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// +kubebuilder:rbac:groups=lifecycle.k8s.io,resources=evictionrequests,verbs=list

// voters counts those of the list; zero where none is known.
func (r replicas) voters() (count int) {
	for _, replica := range r.byName {
		if replica.Member != nil && !replica.Member.Learner {
			count++
		}
	}
	return count
}

// addDrain says whether a Pod has to leave its node: the node is drained, or an EvictionRequest asks for it. Of a Pod
// that tolerates a cordon nothing is known: what follows it may land on the same node.
func (s *nodeSearch) addDrain(ctx context.Context, g gathered, pod *facts.Pod) (err error) {
	own := found(g.pods, func(p corev1.Pod) bool { return string(p.UID) == pod.UID })
	if own == nil || keptOut(cordoned, own.Spec.Tolerations) == "" {
		return nil
	}
	if pod.Drain, err = s.drainOf(ctx, pod.Node); err == nil && pod.Drain.IsKnown && pod.Drain.Why == "" {
		pod.Drain = s.observer.evictionAsked(ctx, own)
	}
	return err
}

// SeesDrains reports a cluster whose new members a cordon keeps out: of their nodes it is asked whether they are
// drained.
func SeesDrains(cluster *v1alpha1.EtcdCluster) bool {
	return keptOut(cordoned, resources.Scheduling(cluster, cluster.Spec.Pod).Tolerations) != ""
}

// cordoned is a node that `kubectl cordon` was asked for.
var cordoned = &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}

// drainOf says whether a node is drained. Many clusters of one may share it, and their looks share what was read a
// moment ago. What was read counts for longer where the node cannot be read: a member that is being moved would be
// given up for one answer.
func (s *nodeSearch) drainOf(ctx context.Context, node string) (facts.Drain, error) {
	now := s.observer.Now()
	seen, at := s.observer.drains.of(node)
	if now.Sub(at) < drainsLast {
		return seen, nil
	}
	answer, err := s.node(ctx, node)
	switch isRecent := now.Sub(at) < drainsCount; {
	case (err != nil || !answer.isKnown) && isRecent:
		return seen, nil
	case err != nil || answer.node == nil:
		return facts.Drain{}, err
	}
	drain := drainIn(answer.node)
	s.observer.drains.add(node, drain, now)
	return drain, nil
}

// evictionAsked says which EvictionRequest asks for a Pod to leave. They are alpha, and few API servers have them: one
// that has none ends no look. Where they cannot be read any more, what was read counts for longer, as it does of nodes.
func (o *Observer) evictionAsked(ctx context.Context, pod *corev1.Pod) facts.Drain {
	const kind = "EvictionRequest"
	now, asks := o.Now(), facts.Drain{IsKnown: true}
	seen, at := o.drains.of(string(pod.UID))
	if now.Sub(at) >= drainsCount {
		seen = asks
	}
	if o.Optional == nil || o.denied.isDenied(kind, now) {
		return seen
	}
	var list lifecyclev1alpha1.EvictionRequestList
	if err := o.Optional.List(ctx, &list, client.InNamespace(pod.Namespace)); err != nil {
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			o.denied.add(kind, now)
		}
		return seen
	}
	for _, r := range list.Items {
		isAsked, target := r.Spec.Intent == lifecyclev1alpha1.EvictionRequestIntentEviction, r.Spec.Target.Pod
		if isAsked && target != nil && target.UID == pod.UID {
			asks.Why = fmt.Sprintf("EvictionRequest %s asks for its Pod to leave", r.Name)
			asks.Since = r.CreationTimestamp.Time
		}
	}
	if asks.Why != "" || seen.Why != "" {
		o.drains.add(string(pod.UID), asks, now)
	}
	return asks
}

// drainIn says by what sign a node is drained. `kubectl drain` cordons it first, and so do tools that replace nodes;
// some have a taint of their own. Kubernetes writes down since when a node is cordoned
// (kubernetes/kubernetes:pkg/controller/util/node/controller_utils.go SwapNodeControllerTaint).
func drainIn(node *corev1.Node) facts.Drain {
	drain := facts.Drain{IsKnown: true}
	for _, taint := range node.Spec.Taints {
		switch {
		case slices.Contains(drainTaints, taint.Key):
			drain.Why, drain.IsGoing = fmt.Sprintf("node %s has the taint %s", node.Name, taint.ToString()), true
			return drain
		case taint.Key == corev1.TaintNodeUnschedulable && taint.TimeAdded != nil:
			drain.Since = taint.TimeAdded.Time
		}
	}
	if node.Spec.Unschedulable {
		drain.Why = fmt.Sprintf("node %s is cordoned", node.Name)
	}
	return drain
}

// drainTaints are those of the cluster autoscaler
// (kubernetes/autoscaler:cluster-autoscaler/utils/taints/taints.go) and of Karpenter
// (kubernetes-sigs/karpenter:pkg/apis/v1/taints.go), before they empty a node.
var drainTaints = []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}

// What was read of a node counts for drainsLast, and where it cannot be read for drainsCount.
const (
	drainsLast  = 5 * time.Second
	drainsCount = 15 * time.Minute
)

// drains are what was read of nodes, by their names, and of Pods that are asked to leave, by their UIDs.
type drains struct {
	mu   sync.Mutex
	seen map[string]drainSeen
}

type drainSeen struct {
	facts.Drain
	at time.Time
}

// of is what was read of a node or a Pod, and when.
func (d *drains) of(what string) (facts.Drain, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := d.seen[what]
	return seen.Drain, seen.at
}

// add forgets what does not count any more.
func (d *drains) add(what string, drain facts.Drain, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.seen, func(_ string, seen drainSeen) bool { return now.Sub(seen.at) >= drainsCount })
	if d.seen == nil {
		d.seen = map[string]drainSeen{}
	}
	d.seen[what] = drainSeen{drain, now}
}
