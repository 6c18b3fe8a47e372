package observe_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// newTLSWorld holds the CAs and every certificate of a cluster whose members are not there yet.
func newTLSWorld(t *testing.T) *world {
	w := newWorld(t)
	w.cluster.Spec.TLS = nil
	w.put(resources.BuildPeerService(w.cluster, bootstrapRecord("demo-0"), "ops/etcd-steward"))
	w.put(resources.BuildClientService(w.cluster))
	for _, name := range []string{"demo-ca", "demo-ca-peer"} {
		pair, err := pki.NewCA(name, w.now, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.put(resources.BuildCA(w.cluster, name, map[string][]byte{
			resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key, resources.KeyCA: pair.Cert,
		}))
	}
	for _, name := range []string{"demo-client-tls", "demo-operator-tls"} {
		w.put(resources.BuildLeafSecret(w.cluster, name, w.issue(resources.Certificates(w.cluster, name))))
	}
	w.put(resources.BuildMemberSecret(w.cluster, "demo-0", w.issue(resources.MemberCertificates(w.cluster, "demo-0", ""))))
	return w
}

func (w *world) secret(name string) *corev1.Secret {
	return w.objects["*v1.Secret "+name].(*corev1.Secret)
}

func (w *world) issue(certificates []resources.Certificate) map[string][]byte {
	w.t.Helper()
	data := map[string][]byte{}
	for _, c := range certificates {
		secret := w.secret(c.CA)
		ca, err := pki.ParseCA(pki.Pair{Cert: secret.Data[resources.KeyCert],
			Key: secret.Data[resources.KeyKey]})
		if err != nil {
			w.t.Fatal(err)
		}
		pair, err := ca.Issue(c.Leaf, w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		data[c.CertKey], data[c.KeyKey], data[c.CAKey] = pair.Cert, pair.Key, ca.CertPEM()
	}
	return data
}

func (w *world) object(kind, name string) facts.Object {
	w.t.Helper()
	for _, o := range w.look().Objects {
		if o.Kind == kind && o.Name == name {
			return o
		}
	}
	w.t.Fatalf("no %s %s was judged", kind, name)
	return facts.Object{}
}

func TestObjectsThatAreAsTheyShouldBeAreCurrent(t *testing.T) {
	w := newTLSWorld(t)
	view := w.look()
	if len(view.Objects) != 6 {
		t.Errorf("%d objects: %+v", len(view.Objects), view.Objects)
	}
	for _, o := range view.Objects {
		isCA := o.Name == "demo-ca" || o.Name == "demo-ca-peer"
		if o.State != facts.ObjectCurrent || o.Detail != "" || o.CA != isCA ||
			(o.Kind == "Secret") == o.NotAfter.IsZero() {
			t.Errorf("%+v", o)
		}
	}
	if s := view.Current.Members[0].Secret; s.State != facts.ObjectCurrent || s.Name != "demo-0-tls" ||
		!s.NotAfter.Equal(w.now.Add(pki.DefaultLeafValidity)) {
		t.Errorf("the member's: %+v", s)
	}
}

func TestObject(t *testing.T) {
	another := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop", UID: "x",
		Controller: new(true)}}
	earlier := []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EtcdCluster", Name: "demo",
		UID: "gone", Controller: new(true)}}
	for _, row := range []struct {
		name, kind, object string
		given              func(*world)
		state              facts.ObjectState
		detail             string
	}{
		{"a Service that is not there is absent", "Service", "demo",
			func(w *world) { w.remove(resources.BuildClientService(w.cluster)) }, facts.ObjectAbsent, ""},
		{"a Service that selects other Pods has drifted", "Service", "demo", func(w *world) {
			w.objects["*v1.Service demo"].(*corev1.Service).Spec.Selector = map[string]string{"app": "x"}
		}, facts.ObjectDrifted, "it selects other Pods"},
		{"a Service of somebody else is foreign", "Service", "demo", func(w *world) {
			w.objects["*v1.Service demo"].SetOwnerReferences(another)
		}, facts.ObjectForeign, "it belongs to Deployment shop"},
		{"a Service without an owner is foreign", "Service", "demo-peers", func(w *world) {
			w.objects["*v1.Service demo-peers"].SetOwnerReferences(nil)
		}, facts.ObjectForeign, "it has no owner"},
		{"a Service of an earlier cluster goes with it", "Service", "demo-peers", func(w *world) {
			w.objects["*v1.Service demo-peers"].SetOwnerReferences(earlier)
		}, facts.ObjectTerminating, "it goes with an earlier cluster of this name"},
		{"a NetworkPolicy that the spec asks for and is not there is absent", "NetworkPolicy", "demo-members",
			func(w *world) { w.cluster.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{} }, facts.ObjectAbsent, ""},
		{"a NetworkPolicy that lets others in has drifted", "NetworkPolicy", "demo-members", func(w *world) {
			w.putNetworkPolicy().Spec.Ingress[0].From = nil
		}, facts.ObjectDrifted, "it lets others in than the spec asks for"},
		{"a NetworkPolicy that lets another operator in has drifted", "NetworkPolicy", "demo-members", func(w *world) {
			w.putNetworkPolicy().Spec = resources.BuildNetworkPolicy(w.cluster, "elsewhere/etcd-steward").Spec
		}, facts.ObjectDrifted, "it lets others in than the spec asks for"},
		{"a NetworkPolicy that the spec asks for no more has drifted", "NetworkPolicy", "demo-members", func(w *world) {
			w.putNetworkPolicy()
			w.cluster.Spec.NetworkPolicy = nil
		}, facts.ObjectDrifted, "the spec asks for none any more"},
		{"a NetworkPolicy that others made is foreign", "NetworkPolicy", "demo-members", func(w *world) {
			w.putNetworkPolicy().OwnerReferences = another
		}, facts.ObjectForeign, "it belongs to Deployment shop"},
		{"an authority that is not there is absent", "Secret", "demo-ca",
			func(w *world) { w.remove(w.secret("demo-ca")) }, facts.ObjectAbsent, ""},
		{"an authority of an earlier cluster is not ours", "Secret", "demo-ca", func(w *world) {
			w.secret("demo-ca").Labels[v1alpha1.LabelClusterUID] = "gone"
		}, facts.ObjectForeign, "an earlier cluster of this name left it"},
		{"an authority that an earlier cluster owns goes with it", "Secret", "demo-ca", func(w *world) {
			w.secret("demo-ca").Labels[v1alpha1.LabelClusterUID] = "gone"
			w.secret("demo-ca").OwnerReferences = earlier
		}, facts.ObjectTerminating, "it goes with an earlier cluster of this name"},
		{"a Secret of an authority's name that somebody made is foreign", "Secret", "demo-ca", func(w *world) {
			w.secret("demo-ca").Labels = nil
		}, facts.ObjectForeign, "the operator did not make it"},
		{"a certificate of another authority is due", "Secret", "demo-client-tls", func(w *world) {
			w.secret("demo-client-tls").Data[resources.KeyCert] = w.secret("demo-ca-peer").Data[resources.KeyCert]
		}, facts.ObjectDrifted, "tls.crt: not signed by this CA"},
		{"a certificate in the last third of its life is due", "Secret", "demo-operator-tls", func(w *world) {
			w.now = w.now.Add(pki.DefaultLeafValidity - 100*24*time.Hour)
		}, facts.ObjectDrifted, "tls.crt: in the last third of its lifetime"},
		{"a Secret without its key has drifted", "Secret", "demo-client-tls", func(w *world) {
			delete(w.secret("demo-client-tls").Data, resources.KeyKey)
		}, facts.ObjectDrifted, "a key is missing"},
		{"a Secret that trusts another authority has drifted", "Secret", "demo-client-tls", func(w *world) {
			w.secret("demo-client-tls").Data[resources.KeyCA] = w.secret("demo-ca-peer").Data[resources.KeyCert]
		}, facts.ObjectDrifted, "ca.crt is not the certificate of the CA"},
		{"a certificate is not judged while its authority is gone", "Secret", "demo-client-tls", func(w *world) {
			w.remove(w.secret("demo-ca"))
		}, facts.ObjectCurrent, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTLSWorld(t)
			row.given(w)
			if o := w.object(row.kind, row.object); o.State != row.state || o.Detail != row.detail {
				t.Errorf("%+v", o)
			}
		})
	}
}

// putNetworkPolicy has the spec ask for a NetworkPolicy, and makes it as it is asked for.
func (w *world) putNetworkPolicy() *networkingv1.NetworkPolicy {
	w.cluster.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Metrics: []networkingv1.NetworkPolicyPeer{
		{PodSelector: &metav1.LabelSelector{}}}}
	policy := resources.BuildNetworkPolicy(w.cluster, "ops/etcd-steward")
	w.put(policy)
	return policy
}

func TestANetworkPolicyIsLookedAtOnlyWhereTheSpecAsksForOneOrDid(t *testing.T) {
	w := newTLSWorld(t)
	w.putNetworkPolicy()
	if o := w.object("NetworkPolicy", "demo-members"); o.State != facts.ObjectCurrent {
		t.Errorf("as it was made: %+v", o)
	}
	w.objects["*v1.NetworkPolicy demo-members"].SetOwnerReferences(nil)
	w.cluster.Spec.NetworkPolicy = nil
	for _, o := range w.look().Objects {
		if o.Kind == "NetworkPolicy" {
			t.Errorf("one that others made and the spec does not ask for: %+v", o)
		}
	}
}

func TestAMembersCertificateIsDueWhenItLacksAName(t *testing.T) {
	w := newTLSWorld(t)
	w.secret("demo-0-tls").Data = w.issue(resources.MemberCertificates(w.cluster, "demo-1", ""))
	if s := w.replica("demo-0").Secret; s.State != facts.ObjectDrifted ||
		s.Detail != "tls.crt: has another subject than wanted" {
		t.Errorf("%+v", s)
	}
}

func TestAMembersCertificatesAreToldFromThoseThatTakeTheirPlace(t *testing.T) {
	w := newTLSWorld(t)
	w.secret("demo-0-tls").UID = "of today"
	if s := w.replica("demo-0").Secret; s.UID != "of today" {
		t.Errorf("the UID is %q", s.UID)
	}
}

func TestASecretThatCannotBeReadEndsTheLook(t *testing.T) {
	w := newTLSWorld(t)
	w.readErr = errors.New("the API server is away")
	if _, err := w.tryLook(""); !errors.Is(err, w.readErr) {
		t.Errorf("the error is %v", err)
	}
}

func TestWithoutTLSNoSecretIsRead(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.readErr = errors.New("read")
	for _, o := range w.look().Objects {
		if o.Kind == "Secret" {
			t.Errorf("%+v", o)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, row := range []struct {
		name  string
		given func(*policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget
		state facts.ObjectState
		bound int
	}{
		{"as it should be", func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget { return b },
			facts.ObjectCurrent, 2},
		{"with a percentage counts as none", func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
			b.Spec.MinAvailable = new(intstr.FromString("50%"))
			return b
		}, facts.ObjectDrifted, 0},
		{"of somebody else has no bound of ours", func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
			b.OwnerReferences = nil
			return b
		}, facts.ObjectForeign, 0},
		{"that is not there", func(*policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget { return nil },
			facts.ObjectAbsent, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			budget := w.objects["*v1.PodDisruptionBudget demo"].(*policyv1.PodDisruptionBudget)
			if row.given(budget) == nil {
				w.remove(budget)
			}
			if b := w.look().Budget; b.State != row.state || b.MinAvailable != row.bound {
				t.Errorf("%+v", b)
			}
		})
	}
}

func TestWhatAnEarlierClusterLeftIsNamed(t *testing.T) {
	w := newTLSWorld(t)
	volume := w.volume("demo-0")
	volume.Labels[v1alpha1.LabelClusterUID] = "gone"
	volume.Annotations[v1alpha1.AnnotationRecord] = record.Member{
		ClusterID: 1, MemberID: 2, Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16},
	}.Encode()
	w.put(volume)
	w.secret("demo-ca").Labels[v1alpha1.LabelClusterUID] = "gone"
	view := w.look()
	if len(view.Retained) != 2 {
		t.Fatalf("retained: %+v", view.Retained)
	}
	left, ca := view.Retained[0], view.Retained[1]
	if left.String() != "PersistentVolumeClaim demo-0" || left.Owner != "gone" || left.UID != string(volume.UID) ||
		!left.TLS ||
		left.Incarnation != volume.Labels[v1alpha1.LabelIncarnation] || left.Record.IsZero() {
		t.Errorf("%+v", left)
	}
	if left.TooNew != "" {
		t.Errorf("%+v", left)
	}
	if ca.String() != "Secret demo-ca" || ca.Owner != "gone" {
		t.Errorf("%+v", ca)
	}
	if view.Current.Members[0].Volume != nil {
		t.Error("the earlier cluster's volume was joined")
	}
}

func TestARetainedRecordThatOnlyANewerReleaseMayReadIsNamedAndADamagedOneSaysNothing(t *testing.T) {
	for text, isNewer := range map[string]bool{`{"leastReader":2}`: true, "{not JSON": false} {
		w := newTLSWorld(t)
		volume := w.volume("demo-0")
		volume.Labels[v1alpha1.LabelClusterUID] = "gone"
		volume.Annotations[v1alpha1.AnnotationRecord] = text
		w.put(volume)
		left := w.look().Retained
		if len(left) != 1 || (left[0].TooNew != "") != isNewer || !left[0].Record.IsZero() {
			t.Errorf("%s: %+v", text, left)
		}
	}
}

func TestAVolumeThatTheGarbageCollectorTakesIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	volume := w.volume("demo-0")
	volume.Labels[v1alpha1.LabelClusterUID] = "gone"
	volume.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EtcdCluster",
		Name: "demo", UID: "gone"}}
	w.put(volume)
	if o := w.object("PersistentVolumeClaim", "demo-0"); o.State != facts.ObjectTerminating {
		t.Errorf("%+v", o)
	}
	if left := w.look().Retained; len(left) > 0 {
		t.Errorf("retained: %+v", left)
	}
}
