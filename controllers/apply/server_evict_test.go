package apply

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// serving makes the three Pods voters that are ready, as a kubelet would say. No kubelet has them, so nothing takes it
// back.
func (s *server) serving(t *testing.T) *server {
	t.Helper()
	s.bootstrapped(t)
	for _, name := range begin().Names {
		pod := get(t, s, name, &corev1.Pod{})
		s.mustDo(t, changes.SealPods{Pods: []changes.Seal{{Pod: ref(pod),
			Role: v1alpha1.RoleVoter}}})
		pod = get(t, s, name, &corev1.Pod{})
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady,
			Status: corev1.ConditionTrue})
		if err := s.client.Status().Patch(t.Context(), pod, ctrlclient.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// until waits for what one of Kubernetes' own controllers does.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// budgeted sets the budget and waits until it is worked out.
func (s *server) budgeted(t *testing.T, bound int) {
	t.Helper()
	s.mustDo(t, changes.SetBudget{MinAvailable: bound})
	until(t, "working the budget out", func() bool {
		budget := get(t, s, "demo", &policyv1.PodDisruptionBudget{})
		return budget.Status.ObservedGeneration == budget.Generation && budget.Status.CurrentHealthy == 3
	})
}

func TestARealServerEvictsThePodThatIsMeantAndOnlyWithinTheBudget(t *testing.T) {
	s := newServer(t).serving(t)
	pod := get(t, s, "demo-0", &corev1.Pod{})
	// Without a budget: one that failed on a precondition would hold a place in it for two minutes.
	another := &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: new(types.UID("an-earlier-one"))}}}
	if err := s.client.SubResource("eviction").Create(t.Context(), pod.DeepCopy(),
		another); !apierrors.IsConflict(err) {
		t.Errorf("the server evicts in spite of a precondition: %v", err)
	}
	s.budgeted(t, 3)
	err := s.do(t, changes.EvictPod{Pod: ref(pod)})
	if !isLater(err, LaterBudget) || !strings.Contains(err.Error(), "demo needs 3 healthy pods and has 3") {
		t.Errorf("over the budget: %T %v", err, err)
	}
	s.budgeted(t, 2)
	if err := s.do(t, changes.EvictPod{Pod: facts.PodRef{Name: "demo-0", UID: "an-earlier-one"}}); !errors.Is(err,
		ErrStale) {
		t.Errorf("another of its name: %v", err)
	}
	other := resources.BuildBudget(s.cluster, 1)
	other.Name = "other"
	if err := s.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := s.do(t, changes.EvictPod{Pod: ref(pod)}); !isRejected(err, RejectedBudgets) ||
		!strings.Contains(err.Error(), "also selected by "+pod.Namespace+"/other. ") {
		t.Errorf("with two budgets: %T %v", err, err)
	}
	if err := s.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	s.mustDo(t, changes.EvictPod{Pod: ref(pod)})
	err = s.client.Get(t.Context(), ctrlclient.ObjectKeyFromObject(pod), pod)
	if err == nil && pod.DeletionTimestamp == nil {
		t.Error("the Pod is still there, and not on its way")
	}
	s.mustDo(t, changes.EvictPod{Pod: ref(pod)})
}

// rehearsed is what a change that replaces demo-0 is answered before anything is looked at again.
func (s *server) rehearsed(t *testing.T) error {
	t.Helper()
	applier := &Applier{Client: s.client, Live: s.client, Now: time.Now, Operator: operator}
	change := changes.EvictPod{Pod: facts.PodRef{Name: "demo-0"}, Successor: successor(s.cluster)}
	return step{Applier: applier, cluster: s.cluster, view: bootstrapped()}.rehearse(t.Context(), change)
}

func TestARealServerSaysBeforehandWhetherASuccessorWouldBeAdmitted(t *testing.T) {
	s := newServer(t).serving(t)
	before := get(t, s, "demo-0", &corev1.Pod{})
	if err := s.rehearsed(t); err != nil {
		t.Errorf("with nothing in the way: %v", err)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: "small"}}
	s.limited(t, quota, "3", "1536Mi")
	if err := s.rehearsed(t); err != nil {
		t.Errorf("with a quota that is full: %v", err)
	}
	fourth := successor(s.cluster)
	fourth.Name = "demo-1"
	s.mustDo(t, changes.DeletePods{Pods: []facts.PodRef{ref(get(t, s, "demo-1", &corev1.Pod{}))}})
	s.limited(t, quota, "3", "1Gi")
	if err := s.rehearsed(t); err != nil {
		t.Errorf("with a quota that is full of two: %v", err)
	}
	if err := s.do(t, changes.StartPods{Pods: []changes.Start{fourth}}); !isRejected(err, RejectedQuota) {
		t.Errorf("a Pod more: %v", err)
	}
	s.limited(t, quota, "3", "1023Mi")
	if err := s.rehearsed(t); !isRejected(err, RejectedQuota) {
		t.Errorf("with a quota that was lowered: %v", err)
	}
	if err := s.client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: "small"},
		Spec: corev1.LimitRangeSpec{
			Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
				Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")}}},
		}}
	if err := s.client.Create(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
	until(t, "obeying the LimitRange", func() bool { return s.rehearsed(t) != nil })
	if err := s.rehearsed(t); !isRejected(err, RejectedForbidden) && !isRejected(err, RejectedInvalid) {
		t.Errorf("with a LimitRange: %T %v", err, err)
	}
	after := get(t, s, "demo-0", &corev1.Pod{})
	if after.UID != before.UID || after.DeletionTimestamp != nil || !maps.Equal(after.Annotations, before.Annotations) {
		t.Errorf("a rehearsal changed the Pod: %+v", after.ObjectMeta)
	}
}

// limited sets a quota on Pods and memory, and waits until its use is counted.
func (s *server) limited(t *testing.T, quota *corev1.ResourceQuota, pods, memory string) {
	t.Helper()
	hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods),
		corev1.ResourceRequestsMemory: resource.MustParse(memory)}
	if quota.UID == "" {
		quota.Spec.Hard = hard
		if err := s.client.Create(t.Context(), quota); err != nil {
			t.Fatal(err)
		}
	} else {
		before := quota.DeepCopy()
		quota.Spec.Hard = hard
		if err := s.client.Patch(t.Context(), quota, ctrlclient.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "counting the quota", func() bool {
		counted := get(t, s, quota.Name, &corev1.ResourceQuota{})
		var list corev1.PodList
		if err := s.client.List(t.Context(), &list, ctrlclient.InNamespace(s.cluster.Namespace)); err != nil {
			t.Fatal(err)
		}
		limit, used := counted.Status.Hard[corev1.ResourceRequestsMemory], counted.Status.Used[corev1.ResourcePods]
		return limit.Cmp(hard[corev1.ResourceRequestsMemory]) == 0 && used.Value() == int64(len(list.Items))
	})
}

func TestARealServerDressesPodsInPlace(t *testing.T) {
	s := newServer(t)
	s.cluster.Spec.Pod.Labels = map[string]string{"team": "storage"}
	s.bootstrapped(t)
	s.cluster.Spec.Pod.Labels, s.cluster.Spec.Pod.Annotations = map[string]string{"tier": "gold"},
		map[string]string{"example.com/note": "x"}
	pod := get(t, s, "demo-0", &corev1.Pod{})
	s.mustDo(t, changes.DressPods{Pods: []facts.PodRef{ref(pod)}})
	dressed := get(t, s, "demo-0", &corev1.Pod{})
	if !resources.DressingOf(s.cluster, dressed).IsZero() || dressed.Labels["tier"] != "gold" ||
		dressed.Labels["team"] != "" || dressed.UID != pod.UID {
		t.Errorf("%v, %v", dressed.Labels, dressed.Annotations)
	}
	if dressed.Generation != pod.Generation || dressed.Labels[v1alpha1.LabelMember] != "demo-0" {
		t.Errorf("more than the user's was changed: %+v", dressed.ObjectMeta)
	}
	for range 10 { // others write to the Pod as well, and are done soon: scheduler, kubelet
		before := get(t, s, "demo-0", &corev1.Pod{})
		s.mustDo(t, changes.DressPods{Pods: []facts.PodRef{ref(pod)}})
		if get(t, s, "demo-0", &corev1.Pod{}).ResourceVersion == before.ResourceVersion {
			return
		}
	}
	t.Error("a Pod that is dressed was written, each time")
}
