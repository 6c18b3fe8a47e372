package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/policy"
)

var errCrash = errors.New("the operator was killed")

const address = "10.0.0.1:2379"

// world is an API server and an etcd without a network, with a cluster demo whose authentication is on.
type world struct {
	t       *testing.T
	now     time.Time
	kube    client.WithWatch
	network *fake.Network
	root    etcd.Client
	process *fake.Process
	ca      []byte // the certificate of the CA
	events  *events.FakeRecorder

	registry *prometheus.Registry
	operator *Reconciler
	writes   []string
	lists    []string // of which kinds it listed
	crashAt  int      // the number of the write after which the operator dies; 0: never
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func demo() *v1alpha1.EtcdCluster {
	return &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo", UID: "uid-demo", Generation: 1},
		Spec:       v1alpha1.EtcdClusterSpec{Size: 1, Version: "3.6.16", Auth: &v1alpha1.AuthSpec{Enabled: true}},
	}
}

// born is when the first client is created; the others follow by the second.
var born = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func aClient(name string, age int, edits ...func(*v1alpha1.EtcdClient)) *v1alpha1.EtcdClient {
	c := &v1alpha1.EtcdClient{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID("uid-" + name), Generation: 1,
			CreationTimestamp: metav1.NewTime(born.Add(-time.Duration(age) * time.Second))},
		Spec: v1alpha1.EtcdClientSpec{ClusterRef: v1alpha1.ClientClusterReference{Name: "demo"},
			Permissions: []v1alpha1.ClientPermission{{Prefix: name + "/", Access: v1alpha1.AccessReadWrite}}},
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, now: born}
	scheme := runtime.NewScheme()
	must(t, corev1.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))
	must(t, resources.AddCertManager(scheme))
	builder := kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithObjects(w.cluster()...).WithStatusSubresource(&v1alpha1.EtcdClient{}, &corev1.Pod{})
	for field, values := range indices {
		builder = builder.WithIndex(&v1alpha1.EtcdClient{}, field, values)
	}
	w.kube = builder.WithIndex(&v1alpha1.EtcdBackup{}, byCluster, backupsByCluster).Build()
	w.startEtcd()
	w.restart()
	return w
}

// cluster are the objects of a cluster that serves.
func (w *world) cluster() []client.Object {
	w.t.Helper()
	c := demo()
	bootstrap := record.Bootstrap{Incarnation: "1a2b3c4d", Token: "t", Names: []string{"demo-0"}, ClusterID: 0xcdf8, Begun: true}
	pod, err := resources.BuildPod(c, resources.PodStart{Name: "demo-0", Incarnation: bootstrap.Incarnation, Token: bootstrap.Token,
		Flags: resources.StartSealed, Inputs: resources.Inputs(c), Role: v1alpha1.RoleVoter})
	must(w.t, err)
	pod.UID, pod.Status.PodIP = "uid-pod", strings.TrimSuffix(address, ":2379")
	made, err := pki.NewCA("demo", w.now, 0)
	must(w.t, err)
	w.ca = made.Cert
	ca, err := pki.ParseCA(made)
	must(w.t, err)
	own, err := ca.Issue(resources.OperatorLeaf(), w.now)
	must(w.t, err)
	return []client.Object{c, resources.BuildPeerService(c, bootstrap, "ops/etcd-steward"), pod,
		resources.BuildCA(c, resources.CASecret("demo"), map[string][]byte{
			resources.KeyCert: made.Cert, resources.KeyKey: made.Key, resources.KeyCA: made.Cert}),
		resources.BuildLeafSecret(c, resources.OperatorSecret("demo"), map[string][]byte{
			resources.KeyCert: own.Cert, resources.KeyKey: own.Key, resources.KeyCA: made.Cert})}
}

func (w *world) startEtcd() {
	w.t.Helper()
	w.network = fake.New(func() time.Time { return w.now })
	url := etcdutil.PeerURL(etcdutil.SchemeHTTPS, "demo-0", "demo", "prod")
	w.process = w.network.Start("demo-0", fake.Flags{
		Name: "demo-0", PeerURL: url, ClientURL: "https://" + address, Address: address, TLS: true,
		InitialCluster:      etcdutil.InitialCluster([]etcdutil.NamedURL{{Name: "demo-0", URL: url}}),
		InitialClusterState: etcdutil.StateNew, InitialClusterToken: "t",
	})
	secret := &corev1.Secret{}
	must(w.t, w.kube.Get(w.t.Context(), types.NamespacedName{Namespace: "prod", Name: resources.OperatorSecret("demo")}, secret))
	config, err := pki.ClientTLS(secret.Data[resources.KeyCA], pki.Pair{Cert: secret.Data[resources.KeyCert], Key: secret.Data[resources.KeyKey]})
	must(w.t, err)
	w.root, err = w.network.Dialer().Dial(etcd.Endpoint{Address: address, TLS: config})
	must(w.t, err)
	ctx := w.t.Context()
	must(w.t, w.root.AddUser(ctx, etcd.RootUser))
	must(w.t, w.root.GrantRole(ctx, etcd.RootUser, etcd.RootRole))
	must(w.t, w.root.EnableAuthentication(ctx))
}

// restart begins a new operator, which remembers nothing.
func (w *world) restart() {
	now := func() time.Time { return w.now }
	w.events = events.NewFakeRecorder(1000)
	secrets := observe.NewSecretCache(w.kube, now)
	w.registry = prometheus.NewPedanticRegistry()
	metrics, err := NewMetrics(w.registry)
	must(w.t, err)
	w.operator = &Reconciler{
		Metrics: metrics,
		Frame: kit.Frame{Client: w.writing(), Live: w.kube, Recorder: w.events, Operator: "ops/etcd-steward", Now: now,
			Unseen: kit.NewUnseenWrites(now)},
		Secrets: secrets, Dialer: observe.NewPodDialer(w.network.Dialer(), secrets),
	}
}

func (w *world) wrote(verb string, o client.Object) error {
	w.writes = append(w.writes, fmt.Sprintf("%s %T %s", verb, o, o.GetName()))
	if w.crashAt == len(w.writes) {
		return errCrash
	}
	return nil
}

// writing is the API server as the operator writes to it. One that is killed does not hear the answer to its last
// write.
func (w *world) writing() client.Client {
	return interceptor.NewClient(policy.Observed(w.t, w.kube), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			w.lists = append(w.lists, fmt.Sprintf("%T", list))
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return errors.Join(c.Create(ctx, o, opts...), w.wrote("create", o))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, o, p, opts...); err != nil {
				return err
			}
			return w.wrote("patch", o)
		},
	})
}

// key is of an object in the namespace of the cluster, or where "team/shop" says it is.
func (w *world) key(name string) types.NamespacedName {
	if namespace, rest, isElsewhere := strings.Cut(name, "/"); isElsewhere {
		return types.NamespacedName{Namespace: namespace, Name: rest}
	}
	return types.NamespacedName{Namespace: "prod", Name: name}
}

// pass is one pass over a client; one that dies is followed by a new operator.
func (w *world) pass(name string) {
	w.t.Helper()
	result, err := w.operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key(name)})
	switch {
	case errors.Is(err, errCrash):
		w.crashAt = 0
		w.restart()
	case err != nil:
		w.t.Fatal(err)
	}
	w.now = w.now.Add(min(max(result.RequeueAfter, 10*time.Millisecond), 20*time.Second))
}

func (w *world) passes(n int, names ...string) {
	w.t.Helper()
	for range n {
		for _, name := range names {
			w.pass(name)
		}
	}
}

func (w *world) client(name string) *v1alpha1.EtcdClient {
	w.t.Helper()
	c := &v1alpha1.EtcdClient{}
	must(w.t, w.kube.Get(w.t.Context(), w.key(name), c))
	return c
}

// is fails unless the condition has the reason, and says the text.
func (w *world) is(name, reason, text string) {
	w.t.Helper()
	for _, c := range w.client(name).Status.Conditions {
		if c.Type == v1alpha1.ClientReady && c.Reason == reason && strings.Contains(c.Message, text) {
			return
		}
	}
	w.t.Errorf("%s is %+v, want %s: %s", name, w.client(name).Status, reason, text)
}

// secret is that of a client; nil: there is none.
func (w *world) secret(name string) *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{}
	err := w.kube.Get(w.t.Context(), w.key(name), secret)
	must(w.t, client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return secret
}

// has fails unless the user has exactly these roles; none: there is no such user.
func (w *world) has(user string, roles ...string) {
	w.t.Helper()
	got, err := w.root.Roles(w.t.Context(), user)
	switch {
	case errors.Is(err, etcd.ErrUserNotFound) && len(roles) == 0:
	case err != nil, strings.Join(got, " ") != strings.Join(roles, " "):
		w.t.Errorf("%s has the roles %v (%v), want %v", user, got, err, roles)
	}
}

// may fails unless the role has exactly these rights.
func (w *world) may(role string, want ...accessplan.Right) {
	w.t.Helper()
	got, err := w.root.Permissions(w.t.Context(), role)
	if err != nil || len(got) != len(want) {
		w.t.Errorf("%s may %+v (%v), want %+v", role, got, err, want)
		return
	}
	for i := range want {
		if accessplan.Right(got[i]) != want[i] {
			w.t.Errorf("%s may %+v, want %+v", role, got, want)
		}
	}
}

func (w *world) change(name string, edit func(*v1alpha1.EtcdClient)) {
	w.t.Helper()
	c := w.client(name)
	edit(c)
	c.Generation++
	must(w.t, w.kube.Update(w.t.Context(), c))
}

func fakePermission(key string) etcd.Permission {
	return etcd.Permission{Key: key, Read: true, Write: true}
}
