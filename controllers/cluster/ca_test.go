package cluster

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// loseCAs deletes the Secrets of the cluster's CAs, and returns copies.
func (w *world) loseCAs() (copies []*corev1.Secret) {
	w.t.Helper()
	for _, name := range w.secrets() {
		if resources.IsCA(w.cluster(), name) {
			secret := w.secretOf(name)
			copies = append(copies, secret)
			w.delete(&corev1.Secret{}, name)
		}
	}
	w.operator.Secrets.ForgetCluster(w.key)
	return copies
}

func (w *world) secretOf(name string) *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: name}, secret); err != nil {
		w.t.Fatal(err)
	}
	return secret
}

func (w *world) some(passes int) {
	w.t.Helper()
	for range passes {
		if _, err := w.pass(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestTheWaysOutOfALostCA are those that the pages name: the members serve on, their backups can be taken, a new
// cluster begins with one, and a copy of the Secrets ends it.
func TestTheWaysOutOfALostCA(t *testing.T) {
	w := served(t, 3)
	copies := w.loseCAs()
	if len(copies) != 2 {
		t.Fatalf("%d authorities", len(copies))
	}
	operator, before := w.secretOf(resources.OperatorSecret("demo")), w.clusterIDs()
	w.delete(&corev1.Pod{}, "demo-1")
	w.kubelet()
	w.some(30)
	status := w.status()
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != facts.ReasonCALost || status.ReadyMembers != 3 ||
		w.available() != metav1.ConditionTrue {
		t.Fatalf("%+v, %d members are ready", stalled, status.ReadyMembers)
	}
	// which the Jobs of backups mount
	if now := w.secretOf(operator.Name); now.ResourceVersion != operator.ResourceVersion {
		t.Errorf("the certificate that backups use was changed: %v", now.ObjectMeta)
	}

	fresh := demo(3)
	fresh.Name, fresh.UID = "fresh", "uid-fresh"
	fresh.Spec.Bootstrap = &v1alpha1.BootstrapSpec{
		Restore: &v1alpha1.RestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "nightly"}}}
	w.create(fresh)
	w.key.Name = "fresh"
	w.settle()
	if got := w.status(); got.RestoredFrom == nil || got.RestoredFrom.Key != savedKey || got.ReadyMembers != 3 {
		t.Errorf("the new cluster is %+v", got)
	}
	if ids := w.clusterIDs(); len(ids) != 2 || !slices.Contains(ids, before[0]) {
		t.Errorf("the members are of %v, and were of %v", ids, before)
	}

	w.key.Name = "demo"
	for _, secret := range copies {
		secret.ResourceVersion, secret.UID = "", types.UID("again-"+secret.Name)
		w.create(secret)
	}
	w.settle()
	w.resize(5)
	w.settle()
	if got := w.status(); got.ReadyMembers != 5 {
		t.Errorf("with the authorities back %d members are ready", got.ReadyMembers)
	}
}

// TestAnotherCAChangesNothingUntilTheOneThatMembersTrustIsBack exchanges what the Secrets of the CAs hold: one of
// them, the other, and both.
func TestAnotherCAChangesNothingUntilTheOneThatMembersTrustIsBack(t *testing.T) {
	for _, names := range [][]string{{"demo-ca"}, {"demo-ca-peer"}, {"demo-ca", "demo-ca-peer"}} {
		t.Run(strings.Join(names, " and "), func(t *testing.T) {
			w := served(t, 3)
			before, was := w.issued(), map[string]map[string][]byte{}
			for _, name := range names {
				was[name] = w.secretOf(name).Data
				pair, err := pki.NewCA("another", w.now, 0)
				if err != nil {
					t.Fatal(err)
				}
				w.exchange(name, map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key,
					resources.KeyCA: pair.Cert})
			}
			w.operator.Secrets.ForgetCluster(w.key)
			w.some(3)
			w.resize(5)
			w.some(30)
			status := w.status()
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			if stalled == nil || stalled.Reason != "CAReplaced" || status.ReadyMembers != 3 ||
				w.available() != metav1.ConditionTrue {
				t.Errorf("%+v, %d members are ready", stalled, status.ReadyMembers)
			}
			if after := w.issued(); !maps.Equal(after, before) {
				t.Errorf("certificates were issued or changed: %v, and were %v", after, before)
			}
			for name, data := range was {
				w.exchange(name, data)
			}
			w.some(1) // nothing waits for what is remembered of Secrets
			if next := w.status().NextStep; next != nil && next.Reason == "CAReplaced" {
				t.Errorf("the CA that members trust is back, and the next step is %+v", next)
			}
			w.settle()
			if got := w.status(); got.ReadyMembers != 5 {
				t.Errorf("with the CA back %d members are ready", got.ReadyMembers)
			}
		})
	}
}

// issued are the Secrets with certificates, each with its resource version.
func (w *world) issued() map[string]string {
	w.t.Helper()
	versions := map[string]string{}
	for _, name := range w.secrets() {
		if !resources.IsCA(w.cluster(), name) {
			versions[name] = w.secretOf(name).ResourceVersion
		}
	}
	return versions
}

// exchange puts something else into a Secret.
func (w *world) exchange(name string, data map[string][]byte) {
	w.t.Helper()
	secret := w.secretOf(name)
	secret.Data = data
	if err := w.kube.Update(w.t.Context(), secret); err != nil {
		w.t.Fatal(err)
	}
}
