package observe_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	etcdfake "github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

const incarnation = "a1b2c3d4"

// etcdConnects is longer than members must know each other before one is added.
const etcdConnects = 10 * time.Second

// world is a Kubernetes and some etcd processes, as a look finds them.
type world struct {
	t           *testing.T
	now         time.Time
	cluster     *v1alpha1.EtcdCluster
	objects     map[string]client.Object // by kind and name
	network     *etcdfake.Network
	processes   map[string]*etcdfake.Process
	dialErr     error
	distrust    int
	readErr     error
	optionalErr error // of a look for CertificateRequests
	liveMu      sync.Mutex
	live        []string // what was read past the cache in the last look
	denied      bool     // the operator may read nothing that lies in no namespace
	nodeErr     error    // reading a node fails
	pinger      *observe.Pinger
}

// newWorld holds a cluster "demo" of three members without TLS, of which nothing is there yet.
func newWorld(t *testing.T) *world {
	w := &world{
		t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		objects: map[string]client.Object{}, processes: map[string]*etcdfake.Process{},
	}
	w.network = etcdfake.New(func() time.Time { return w.now })
	w.cluster = &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo", UID: "uid-demo", Generation: 1},
		Spec: v1alpha1.EtcdClusterSpec{
			Size: 3, Version: "3.6.16", TLS: &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled},
		},
	}
	return w
}

// newBootstrappedWorld holds the three members too: recorded, sealed and serving.
func newBootstrappedWorld(t *testing.T) *world {
	w := newWorld(t)
	names := []string{"demo-0", "demo-1", "demo-2"}
	w.put(resources.BuildPeerService(w.cluster, bootstrapRecord(names...), "ops/etcd-steward"))
	w.put(resources.BuildClientService(w.cluster))
	w.put(resources.BuildBudget(w.cluster, 2))
	for _, name := range names {
		w.start(name, etcdutil.StateNew, names...)
	}
	for _, name := range names {
		process := w.processes[name]
		record := record.Member{
			ClusterID: process.ClusterID(), MemberID: process.ID(), Version: etcdutil.Version{Major: 3, Minor: 6,
				Patch: 16},
		}.Encode()
		volume := w.volume(name)
		volume.Annotations[v1alpha1.AnnotationRecord] = record
		w.put(volume)
		w.put(w.pod(name, resources.StartSealed))
	}
	return w
}

func bootstrapRecord(names ...string) record.Bootstrap {
	return record.Bootstrap{Incarnation: incarnation, Counter: 1, Token: "token", Names: names}
}

// put stores an object, with a UID of its own if it has none.
func (w *world) put(object client.Object) {
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-of-" + object.GetName()))
	}
	if created := object.GetCreationTimestamp(); created.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(w.now.Add(-time.Hour)))
	}
	w.objects[fmt.Sprintf("%T %s", object, object.GetName())] = object
}

func (w *world) remove(object client.Object) {
	delete(w.objects, fmt.Sprintf("%T %s", object, object.GetName()))
}

// volume is a bound volume of ours that is not recorded yet.
func (w *world) volume(name string) *corev1.PersistentVolumeClaim {
	volume := resources.BuildVolume(w.cluster, resources.Volume{
		Name: name, Incarnation: incarnation, Bytes: 8 << 30, Inputs: resources.Inputs(w.cluster).Canonical(),
		Operator: "ops/etcd-steward",
	})
	volume.Status.Phase = corev1.ClaimBound
	return volume
}

// pod is a running, ready Pod of ours.
func (w *world) pod(name string, flags resources.StartFlags) *corev1.Pod {
	w.t.Helper()
	pod, err := resources.BuildPod(w.cluster, resources.PodStart{
		Name: name, Incarnation: incarnation, Token: "token", Flags: flags, Inputs: resources.Inputs(w.cluster),
		Operator: "ops/etcd-steward",
		Initial: []etcdutil.NamedURL{
			{Name: "demo-0", URL: w.peerURL("demo-0")}, {Name: "demo-1", URL: w.peerURL("demo-1")},
			{Name: "demo-2", URL: w.peerURL("demo-2")},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	since := metav1.NewTime(w.now.Add(-time.Minute))
	pod.Spec.NodeName = "node-of-" + name
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "ip-of-" + name,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: since}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: resources.Container, ContainerID: "test://" + name,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}},
	}
	pod.Annotations[v1alpha1.AnnotationCompared] = "test://" + name
	return pod
}

func (w *world) peerURL(name string) string { return resources.PeerURL(w.cluster, name) }

// start runs an etcd behind the address of a Pod.
func (w *world) start(name, state string, names ...string) {
	initial := make([]etcdutil.NamedURL, 0, len(names))
	for _, n := range names {
		initial = append(initial, etcdutil.NamedURL{Name: n, URL: w.peerURL(n)})
	}
	w.processes[name] = w.network.Start(name, etcdfake.Flags{
		Name: name, PeerURL: w.peerURL(name), ClientURL: resources.ClientURL(w.cluster, name), Address: "ip-of-" +
			name + ":2379",
		InitialCluster: etcdutil.InitialCluster(initial), InitialClusterState: state, InitialClusterToken: "token",
	})
}

// stop ends the etcd of a member, whose Pod stays.
func (w *world) stop(name string) { w.processes[name].Stop() }

// view is one look: what was seen, and by which clients.
type view struct {
	facts.Observation
	Clients observe.Clients
}

func (w *world) look() view {
	w.t.Helper()
	view, err := w.tryLook("")
	if err != nil {
		w.t.Fatalf("looking: %v", err)
	}
	return view
}

func (w *world) tryLook(fault string) (view, error) {
	w.live = nil
	seen, clients, err := w.observer().Observe(w.t.Context(), w.cluster, fault)
	return view{seen, clients}, err
}

func (w *world) observer() *observe.Observer {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, lifecyclev1alpha1.AddToScheme, v1alpha1.AddToScheme, resources.AddCertManager} {
		if err := add(scheme); err != nil {
			w.t.Fatal(err)
		}
	}
	builder := kubefake.NewClientBuilder().WithScheme(scheme)
	for object := range maps.Values(w.objects) {
		builder.WithObjects(object.DeepCopyObject().(client.Object))
	}
	kube := builder.Build()
	return &observe.Observer{
		Reader: cachedReader{kube}, Backups: cachedReader{kube}, Live: liveReader{kube, w}, Secrets: secretReader{kube, w}, Dial: (*dialer)(w),
		Now: func() time.Time { return w.now }, Operator: "ops/etcd-steward",
		Pinger: w.pinger, Optional: optionalReader{kube, w.optionalErr},
	}
}

func (w *world) noteLive(what string) {
	w.liveMu.Lock()
	defer w.liveMu.Unlock()
	w.live = append(w.live, what)
}

func errAbsent(name string) error { return apierrors.NewNotFound(schema.GroupResource{}, name) }

// replica finds one replica of a look.
func (w *world) replica(name string) facts.Replica {
	w.t.Helper()
	view := w.look()
	for _, r := range view.Current.Members {
		if r.Name == name {
			return r
		}
	}
	w.t.Fatalf("no replica %s among %d", name, len(view.Current.Members))
	return facts.Replica{}
}

type secretReader struct {
	client.Client
	world *world
}

func (r secretReader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if r.world.readErr != nil {
		return nil, r.world.readErr
	}
	secret := &corev1.Secret{}
	if err := r.Client.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	return secret, nil
}

func (r secretReader) GetLeft(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	return r.Get(ctx, key)
}

// dialer reaches the fake processes by the addresses of Pods.
type dialer world

func (d *dialer) Dial(_ context.Context, _ *v1alpha1.EtcdCluster, pods []corev1.Pod) (map[string]etcd.Client, error) {
	clients := map[string]etcd.Client{}
	if d.dialErr != nil {
		return nil, d.dialErr
	}
	for _, pod := range pods {
		c, err := d.network.Dialer().Dial(etcd.Endpoint{Address: pod.Status.PodIP + ":2379"})
		if err != nil {
			return nil, err
		}
		clients[pod.Name] = c
	}
	return clients, nil
}

func (d *dialer) Distrust(*v1alpha1.EtcdCluster) { d.distrust++ }
