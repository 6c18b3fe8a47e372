package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

const first, second = "ops/etcd-steward", "new/etcd-steward"

// actAs lets another install make the passes, which remembers nothing.
func (w *world) actAs(install string) {
	w.restart()
	w.operator.Operator = install
	w.operator.Applier.Operator = install
	w.operator.Observer.Operator, w.operator.LiveObserver.Operator = install, install
}

// renew has the first install renew its Lease.
func (w *world) renew() { w.renewAs("ops")() }

// renewAs renews the Lease of the install in that namespace.
func (w *world) renewAs(namespace string) func() { return func() { w.renewIn(namespace) } }

func (w *world) renewIn(namespace string) {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: observe.LeaseName}}
	if err := client.IgnoreAlreadyExists(w.kube.Create(w.t.Context(), lease.DeepCopy())); err != nil {
		w.t.Fatal(err)
	}
	if err := w.kube.Get(w.t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
		w.t.Fatal(err)
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: w.now}
	if err := w.kube.Update(w.t.Context(), lease); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) askFor(install string) {
	w.t.Helper()
	cluster := w.cluster()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, v1alpha1.AnnotationOperator, install)
	if err := w.kube.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) claim() string {
	w.t.Helper()
	service := &corev1.Service{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: "demo-peers"}, service); err != nil {
		w.t.Fatal(err)
	}
	return service.Annotations[v1alpha1.AnnotationOperator]
}

// passFor makes passes for so long.
func (w *world) passFor(long time.Duration, meanwhile func()) {
	w.t.Helper()
	for end := w.now.Add(long); w.now.Before(end); {
		meanwhile()
		w.mustPass(1)
	}
}

func idle() {}

// up is what the metric says of the install that looks after the cluster.
func (w *world) up(install string) (value float64, isTold bool) {
	value, isTold = metrictest.Gather(w.t, w.registry)[fmt.Sprintf(
		"etcdsteward_cluster_operator_up{name=%q,namespace=%q,operator=%q}", w.key.Name, w.key.Namespace, install)]
	return value, isTold
}

func TestAnInstallThatLooksAfterAClusterNoMoreIsTold(t *testing.T) {
	w := newWorld(t, demo(1))
	w.renew()
	w.settle()
	if value, _ := w.up(first); value != 1 {
		t.Error("the install that looks after the cluster is not told as up")
	}
	w.actAs(second)
	writes, before := len(w.writes), w.status()
	w.passFor(5*time.Minute, w.renew)
	if len(w.writes) != writes {
		t.Errorf("beside the other install it wrote %v", w.writes[writes:])
	}
	if value, isTold := w.up(first); value != 1 || !isTold {
		t.Errorf("an install that runs is told as %v (%v)", value, isTold)
	}
	w.passFor(3*time.Minute, idle)
	stalled := meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != "OtherOperator" {
		t.Fatalf("nothing is said: %+v, before %+v", w.status().Conditions, before.Conditions)
	}
	for _, part := range []string{first + " does not run", "etcdsteward.dev/operator=" + second} {
		if !strings.Contains(stalled.Message, part) {
			t.Errorf("%q does not say %q", stalled.Message, part)
		}
	}
	if !meta.IsStatusConditionTrue(w.status().Conditions, v1alpha1.ConditionAvailable) {
		t.Error("the members serve, and the status does not say so")
	}
	if value, isTold := w.up(first); value != 0 || !isTold {
		t.Errorf("an install that is gone is told as %v (%v)", value, isTold)
	}
	for _, write := range w.writes[writes:] {
		if !strings.HasPrefix(write, "patch status *v1alpha1.EtcdCluster") {
			t.Errorf("it did %s", write)
		}
	}
	w.renew()
	writes = len(w.writes)
	w.passFor(time.Minute, w.renew)
	if len(w.writes) != writes {
		t.Errorf("the other install is back, and this one wrote %v", w.writes[writes:])
	}
	if samples := metrictest.Gather(t, w.registry); len(samples) == 0 || hasPrefix(samples, "etcdsteward_cluster_ready") {
		t.Errorf("it still has series of the cluster: %v", samples)
	}
}

func hasPrefix(samples map[string]float64, prefix string) bool {
	for name := range samples {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// denyLeases lets no operator read a Lease.
func (w *world) denyLeases() {
	live := interceptor.NewClient(w.kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, isLease := o.(*coordinationv1.Lease); isLease {
				return apierrors.NewForbidden(coordinationv1.Resource("leases"), key.Name, errors.New("no Role"))
			}
			return c.Get(ctx, key, o, opts...)
		}})
	for _, o := range []*observe.Observer{w.operator.Observer, w.operator.LiveObserver} {
		o.Live = live
	}
}

func TestAClusterIsLookedAfterUntilTheInstallThatIsAskedForHasIt(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	w.askFor(second)
	w.resize(3)
	w.passFor(2*time.Minute, idle)
	if len(w.pods()) != 3 || w.claim() != first {
		t.Errorf("%d Pods, claimed by %s", len(w.pods()), w.claim())
	}
	if next := w.status().NextStep; next == nil || next.Reason != "TakeOver" || !strings.Contains(next.Message, second) {
		t.Errorf("it says %+v", next)
	}
	if value, _ := w.up(first); value != 1 {
		t.Error("the install that looks after the cluster is not told as up")
	}
}

func TestAnInstallThatIsAskedForTakesAClusterOverAndTheOtherOneStops(t *testing.T) {
	w := newWorld(t, demo(3))
	w.renew()
	w.settle()
	w.askFor(second)
	w.actAs(second)
	w.loseData("demo-1")
	writes := len(w.writes)
	w.passFor(30*time.Second, w.renew)
	if w.claim() != second || len(w.pods()) != 2 {
		t.Errorf("it acts at once, or has no claim: %d Pods, %s", len(w.pods()), w.claim())
	}
	for i, write := range w.writes[writes:] {
		isClaim := i == 0 && write == "patch *v1.Service demo-peers"
		if !isClaim && !strings.HasPrefix(write, "patch status") {
			t.Errorf("before the first install has certainly ended it did %s", write)
		}
	}
	if next := w.status().NextStep; next == nil || next.Reason != "TakeOver" {
		t.Errorf("it says %+v", next)
	}
	w.settle()
	if len(w.pods()) != 3 {
		t.Errorf("%d Pods", len(w.pods()))
	}
	w.actAs(first)
	w.loseData("demo-2")
	writes = len(w.writes)
	w.passFor(time.Minute, w.renewAs("new"))
	if len(w.writes) != writes {
		t.Errorf("the first one wrote %v", w.writes[writes:])
	}
}

func TestAnInstallWhoseLeaseCannotBeReadKeepsItsCluster(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	w.askFor(second)
	w.actAs(second)
	w.denyLeases()
	writes := len(w.writes)
	w.passFor(5*time.Minute, idle)
	if len(w.writes) != writes || w.claim() != first {
		t.Errorf("claimed by %s: %v", w.claim(), w.writes[writes:])
	}
	if value, isTold := w.up(first); value != 0 || !isTold {
		t.Errorf("an install of which nothing is known is told as %v (%v)", value, isTold)
	}
	select {
	case event := <-w.events.Events:
		if !strings.Contains(event, "NotTakenOver") || !strings.Contains(event, "no Role") {
			t.Errorf("it says %s", event)
		}
	default:
		t.Error("the person who asked for it is told nothing")
	}
}

func TestOfTwoInstallsThatFindNoClaimOneActs(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	service := &corev1.Service{}
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "demo-peers"}, service); err != nil {
		t.Fatal(err)
	}
	delete(service.Annotations, v1alpha1.AnnotationOperator)
	if err := w.kube.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	w.resize(3)
	writes := len(w.writes)
	w.passFor(10*time.Second, idle)
	if w.claim() != first || len(w.pods()) != 1 || !slices.Contains(w.writes[writes:], "patch *v1.Service demo-peers") {
		t.Errorf("claimed by %q, %d Pods: %v", w.claim(), len(w.pods()), w.writes[writes:])
	}
	w.settle()
}

// losePeers deletes the Service with the bootstrap record and the claim.
func (w *world) losePeers() {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo-peers"}}
	if err := w.kube.Delete(w.t.Context(), service); err != nil {
		w.t.Fatal(err)
	}
}

// claimsOfData are the installs that volumes name, or Pods where the data is in them, each once.
func (w *world) claimsOfData() []string {
	w.t.Helper()
	var claims []string
	for _, volume := range w.claims() {
		claims = append(claims, volume.Annotations[v1alpha1.AnnotationOperator])
	}
	for _, pod := range w.pods() {
		if w.cluster().Spec.IsEphemeral() {
			claims = append(claims, pod.Annotations[v1alpha1.AnnotationOperator])
		}
	}
	slices.Sort(claims)
	return slices.Compact(claims)
}

func TestASecondInstallAsksWhereThePeerServiceWasDeleted(t *testing.T) {
	w := newWorld(t, demo(3))
	w.renew()
	w.settle()
	w.losePeers()
	w.actAs(second)
	writes := len(w.writes)
	w.passFor(time.Minute, w.renew)
	if len(w.writes) != writes {
		t.Fatalf("beside the other install, and unasked, it wrote %v", w.writes[writes:])
	}
	w.passFor(3*time.Minute, idle)
	stalled := meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != "OtherOperator" {
		t.Fatalf("nothing is said: %+v", w.status().Conditions)
	}
	for _, part := range []string{"The peer Service with the bootstrap record is gone", "By its data, the operator " + first,
		"kubectl annotate etcd demo -n shop etcdsteward.dev/operator=" + second + " --overwrite"} {
		if !strings.Contains(stalled.Message, part) {
			t.Errorf("%q does not say %q", stalled.Message, part)
		}
	}
	w.askFor(second)
	w.loseData("demo-1")
	w.passFor(30*time.Second, idle)
	if w.claim() != second || len(w.pods()) != 2 {
		t.Errorf("it acts at once, or has no claim: %d Pods, %s", len(w.pods()), w.claim())
	}
	w.settle()
	if claims := w.claimsOfData(); len(w.pods()) != 3 || !slices.Equal(claims, []string{second}) {
		t.Errorf("%d Pods, and the data names %v", len(w.pods()), claims)
	}
}

func TestTheInstallThatTheDataNamesWritesADeletedPeerServiceAtOnce(t *testing.T) {
	for name, store := range map[string]func(*v1alpha1.EtcdCluster){
		"volumes": func(*v1alpha1.EtcdCluster) {},
		"memory": func(c *v1alpha1.EtcdCluster) {
			c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := demo(3)
			store(cluster)
			w := newWorld(t, cluster)
			w.settle()
			if claims := w.claimsOfData(); !slices.Equal(claims, []string{first}) {
				t.Fatalf("the data names %v", claims)
			}
			w.losePeers()
			w.actAs(second)
			w.mustPass(3)
			w.actAs(first)
			w.mustPass(2)
			if next := w.status().NextStep; w.claim() != first || next != nil && next.Reason == "TakeOver" {
				t.Errorf("claimed by %s, and it says %+v", w.claim(), next)
			}
		})
	}
}
