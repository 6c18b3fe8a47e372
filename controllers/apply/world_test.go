package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/policy"
)

// world is an API server in memory that counts calls, makes one of them fail, and holds writes to what a real one would
// and the fake would not: a UID in a patch, preconditions of a delete.
type world struct {
	inner   ctrlclient.WithWatch
	client  ctrlclient.WithWatch
	cluster *v1alpha1.EtcdCluster

	mu     sync.Mutex
	calls  []string // "create Pod demo-0"
	writes int
	broken []string // what a write did wrong
	failAt int      // this call from now on fails; 0 is none
	after  bool     // it takes effect, and its answer is lost
	uids   int

	noImage bool // nothing says which image the operator runs from

	// where backups are; nil knows of none
	source func(context.Context, *v1alpha1.EtcdCluster, string) (Source, error)
	// whether this process holds the Lease; nil is not asked
	leads func(context.Context) (time.Time, error)
	// what a rehearsal is answered; nil admits all
	admission      func(*corev1.Pod) error
	claimAdmission func(*corev1.PersistentVolumeClaim) error
	eviction       func(context.Context) error // the same of an eviction
	resizing       error                       // what a resize is answered; nil: it is taken
}

var errLost = errors.New("connection lost")

// testScheme has what is written and no more: the fake goes through all of a scheme at each call.
var testScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), policyv1.AddToScheme(scheme), networkingv1.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme), resources.AddCertManager(scheme)); err != nil {
		panic(err)
	}
	return scheme
})

func newWorld(t *testing.T, c *v1alpha1.EtcdCluster) *world {
	t.Helper()
	w := &world{cluster: c, inner: fake.NewClientBuilder().WithScheme(testScheme()).Build()}
	w.client = interceptor.NewClient(policy.Observed(t, w.inner), interceptor.Funcs{
		Get: w.get, List: w.list, Create: w.create, Patch: w.patch, Apply: w.apply, Delete: w.delete, Update: w.update,
		SubResourceCreate: w.evict, SubResourcePatch: w.resize,
	})
	t.Cleanup(func() {
		for _, wrong := range w.broken {
			t.Error(wrong)
		}
	})
	return w
}

func (w *world) applier() *Applier {
	return &Applier{Client: w.client, Live: w.client, Now: func() time.Time { return now }, Operator: operator,
		Source: w.source, Platform: Platform{AskImage: w.agentImage}, Leads: w.leads}
}

// agentImage is what restores run from.
func (w *world) agentImage(context.Context) (string, error) {
	if w.noImage {
		return "", nil
	}
	return "steward:1", nil
}

// do carries a change out on what is seen, with no second look.
func (w *world) do(t *testing.T, v Seen, change changes.Change) error {
	t.Helper()
	return step{Applier: w.applier(), cluster: w.cluster, view: w.trusting(t, v)}.carryOut(t.Context(), change)
}

// trusting is what is seen, and the CAs as they are there, unless the test says which were seen.
func (w *world) trusting(t *testing.T, v Seen) Seen {
	t.Helper()
	if len(v.Objects) > 0 {
		return v
	}
	for _, name := range []string{"demo-ca", "demo-ca-peer"} {
		secret := &corev1.Secret{}
		if err := w.inner.Get(t.Context(), keyOf(name), secret); ctrlclient.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		ca := pki.Fingerprint(secret.Data[resources.KeyCert])
		v.Objects = append(v.Objects, facts.Object{Kind: resources.KindSecret, Name: name,
			State: facts.ObjectCurrent, CA: true, Holds: ca, Trusted: ca})
	}
	return v
}

func (w *world) mustDo(t *testing.T, v Seen, change changes.Change) {
	t.Helper()
	if err := w.do(t, v, change); err != nil {
		t.Fatalf("%s: %v", changes.KindOf(change), err)
	}
}

// put makes an object there without counting it.
func (w *world) put(t *testing.T, object ctrlclient.Object) {
	t.Helper()
	w.identify(object)
	if err := w.inner.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (w *world) identify(object ctrlclient.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if object.GetUID() == "" {
		w.uids++
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
	}
}

// failing arms one failure: of the n-th call from now on.
func (w *world) failing(n int, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failAt, w.after, w.calls = n, after, nil
}

// call counts, and does or does not do.
func (w *world) call(isWrite bool, what string, do func() error) error {
	w.mu.Lock()
	w.calls = append(w.calls, what)
	fails := w.failAt > 0 && len(w.calls) == w.failAt
	after := w.after
	if isWrite {
		w.writes++
	}
	w.mu.Unlock()
	if fails && !after {
		return errLost
	}
	err := do()
	if fails {
		return errLost
	}
	return err
}

func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (w *world) get(ctx context.Context, c ctrlclient.WithWatch, key ctrlclient.ObjectKey, object ctrlclient.Object,
	opts ...ctrlclient.GetOption) error {
	return w.call(false, fmt.Sprintf("get %T %s", object, key.Name),
		func() error { return c.Get(ctx, key, object, opts...) })
}

func (w *world) list(ctx context.Context, c ctrlclient.WithWatch, list ctrlclient.ObjectList,
	opts ...ctrlclient.ListOption) error {
	return w.call(false, fmt.Sprintf("list %T", list), func() error { return c.List(ctx, list, opts...) })
}

func (w *world) create(ctx context.Context, c ctrlclient.WithWatch, object ctrlclient.Object,
	opts ...ctrlclient.CreateOption) error {
	if object.GetNamespace() != w.cluster.Namespace {
		w.wrong("creating %s in another namespace", object.GetName())
	}
	if len((&ctrlclient.CreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
		if claim, isClaim := object.(*corev1.PersistentVolumeClaim); isClaim {
			return w.rehearseClaim(claim)
		}
		return w.rehearse(ctx, object.(*corev1.Pod))
	}
	w.identify(object)
	return w.call(true, fmt.Sprintf("create %T %s", object, object.GetName()),
		func() error { return c.Create(ctx, object, opts...) })
}

func (w *world) update(_ context.Context, _ ctrlclient.WithWatch, object ctrlclient.Object,
	_ ...ctrlclient.UpdateOption) error {
	w.wrong("a whole %T was updated", object)
	return nil
}

// patch refuses another UID as invalid, which is what the API server does and the fake does not.
func (w *world) patch(ctx context.Context, c ctrlclient.WithWatch, object ctrlclient.Object, p ctrlclient.Patch,
	opts ...ctrlclient.PatchOption) error {
	body, err := p.Data(object)
	if err != nil {
		return err
	}
	var patched struct {
		Metadata struct{ UID, ResourceVersion string }
	}
	if err := json.Unmarshal(body, &patched); err != nil || p.Type() != types.MergePatchType {
		w.wrong("%T %s is patched by %s, not by a merge patch", object, object.GetName(), p.Type())
	}
	if patched.Metadata.UID == "" && patched.Metadata.ResourceVersion == "" {
		w.wrong("%T %s is patched whatever object it is: %s", object, object.GetName(), body)
	}
	return w.call(true, fmt.Sprintf("patch %T %s", object, object.GetName()), func() error {
		there := object.DeepCopyObject().(ctrlclient.Object)
		if err := c.Get(ctx, ctrlclient.ObjectKeyFromObject(object), there); err != nil {
			return err
		}
		if patched.Metadata.UID != "" && types.UID(patched.Metadata.UID) != there.GetUID() {
			return apierrors.NewInvalid(schema.GroupKind{}, object.GetName(), nil)
		}
		return c.Patch(ctx, object, p, opts...)
	})
}

func (w *world) apply(ctx context.Context, c ctrlclient.WithWatch, config runtime.ApplyConfiguration,
	opts ...ctrlclient.ApplyOption) error {
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	var applied struct {
		Kind     string
		Metadata struct{ Name, UID string }
	}
	options := (&ctrlclient.ApplyOptions{}).ApplyOptions(opts)
	if err := json.Unmarshal(text, &applied); err != nil || applied.Metadata.UID == "" || options.Force == nil ||
		options.FieldManager == "" {
		w.wrong("applied blindly: %s", text)
	}
	return w.call(true, fmt.Sprintf("apply %s %s", applied.Kind, applied.Metadata.Name),
		func() error { return c.Apply(ctx, config, opts...) })
}

func (w *world) delete(ctx context.Context, c ctrlclient.WithWatch, object ctrlclient.Object,
	opts ...ctrlclient.DeleteOption) error {
	options := (&ctrlclient.DeleteOptions{}).ApplyOptions(opts)
	p := options.Preconditions
	if p == nil || p.UID == nil || p.ResourceVersion == nil || *p.UID != object.GetUID() {
		w.wrong("%T %s is deleted whatever object it is", object, object.GetName())
	}
	if options.GracePeriodSeconds != nil {
		w.wrong("%T %s is deleted with a grace period of its own", object, object.GetName())
	}
	return w.call(true, fmt.Sprintf("delete %T %s", object, object.GetName()),
		func() error { return c.Delete(ctx, object, opts...) })
}
