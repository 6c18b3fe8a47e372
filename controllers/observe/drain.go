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

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
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

// addDrain says whether a Pod has to leave its node: the node is drained, or an EvictionRequest asks for it.
func (s *nodeSearch) addDrain(ctx context.Context, namespace string, pod *facts.Pod) (err error) {
	if pod.Drain, err = s.drainOf(ctx, pod.Node); err == nil && pod.Drain.Why == "" {
		pod.Drain.Why, err = s.observer.evictionAsked(ctx, namespace, pod)
	}
	return err
}

// drainOf says whether a node is drained. Many clusters of one may share it, and their looks share what was read a
// moment ago.
func (s *nodeSearch) drainOf(ctx context.Context, node string) (facts.Drain, error) {
	if seen, ok := s.observer.drains.of(node, s.observer.Now()); ok {
		return seen, nil
	}
	answer, err := s.node(ctx, node)
	if err != nil || answer.node == nil {
		return facts.Drain{}, err
	}
	drain := facts.Drain{IsKnown: true, Why: whyDrained(answer.node)}
	s.observer.drains.add(node, drain, s.observer.Now())
	return drain, nil
}

// evictionAsked says which EvictionRequest asks for a Pod to leave, as a part of a sentence, or "". They are alpha, and
// few API servers have them: where they cannot be read there are none.
func (o *Observer) evictionAsked(ctx context.Context, namespace string, pod *facts.Pod) (string, error) {
	const kind = "EvictionRequest"
	if o.Optional == nil || o.denied.isDenied(kind, o.Now()) {
		return "", nil
	}
	var list lifecyclev1alpha1.EvictionRequestList
	err := o.Optional.List(ctx, &list, client.InNamespace(namespace))
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		o.denied.add(kind, o.Now())
		return "", nil
	case err != nil:
		return "", fmt.Errorf("listing the EvictionRequests of %s: %w", namespace, err)
	}
	for _, r := range list.Items {
		isAsked, target := r.Spec.Intent == lifecyclev1alpha1.EvictionRequestIntentEviction, r.Spec.Target.Pod
		if isAsked && target != nil && string(target.UID) == pod.UID {
			return fmt.Sprintf("EvictionRequest %s asks for its Pod to leave", r.Name), nil
		}
	}
	return "", nil
}

// whyDrained says by what sign a node is drained, as a part of a sentence, or "". `kubectl drain` cordons it first, and
// so do tools that replace nodes; some have a taint of their own.
func whyDrained(node *corev1.Node) string {
	if node.Spec.Unschedulable {
		return fmt.Sprintf("node %s is cordoned", node.Name)
	}
	for _, taint := range node.Spec.Taints {
		if slices.Contains(drainTaints, taint.Key) {
			return fmt.Sprintf("node %s has the taint %s", node.Name, taint.ToString())
		}
	}
	return ""
}

// drainTaints are those of the cluster autoscaler
// (kubernetes/autoscaler:cluster-autoscaler/utils/taints/taints.go) and of Karpenter
// (kubernetes-sigs/karpenter:pkg/apis/v1/taints.go), before they empty a node.
var drainTaints = []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}

// drainsLast is how long what was read of a node counts.
const drainsLast = 5 * time.Second

// drains are what was read of nodes a moment ago.
type drains struct {
	mu   sync.Mutex
	seen map[string]drainSeen
}

type drainSeen struct {
	facts.Drain
	at time.Time
}

func (d *drains) of(node string, now time.Time) (facts.Drain, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen, ok := d.seen[node]
	return seen.Drain, ok && now.Sub(seen.at) < drainsLast
}

// add forgets what does not count any more.
func (d *drains) add(node string, drain facts.Drain, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.seen, func(_ string, seen drainSeen) bool { return now.Sub(seen.at) >= drainsLast })
	if d.seen == nil {
		d.seen = map[string]drainSeen{}
	}
	d.seen[node] = drainSeen{drain, now}
}
