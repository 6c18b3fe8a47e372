package observe_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestTheMemberOfAClusterOfOneIsToldThatItsNodeIsDrained(t *testing.T) {
	cordon := func(node *corev1.Node) { node.Spec.Unschedulable = true }
	tainted := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	stays := facts.Drain{IsKnown: true}
	for _, row := range []struct {
		name  string
		edit  func(*corev1.Node)
		size  int32
		wants facts.Drain
	}{
		{"nothing is asked of its node", func(*corev1.Node) {}, 1, stays},
		{"its node is cordoned", cordon, 1, facts.Drain{IsKnown: true, Why: "node worker-0 is cordoned"}},
		{"the cluster autoscaler empties it", tainted("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule), 1,
			facts.Drain{IsKnown: true, IsGoing: true, Why: "node worker-0 has the taint ToBeDeletedByClusterAutoscaler:NoSchedule"}},
		{"Karpenter empties it", tainted("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule), 1,
			facts.Drain{IsKnown: true, IsGoing: true, Why: "node worker-0 has the taint karpenter.sh/disrupted:NoSchedule"}},
		{"its kubelet is short of memory: that ends by itself", tainted(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
			1, stays},
		{"a cluster of three, whose others serve", cordon, 3, facts.Drain{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlace(t)
			row.edit(p.node)
			p.world.put(p.node)
			p.world.cluster.Spec.Size = row.size
			if got := p.world.replica("demo-0").Pod.Drain; got != row.wants {
				t.Errorf("got %+v", got)
			}
		})
	}
	p := newPlace(t)
	p.world.cluster.Spec.Size, p.world.denied = 1, true
	if got := p.world.replica("demo-0").Pod.Drain; got.IsKnown {
		t.Errorf("nodes may not be read, and got %+v", got)
	}
}

func TestClustersOfOneReadANodeThatTheyShareOnceInFiveSeconds(t *testing.T) {
	p := newPlace(t)
	p.world.cluster.Spec.Size = 1
	p.world.start("demo-0", etcdutil.StateNew, "demo-0", "demo-1", "demo-2")
	p.pod.Status.Conditions[0].Status = corev1.ConditionTrue
	observer := p.world.observer()
	for _, row := range []struct {
		after time.Duration
		reads int
	}{{0, 1}, {4 * time.Second, 0}, {time.Second, 1}} {
		p.world.now = p.world.now.Add(row.after)
		p.world.live = nil
		if _, _, err := observer.Observe(t.Context(), p.world.cluster, ""); err != nil {
			t.Fatal(err)
		}
		if reads := slices.DeleteFunc(p.world.live, func(read string) bool { return read != "*v1.Node worker-0" }); len(reads) != row.reads {
			t.Errorf("%s later: %q", row.after, reads)
		}
	}
}

func TestTheMemberOfAClusterOfOneIsToldThatAnEvictionRequestNamesItsPod(t *testing.T) {
	asking := func(uid types.UID, intent lifecyclev1alpha1.EvictionRequestIntent) *lifecyclev1alpha1.EvictionRequest {
		return &lifecyclev1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: "rebalance", Namespace: "shop"},
			Spec: lifecyclev1alpha1.EvictionRequestSpec{Requester: "example.com/balancer", Intent: intent,
				Target: lifecyclev1alpha1.EvictionRequestTarget{Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: "demo-0", UID: uid}}}}
	}
	p := newPlace(t)
	for _, row := range []struct {
		name    string
		request *lifecyclev1alpha1.EvictionRequest
		why     string
	}{
		{"its Pod is to be evicted", asking(p.pod.UID, lifecyclev1alpha1.EvictionRequestIntentEviction), "EvictionRequest rebalance asks for its Pod to leave"},
		{"that was withdrawn", asking(p.pod.UID, lifecyclev1alpha1.EvictionRequestIntentWithdrawn), ""},
		{"a Pod of this name from before", asking("another", lifecyclev1alpha1.EvictionRequestIntentEviction), ""},
	} {
		p := newPlace(t)
		p.world.cluster.Spec.Size = 1
		p.world.put(row.request)
		if got := p.world.replica("demo-0").Pod.Drain; !got.IsKnown || got.Why != row.why || got.Since.IsZero() != (row.why == "") {
			t.Errorf("%s: got %+v", row.name, got)
		}
	}
}

func TestAnAPIServerThatListsNoEvictionRequestsEndsNoLook(t *testing.T) {
	for _, err := range []error{&meta.NoKindMatchError{}, errors.New("connection lost")} {
		p := newPlace(t)
		p.world.cluster.Spec.Size = 1
		p.world.optionalErr = err
		if got := p.world.replica("demo-0").Pod.Drain; got != (facts.Drain{IsKnown: true}) {
			t.Errorf("%v: got %+v", err, got)
		}
	}
}

func TestAnEvictionRequestThatCannotBeReadAnyMoreCountsForAWhile(t *testing.T) {
	p := newPlace(t)
	p.world.cluster.Spec.Size = 1
	request := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: "rebalance", Namespace: "shop"},
		Spec: lifecyclev1alpha1.EvictionRequestSpec{Intent: lifecyclev1alpha1.EvictionRequestIntentEviction,
			Target: lifecyclev1alpha1.EvictionRequestTarget{Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: "demo-0", UID: p.pod.UID}}}}
	p.world.put(request)
	observer := p.world.observer()
	reader := &failing{Reader: observer.Optional}
	observer.Optional = reader
	for _, row := range []struct {
		after   time.Duration
		err     error
		isAsked bool
	}{{0, nil, true}, {time.Minute, errors.New("connection lost"), true}, {15 * time.Minute, errors.New("connection lost"), false}} {
		p.world.now, reader.err = p.world.now.Add(row.after), row.err
		seen, _, err := observer.Observe(t.Context(), p.world.cluster, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.Current.Members[0].Pod.Drain; (got.Why != "") != row.isAsked {
			t.Errorf("%s later: %+v", row.after, got)
		}
	}
}

// failing is a reader that fails at will.
type failing struct {
	client.Reader
	err error
}

func (f *failing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if f.err != nil {
		return f.err
	}
	return f.Reader.List(ctx, list, opts...)
}

// A member that is being moved must not be given up for one answer of the API server.
func TestWhatWasReadOfANodeCountsForAWhileWhereItCannotBeReadAnyMore(t *testing.T) {
	p := newPlace(t)
	p.world.cluster.Spec.Size, p.node.Spec.Unschedulable = 1, true
	p.world.put(p.node)
	observer := p.world.observer()
	for _, row := range []struct {
		after   time.Duration
		refused bool
		isKnown bool
	}{{0, false, true}, {10 * time.Second, true, true}, {14 * time.Minute, true, true}, {time.Minute, true, false}} {
		p.world.now = p.world.now.Add(row.after)
		p.world.denied = row.refused
		seen, _, err := observer.Observe(t.Context(), p.world.cluster, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.Current.Members[0].Pod.Drain; got.IsKnown != row.isKnown || row.isKnown && got.Why == "" {
			t.Errorf("%s later: %+v", row.after, got)
		}
	}
}

// What follows it may land on the same node, again and again.
func TestOfAPodThatToleratesACordonNothingIsKnown(t *testing.T) {
	p := newPlace(t)
	p.world.cluster.Spec.Size, p.node.Spec.Unschedulable = 1, true
	p.world.put(p.node)
	p.pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	p.world.put(p.pod)
	if got := p.world.replica("demo-0").Pod.Drain; got != (facts.Drain{}) {
		t.Errorf("got %+v", got)
	}
}
