package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcdfake "github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
	"github.com/etcdsteward/etcd-steward/test/policy"
	"github.com/etcdsteward/etcd-steward/test/remembering"
)

var errCrash = errors.New("the operator was killed")

// world is an API server without a network, a kubelet that starts fake etcd processes, and an operator that can be killed
// after any of its writes.
type world struct {
	t         *testing.T
	now       time.Time
	date      time.Duration // how far ahead of that the API server's answers are
	kube      client.WithWatch
	network   *etcdfake.Network
	processes map[types.UID]*etcdfake.Process // by the Pod's UID
	key       types.NamespacedName
	domain    string                  // of this Kubernetes; empty: not known
	images    resources.ImageDefaults // that the operator is started with
	missing   string                  // the beginning of names of images that cannot be pulled; empty: all can be
	node      string                  // where Pods run; empty: nothing says where

	operator  *Reconciler
	registry  *prometheus.Registry
	events    *events.FakeRecorder
	passes    int
	onApply   func() error // answers instead of the API server when it returns an error; nil: never
	onApplied func()       // what else the API server does when something is applied; nil: nothing
	hardship  func(*world) // comes over the operator before each pass; nil: none

	mu      sync.Mutex // of what follows: one change may write in parallel
	uids    int
	writes  []string           // verb, kind and name
	crashAt int                // the number of the write after which the operator dies; 0: never
	onWrite func(string) error // answers instead of the API server when it returns an error
}

func init() { ctrl.SetLogger(logr.Discard()) }

func newWorld(t *testing.T, cluster *v1alpha1.EtcdCluster) *world {
	w := &world{
		t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), processes: map[types.UID]*etcdfake.Process{},
		key: client.ObjectKeyFromObject(cluster),
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{coordinationv1.AddToScheme,
		corev1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, v1alpha1.AddToScheme,
		resources.AddCertManager} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w.network = etcdfake.New(func() time.Time { return w.now })
	w.kube = remembering.Client(kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).
		WithStatusSubresource(cluster, &v1alpha1.EtcdRestore{}, &corev1.Pod{}).Build())
	w.restart()
	return w
}

func demo(size int32) *v1alpha1.EtcdCluster {
	return &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo", UID: "uid-demo", Generation: 1},
		Spec:       v1alpha1.EtcdClusterSpec{Size: size, Version: "3.6.16"},
	}
}

func image(context.Context) (string, error) { return "steward:1", nil }

// restart begins a new operator, which remembers nothing.
func (w *world) restart() {
	w.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(w.registry)
	if err != nil {
		w.t.Fatal(err)
	}
	now, own := func() time.Time { return w.now.Add(w.date) }, func() time.Time { return w.now }
	w.events = events.NewFakeRecorder(1000)
	w.operator = newReconciler(kit.Frame{
		Client: w.writing(), Live: w.kube, Recorder: w.events, Operator: "ops/etcd-steward", Now: now, Own: own, Unseen: kit.NewUnseenWrites(own),
		Platform: apply.Platform{Platform: resources.Platform{Domain: w.domain, Images: w.images}, AskImage: image},
	}, w.network.Dialer())
	w.operator.Metrics = metrics
}

// writing is the API server as the operator writes to it: it gives UIDs, and takes nothing more from one that was killed.
func (w *world) writing() client.Client {
	return interceptor.NewClient(policy.Observed(w.t, w.kube), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.write("create", o, func() error {
				w.uids++
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
				o.SetCreationTimestamp(metav1.NewTime(w.now))
				return c.Create(ctx, o, opts...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			options := (&client.DeleteOptions{}).ApplyOptions(opts)
			if p := options.Preconditions; p != nil && p.UID != nil && w.isAnother(o, *p.UID) {
				return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("the UID is another"))
			}
			return w.write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if uid := uidIn(o, p); uid != "" && w.isAnother(o, uid) {
				return apierrors.NewInvalid(schema.GroupKind{}, o.GetName(), nil)
			}
			return w.write("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if w.onApply != nil {
				if err := w.onApply(); err != nil {
					return err
				}
			}
			err := c.Apply(ctx, o, opts...)
			if w.onApplied != nil {
				w.onApplied()
			}
			return err
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object, opts ...client.SubResourceCreateOption) error {
			return w.write("evict", o, func() error { return c.SubResource(sub).Create(ctx, o, body, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.write("patch "+sub, o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

// uidIn is the UID that a patch names; the API server refuses it for an object of another one, which the fake does not.
func uidIn(object client.Object, patch client.Patch) types.UID {
	body, err := patch.Data(object)
	if err != nil {
		return ""
	}
	var named struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &named); err != nil {
		return ""
	}
	return named.Metadata.UID
}

// isAnother reports whether the object of that name is there and has another UID.
func (w *world) isAnother(like client.Object, uid types.UID) bool {
	live := like.DeepCopyObject().(client.Object)
	return w.kube.Get(w.t.Context(), client.ObjectKeyFromObject(like), live) == nil && live.GetUID() != uid
}

func (w *world) write(verb string, object client.Object, do func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.crashAt > 0 && len(w.writes) >= w.crashAt {
		return errCrash
	}
	what := fmt.Sprintf("%s %T %s", verb, object, object.GetName())
	if w.onWrite != nil {
		if err := w.onWrite(what); err != nil {
			return err
		}
	}
	w.writes = append(w.writes, what)
	if err := do(); err != nil {
		return err
	}
	if len(w.writes) == w.crashAt {
		return errCrash
	}
	return nil
}

// pass lets the operator look once, and then the rest of the world go on.
func (w *world) pass() (ctrl.Result, error) {
	if w.hardship != nil {
		w.hardship(w)
	}
	result, err := w.operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	w.passes++
	w.now = w.now.Add(max(result.RequeueAfter, 50*time.Millisecond))
	w.bind()
	w.kubelet()
	return result, err
}

// settle makes passes until the cluster says that nothing is left to do.
func (w *world) settle() {
	w.t.Helper()
	for range 200 {
		_, err := w.pass()
		switch {
		case errors.Is(err, errCrash):
			w.crashAt = 0
			w.restart()
		case err != nil:
			w.t.Fatalf("pass %d: %v", w.passes, err)
		}
		if next := w.status().NextStep; next != nil && next.Verdict == string(plan.Settled) && w.isSettled() {
			return
		}
	}
	w.t.Fatalf("not settled after %d passes: %+v", w.passes, w.status().NextStep)
}

// freeze gives the operator a cache that shows the world of now, and goes on showing it.
func (w *world) freeze() {
	w.t.Helper()
	builder := kubefake.NewClientBuilder().WithScheme(w.kube.Scheme())
	for _, list := range []client.ObjectList{
		&v1alpha1.EtcdClusterList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{},
		&policyv1.PodDisruptionBudgetList{},
	} {
		if err := w.kube.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
		builder.WithLists(list)
	}
	w.operator.Observer.Reader = remembering.Client(builder.Build())
}

// isSettled looks for itself: a status may be from before the operator was killed.
func (w *world) isSettled() bool {
	w.t.Helper()
	seen, _, err := w.operator.LiveObserver.Observe(w.t.Context(), w.cluster(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	return plan.Decide(seen).Verdict == plan.Settled
}

func (w *world) cluster() *v1alpha1.EtcdCluster {
	w.t.Helper()
	cluster := &v1alpha1.EtcdCluster{}
	if err := w.kube.Get(w.t.Context(), w.key, cluster); err != nil {
		w.t.Fatal(err)
	}
	return cluster
}

func (w *world) status() v1alpha1.EtcdClusterStatus {
	w.t.Helper()
	return w.cluster().Status
}

func (w *world) pods() []corev1.Pod {
	w.t.Helper()
	var pods corev1.PodList
	if err := w.kube.List(w.t.Context(), &pods); err != nil {
		w.t.Fatal(err)
	}
	return pods.Items
}

func (w *world) claims() []corev1.PersistentVolumeClaim {
	w.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	if err := w.kube.List(w.t.Context(), &claims); err != nil {
		w.t.Fatal(err)
	}
	return claims.Items
}

func (w *world) delete(object client.Object, name string) {
	w.t.Helper()
	object.SetNamespace(w.key.Namespace)
	object.SetName(name)
	if err := w.kube.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// loseData takes a member's Pod, claim and directory away.
func (w *world) loseData(name string) {
	w.t.Helper()
	w.delete(&corev1.Pod{}, name)
	w.delete(&corev1.PersistentVolumeClaim{}, name)
	w.network.WipeDir("volume of " + name)
}

func (w *world) resize(size int32) {
	w.t.Helper()
	cluster := w.cluster()
	cluster.Spec.Size = size
	cluster.Generation++
	if err := w.kube.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

// bind gives every claim its volume.
func (w *world) bind() {
	w.t.Helper()
	for _, claim := range w.claims() {
		if claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		claim.Status.Phase = corev1.ClaimBound
		if err := w.kube.Status().Update(w.t.Context(), &claim); err != nil {
			w.t.Fatal(err)
		}
	}
}

// kubelet starts what is to run and stops what is not, and says so in the Pods' status.
func (w *world) kubelet() {
	w.t.Helper()
	gone := map[types.UID]bool{}
	for uid := range w.processes {
		gone[uid] = true
	}
	for _, pod := range w.pods() {
		delete(gone, pod.UID)
		if resources.IsTask(&v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: w.key.Name}}, pod.Name) {
			w.runTask(&pod)
			continue
		}
		if w.node != "" && pod.Spec.NodeName == "" {
			pod.Spec.NodeName = w.node
			if err := w.kube.Update(w.t.Context(), &pod); err != nil {
				w.t.Fatal(err)
			}
		}
		if w.processes[pod.UID] == nil && (!w.pulls(&pod) || !w.mounts(&pod)) {
			continue
		}
		if w.processes[pod.UID] == nil {
			w.processes[pod.UID] = w.network.Start("volume of "+pod.Name, w.flags(&pod))
		}
		w.report(&pod, w.processes[pod.UID])
	}
	for uid := range gone {
		w.processes[uid].Stop()
		delete(w.processes, uid)
	}
}

// pulls reports whether the image of etcd can be had. Without it the Pod waits, and says so.
func (w *world) pulls(pod *corev1.Pod) bool {
	w.t.Helper()
	if w.missing == "" || !strings.HasPrefix(pod.Spec.Containers[0].Image, w.missing) {
		return true
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: resources.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: "401 Unauthorized"}}}}}
	if err := w.kube.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	return false
}

// mounts reports whether the Secret that the Pod mounts is there. Without it the Pod has its node and waits.
func (w *world) mounts(pod *corev1.Pod) bool {
	w.t.Helper()
	if !hasSecret(pod) {
		return true
	}
	secret := client.ObjectKey{Namespace: pod.Namespace, Name: resources.MemberSecret(pod.Name)}
	if err := w.kube.Get(w.t.Context(), secret, &corev1.Secret{}); err == nil {
		return true
	}
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = "node-1"
		if err := w.kube.Update(w.t.Context(), pod); err != nil {
			w.t.Fatal(err)
		}
	}
	return false
}

func (w *world) report(pod *corev1.Pod, process *etcdfake.Process) {
	w.t.Helper()
	container := corev1.ContainerStatus{Name: resources.Container, ContainerID: "test://" + string(pod.UID)}
	ready := corev1.ConditionTrue
	if exit := process.Exited(); exit != nil {
		container.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(exit.Code), Message: exit.Message}
		ready = corev1.ConditionFalse
	} else {
		container.State.Running = &corev1.ContainerStateRunning{}
	}
	if c := pod.Status.Conditions; len(c) > 0 && c[0].Status == ready {
		return
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: addressOf(pod), ContainerStatuses: []corev1.ContainerStatus{container},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(w.now)}},
	}
	if err := w.kube.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

// hasSecret tells a Pod of a cluster with TLS.
func hasSecret(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
}

func addressOf(pod *corev1.Pod) string { return "ip-of-" + string(pod.UID) }

// flags are what the Pod starts etcd with, read from its arguments and annotations as the kubelet would.
func (w *world) flags(pod *corev1.Pod) etcdfake.Flags {
	w.t.Helper()
	args := map[string]string{}
	for _, arg := range append(pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args...) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "="); ok {
			args[name] = value
		}
	}
	version, err := etcdutil.ParseVersion("3.6.16")
	if err != nil {
		w.t.Fatal(err)
	}
	return etcdfake.Flags{
		Name: args["name"], PeerURL: args["initial-advertise-peer-urls"], ClientURL: args["advertise-client-urls"],
		InitialCluster:      pod.Annotations[v1alpha1.AnnotationInitialCluster],
		InitialClusterState: pod.Annotations[v1alpha1.AnnotationInitialState],
		InitialClusterToken: args["initial-cluster-token"],
		Address:             addressOf(pod) + ":2379", Version: version, TLS: hasSecret(pod),
		ServerName: etcdutil.PeerHost(pod.Name, w.key.Name, w.key.Namespace),
	}
}
