package observe_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// reachBy has the Pod and the volume of a member be made for a transport, and etcd list it so.
func (w *world) reachBy(name string, transport etcdutil.Transport) {
	w.t.Helper()
	in := resources.Inputs(w.cluster)
	in.TLS = transport
	old := w.objects["*v1.Pod "+name].(*corev1.Pod)
	pod, err := resources.BuildPod(w.cluster, resources.PodStart{Name: name, Incarnation: incarnation, Token: "token",
		Flags: resources.StartSealed, Inputs: in, Operator: "ops/etcd-steward"})
	if err != nil {
		w.t.Fatal(err)
	}
	pod.Status, pod.Spec.NodeName = old.Status, old.Spec.NodeName
	pod.Annotations[v1alpha1.AnnotationCompared] = old.Annotations[v1alpha1.AnnotationCompared]
	w.put(pod)
	volume := w.objects["*v1.PersistentVolumeClaim "+name].(*corev1.PersistentVolumeClaim)
	volume.Annotations[v1alpha1.AnnotationInputs] = in.Canonical()
}

func (w *world) asksForTLS(mode v1alpha1.TLSMode) { w.cluster.Spec.TLS = &v1alpha1.TLSSpec{Mode: mode} }

func (w *world) hasSecret(name string) bool {
	return slices.ContainsFunc(w.look().Objects, func(o facts.Object) bool { return o.Kind == "Secret" && o.Name == name })
}

func TestHowMembersAreReachedIsReadFromTheirFlagsAndTheNextStepFollows(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.asksForTLS(v1alpha1.TLSPermissive)
	seen := w.look()
	if d := seen.Desired; d.Settings.Transport != etcdutil.TransportPrepared || d.Transport != etcdutil.TransportPermissive || !d.TLS {
		t.Fatalf("certificates are to come first: %q of %q, TLS %v", d.Settings.Transport, d.Transport, d.TLS)
	}
	if in, err := resources.DecodeInputs(seen.Desired.Settings.Inputs); err != nil || in.TLS != etcdutil.TransportPrepared {
		t.Errorf("a Pod would be made from %s", seen.Desired.Settings.Inputs)
	}
	if !w.hasSecret("demo-ca") || !w.hasSecret("demo-client-tls") {
		t.Error("nobody would make the Secrets")
	}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		w.reachBy(name, etcdutil.TransportPrepared)
	}
	w.objects["*v1.Pod demo-1"].GetAnnotations()[v1alpha1.AnnotationInputs] = "changed by a person"
	seen = w.look()
	for _, r := range seen.Current.Members {
		if r.Pod.Transport != etcdutil.TransportPrepared {
			t.Errorf("%s is reached %q", r.Name, r.Pod.Transport)
		}
	}
	if d := seen.Desired; d.Settings.Transport != etcdutil.TransportPermissive {
		t.Errorf("all have certificates, and the next step is to %q", d.Settings.Transport)
	}
}

func TestWhatIsLeftOfTLSIsSeenUntilTheOperatorsCertificateIsGone(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.reachBy("demo-1", etcdutil.TransportPrepared)
	if seen := w.look(); !seen.Desired.TLS || !w.hasSecret("demo-client-tls") || seen.Desired.Settings.Transport != etcdutil.TransportPlain {
		t.Errorf("a member has certificates yet: TLS %v, next %q", seen.Desired.TLS, seen.Desired.Settings.Transport)
	}
	w.reachBy("demo-1", etcdutil.TransportPlain)
	if w.hasSecret("demo-client-tls") {
		t.Error("nothing is left, and Secrets are looked for")
	}
	w.put(resources.BuildLeafSecret(w.cluster, resources.OperatorSecret("demo"), nil))
	if seen := w.look(); seen.Desired.TLS || !w.hasSecret("demo-client-tls") {
		t.Errorf("the operator's certificate is left: TLS %v", seen.Desired.TLS)
	}
}

func TestEtcdClientsAreLookedForWhereCertificatesAreToGo(t *testing.T) {
	w := newBootstrappedWorld(t)
	client := &v1alpha1.EtcdClient{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}}
	client.Spec.ClusterRef.Name = "demo"
	other := client.DeepCopy()
	other.Name, other.Spec.ClusterRef.Name = "others", "other"
	w.put(client)
	w.put(other)
	if names := w.look().AccessClients; names != nil {
		t.Errorf("there are no certificates, and yet %v", names)
	}
	w.reachBy("demo-1", etcdutil.TransportPrepared)
	if names := w.look().AccessClients; !slices.Equal(names, []string{"orders"}) {
		t.Errorf("EtcdClients %v", names)
	}
}
