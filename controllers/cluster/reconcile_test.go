package cluster

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// writesOfCreation is how many requests may change something until three members serve; events and the Lease aside.
const writesOfCreation = 36

func TestAClusterOfThreeIsCreatedWithinItsBudgetOfWrites(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	status := w.status()
	if status.Size != 3 || status.ReadyMembers != 3 || !meta.IsStatusConditionTrue(status.Conditions,
		v1alpha1.ConditionReady) {
		t.Errorf("the status is %+v", status)
	}
	for _, pod := range w.pods() {
		if resources.FlagsOf(demo(3), pod.Name, pod.Annotations) != resources.StartSealed ||
			pod.Labels[v1alpha1.LabelRole] != v1alpha1.RoleVoter {
			t.Errorf("%s is not a sealed voter: %v %v", pod.Name, pod.Annotations, pod.Labels)
		}
	}
	if len(w.writes) > writesOfCreation {
		t.Errorf("%d writes:\n%s", len(w.writes), strings.Join(w.writes, "\n"))
	}
}

func TestASettledClusterIsNotWrittenTo(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	before := len(w.writes)
	for range 20 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if more := w.writes[before:]; len(more) > 0 {
		t.Errorf("it was written to: %q", more)
	}
}

// stories are what happens to a cluster of some size, and what must have come of it when it is settled again.
var stories = []struct {
	name    string
	size    int32
	happens func(*world)
	members []string
}{
	{"one member is created", 1, nil, []string{"demo-0"}},
	{"three members are created", 3, nil, []string{"demo-0", "demo-1", "demo-2"}},
	{"a Pod is deleted", 3, func(w *world) { w.delete(&corev1.Pod{}, "demo-1") },
		[]string{"demo-0", "demo-1", "demo-2"}},
	{"all Pods are deleted", 3, func(w *world) {
		for _, pod := range w.pods() {
			w.delete(&corev1.Pod{}, pod.Name)
		}
	}, []string{"demo-0", "demo-1", "demo-2"}},
	{"the data of a member is lost", 3, func(w *world) { w.loseData("demo-1") },
		[]string{"demo-0", "demo-2", "demo-3"}},
	{"one member becomes three", 1, func(w *world) { w.resize(3) }, []string{"demo-0", "demo-1", "demo-2"}},
	{"three members become one", 3, func(w *world) { w.resize(1) }, nil},
}

func TestAnOperatorKilledAfterAnyWriteLeavesAClusterThatTheNextOneFinishes(t *testing.T) {
	for _, story := range stories {
		whole := newWorld(t, demo(story.size))
		begin := whole.live(story.happens)
		for n := begin; n <= len(whole.writes); n += needs.Stride(10) {
			t.Run(fmt.Sprintf("%s, %s", story.name, whole.writes[n-1]), func(t *testing.T) {
				w := newWorld(t, demo(story.size))
				w.crashAt = n
				w.live(story.happens)
				if w.crashAt != 0 {
					t.Fatal("the operator was never killed")
				}
				w.check(nil) // a name that was promised and never used is not given again
			})
		}
		whole.check(story.members)
	}
}

// hardships are what a story must withstand at every pass.
var hardships = map[string]func() func(*world){
	"a cache that is three passes behind": func() func(*world) {
		return func(w *world) {
			if w.passes%3 == 0 {
				w.freeze()
			}
		}
	},
	"two operators that take turns": func() func(*world) {
		var second *Reconciler
		return func(w *world) {
			if second == nil {
				second = w.operator
				w.restart()
			}
			w.operator, second = second, w.operator
		}
	},
	"two operators, of which one sees the past": func() func(*world) {
		var second *Reconciler
		return func(w *world) {
			if second == nil {
				second = w.operator
				w.restart()
			}
			w.operator, second = second, w.operator
			if w.passes%8 == 0 {
				w.freeze()
			}
		}
	},
}

func TestHardships(t *testing.T) {
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(hardships)) {
		hardship := hardships[name]
		for _, story := range stories {
			if tried++; tried%needs.Stride(2) != 0 {
				continue
			}
			t.Run(name+", "+story.name, func(t *testing.T) {
				w := newWorld(t, demo(story.size))
				w.hardship = hardship()
				w.live(story.happens)
				w.check(nil)
			})
		}
	}
}

// live settles the cluster, lets something happen and settles it again. It returns the number of the first write that
// is about that.
func (w *world) live(happens func(*world)) int {
	w.t.Helper()
	w.settle()
	if happens == nil {
		return 1
	}
	begin := len(w.writes) + 1
	happens(w)
	w.kubelet()
	w.settle()
	return begin
}

// check says what must hold of every settled cluster. Without names any members will do.
func (w *world) check(members []string) {
	w.t.Helper()
	status := w.status()
	var names []string
	for _, m := range status.Members {
		names = append(names, m.Name)
		if !m.Healthy || m.Role != v1alpha1.RoleVoter {
			w.t.Errorf("member %+v", m)
		}
	}
	if len(names) != int(w.cluster().Spec.Size) || members != nil && !slices.Equal(names, members) {
		w.t.Errorf("the members are %q", names)
	}
	if len(w.pods()) != len(names) || len(w.claims()) != len(names) {
		w.t.Errorf("%d Pods and %d volumes of %d members", len(w.pods()), len(w.claims()), len(names))
	}
	if secrets := w.secrets(); len(secrets) != 4+len(names) { // two CAs, clients' and the operator's
		w.t.Errorf("%d members, and the Secrets %q", len(names), secrets)
	}
	if ids := w.clusterIDs(); len(ids) != 1 {
		w.t.Errorf("the members are of %d clusters: %v", len(ids), ids)
	}
}

func (w *world) secrets() []string {
	w.t.Helper()
	var list corev1.SecretList
	if err := w.kube.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	return names
}

func (w *world) clusterIDs() []string {
	var ids []string
	for _, process := range w.processes {
		ids = append(ids, process.ClusterID().String())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestADryRunPublishesTheNextStepAndWritesNothingElse(t *testing.T) {
	cluster := demo(3)
	cluster.Spec.Mode = v1alpha1.ModeDryRun
	w := newWorld(t, cluster)
	for range 3 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.writes) != 1 || !strings.HasPrefix(w.writes[0], "patch status") {
		t.Errorf("it wrote %q", w.writes)
	}
	if next := w.status().NextStep; next == nil || next.Rule != "birth-record" {
		t.Errorf("the next step is %+v", next)
	}
}

func TestTheClusterOfAnotherInstallIsLeftAlone(t *testing.T) {
	w := newWorld(t, demo(1))
	service := resources.BuildPeerService(demo(1), record.Bootstrap{
		Incarnation: "a", Counter: 1, Token: "t", Names: []string{"demo-0"},
	}, "other/etcd-steward")
	if err := w.kube.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	w.renewAs("other")()
	for range 3 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.writes) > 0 {
		t.Errorf("it wrote %q", w.writes)
	}
}

func TestWhatThePlatformRefusesIsReportedAndTriedAgain(t *testing.T) {
	w := newWorld(t, demo(1))
	w.onWrite = func(what string) error {
		if strings.HasPrefix(what, "create *v1.Pod ") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "demo-0",
				fmt.Errorf("exceeded quota: small"))
		}
		return nil
	}
	for range 10 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	next := w.status().NextStep
	if next == nil || next.Reason != "QuotaExceeded" || !strings.Contains(next.Message, "exceeded quota: small") {
		t.Errorf("the next step is %+v", next)
	}
	w.onWrite = nil
	w.settle()
}

func TestAPodThatThePlatformRefusesKeepsNoOtherMemberFromBeingReplaced(t *testing.T) {
	w := newWorld(t, demo(5))
	w.settle()
	w.onWrite = func(what string) error {
		if what == "create *v1.Pod demo-1" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "demo-1",
				fmt.Errorf("exceeded quota: small"))
		}
		return nil
	}
	w.delete(&corev1.Pod{}, "demo-1")
	w.loseData("demo-2")
	for range 60 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	status := w.status()
	var healthy []string
	for _, m := range status.Members {
		if m.Healthy && m.Role == v1alpha1.RoleVoter {
			healthy = append(healthy, m.Name)
		}
	}
	if !slices.Equal(healthy, []string{"demo-0", "demo-3", "demo-4", "demo-5"}) {
		t.Errorf("the healthy voters are %q of %+v", healthy, status.Members)
	}
	if status.NextStep.Rule != "pods" || status.NextStep.Reason != "QuotaExceeded" {
		t.Errorf("the next step is %+v", status.NextStep)
	}
	w.onWrite = nil
	w.settle()
}

func TestANameThatIsTakenIsReportedAndNotAdopted(t *testing.T) {
	w := newWorld(t, demo(1))
	taken := &corev1.Service{}
	taken.Namespace, taken.Name = "shop", "demo"
	if err := w.kube.Create(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	result, err := w.pass()
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		result, err = w.pass()
	}
	if next := w.status().NextStep; next.Reason != facts.ReasonNameTaken || result.RequeueAfter < 5*time.Second {
		t.Errorf("the next step is %+v, again in %s", next, result.RequeueAfter)
	}
}

func TestAnObjectOfAnotherOwnerThatOnlyTheWriteFindsStallsTheCluster(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x"}}}}
	orphan := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}}}
	for _, row := range []struct {
		name, kind, taken string
		object            client.Object
		grows             bool
	}{
		{"a volume at birth", resources.KindVolume, "demo-0", &corev1.PersistentVolumeClaim{}, false},
		{"a Pod at birth", resources.KindPod, "demo-0", pod, false},
		{"a Secret at birth", resources.KindSecret, resources.MemberSecret("demo-0"), &corev1.Secret{}, false},
		{"a Secret that an orphaned cluster left", resources.KindSecret, resources.ClientSecret("demo"), orphan, false},
		{"a Pod at growth", resources.KindPod, "demo-1", pod, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, demo(1))
			if row.grows {
				w.settle()
			}
			foreign := row.object.DeepCopyObject().(client.Object)
			foreign.SetNamespace("shop")
			foreign.SetName(row.taken)
			if err := w.kube.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			if row.grows {
				w.resize(3)
			}
			for range 15 {
				if _, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err != nil {
					t.Fatal(err)
				}
				w.now = w.now.Add(time.Second)
				w.bind()
			}
			w.checkTaken(row.kind, row.taken)
			if err := w.kube.Delete(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			taken := w.now
			for w.status().NextStep.Reason == facts.ReasonNameTaken {
				if _, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err != nil ||
					w.now.Sub(taken) > 30*time.Second {
					t.Fatalf("it is not seen that the name is free: %v", err)
				}
				w.now = w.now.Add(time.Second)
			}
			w.settle()
		})
	}
}

func (w *world) checkTaken(kind, name string) {
	w.t.Helper()
	status := w.status()
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != facts.ReasonNameTaken || status.NextStep.Verdict != v1alpha1.VerdictStalled {
		w.t.Fatalf("%+v; %+v", status.NextStep, stalled)
	}
	for _, part := range []string{kind, name, "Delete it if nothing needs it"} {
		if !strings.Contains(stalled.Message, part) {
			w.t.Errorf("%q does not say %q", stalled.Message, part)
		}
	}
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling) {
		w.t.Error("it is Reconciling as well")
	}
}

func TestAnUnexpectedErrorIsReturned(t *testing.T) {
	w := newWorld(t, demo(1))
	w.onWrite = func(string) error { return apierrors.NewInternalError(fmt.Errorf("broken")) }
	if _, err := w.pass(); err == nil {
		t.Error("the pass succeeded")
	}
}

func TestAClusterThatIsGoneLeavesNothingBehindInMemory(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	if o := w.operator; fieldOf(o.Secrets, "entries").Len() == 0 || fieldOf(&o.written, "byObject").Len() == 0 {
		t.Error("it remembered nothing")
	}
	cluster := demo(1)
	if err := w.kube.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(); err != nil {
		t.Fatal(err)
	}
	o := w.operator
	for what, memory := range map[string]reflect.Value{
		"Secrets": fieldOf(o.Secrets, "entries"), "writes": fieldOf(o.Unseen, "clusters"),
		"times of writing": fieldOf(&o.written, "byObject"),
		"doubts":           fieldOf(&o.doubts, "byObject"), "laggards": fieldOf(&o.lagging, "byObject"),
		"repetitions": fieldOf(&o.brake, "byObject"), "series": fieldOf(o.Metrics, "clusters"),
	} {
		if memory.Len() > 0 {
			t.Errorf("it remembers %s: %v", what, memory)
		}
	}
}

// fieldOf is the memory of another package's value.
func fieldOf(value any, name string) reflect.Value {
	return reflect.ValueOf(value).Elem().FieldByName(name)
}
