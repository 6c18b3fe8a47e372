package apply

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const (
	operator    = "etcd-steward-system/etcd-steward"
	incarnation = "1a2b3c4d"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// demo is the cluster that everything is done to.
func demo() *v1alpha1.EtcdCluster {
	return &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo", UID: "uid-of-demo"},
		Spec:       v1alpha1.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
}

func settings(c *v1alpha1.EtcdCluster) facts.Settings {
	return facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16},
		Inputs: resources.Inputs(c).Canonical(), Transport: resources.TransportAsked(c)}
}

func begin() changes.BeginBootstrap {
	return changes.BeginBootstrap{Incarnation: incarnation, Token: "token-" + incarnation,
		Names: []string{"demo-0", "demo-1", "demo-2"}}
}

// bootstrapped is what is seen once the bootstrap record is written.
func bootstrapped() Seen {
	b := begin()
	return Seen{Observation: facts.Observation{
		Now:       now,
		Cluster:   facts.Identity{Namespace: "prod", Name: "demo", UID: "uid-of-demo", Operator: operator},
		Current:   facts.Incarnation{Bootstrap: record.Bootstrap{Incarnation: b.Incarnation, Token: b.Token, Names: b.Names}},
		ClaimedBy: operator,
	}}
}

// unmade is what is seen once the bootstrap record is written, and nothing else of the cluster is there.
func unmade() Seen {
	v := bootstrapped()
	for _, name := range v.Current.Bootstrap.Names {
		v.Current.Members = append(v.Current.Members, facts.Replica{Name: name, Secret: facts.Object{
			Kind: resources.KindSecret, Name: resources.MemberSecret(name), State: facts.ObjectAbsent}})
	}
	return v
}

func initial(c *v1alpha1.EtcdCluster, members ...string) []etcdutil.NamedURL {
	var list []etcdutil.NamedURL
	for _, member := range members {
		list = append(list, etcdutil.NamedURL{Name: member, URL: resources.PeerURL(c, member)})
	}
	return list
}

// bootstrap is the whole of a bootstrap of three.
func bootstrap(c *v1alpha1.EtcdCluster) changes.Bootstrap {
	change := changes.Bootstrap{}
	for _, object := range resources.ClusterObjects(c) {
		change.Objects = append(change.Objects, facts.Object{Kind: object.Kind, Name: object.Name,
			State: facts.ObjectAbsent})
	}
	for _, name := range begin().Names {
		change.Secrets = append(change.Secrets, name)
		change.Volumes = append(change.Volumes, changes.NewVolume{Name: name, Bytes: 8 << 30, Settings: settings(c)})
		change.Pods = append(change.Pods, changes.Start{Name: name, Flags: facts.FlagsBootstrap,
			Initial: initial(c, begin().Names...), Settings: settings(c)})
	}
	return change
}

func recorded() record.Member {
	return record.Member{ClusterID: 0xc, MemberID: 0xa, Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}
}

func (w *world) pod(t *testing.T, name string) *corev1.Pod {
	return read(t, w, name, &corev1.Pod{})
}

func (w *world) volume(t *testing.T, name string) *corev1.PersistentVolumeClaim {
	return read(t, w, name, &corev1.PersistentVolumeClaim{})
}

// data is what outlives a whole cluster, as the planner sees it.
func (w *world) data(t *testing.T) []facts.DataRef {
	var refs []facts.DataRef
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		refs = append(refs, facts.DataRef{Kind: resources.KindVolume, Name: name, UID: string(w.volume(t, name).UID)})
	}
	for _, name := range []string{"demo-ca", "demo-ca-peer"} {
		refs = append(refs, facts.DataRef{Kind: resources.KindSecret, Name: name, UID: string(w.secret(t, name).UID)})
	}
	return refs
}

func (w *world) secret(t *testing.T, name string) *corev1.Secret {
	return read(t, w, name, &corev1.Secret{})
}

func (w *world) service(t *testing.T, name string) *corev1.Service {
	return read(t, w, name, &corev1.Service{})
}

func (w *world) budget(t *testing.T) *policyv1.PodDisruptionBudget {
	return read(t, w, "demo", &policyv1.PodDisruptionBudget{})
}

func read[T ctrlclient.Object](t *testing.T, w *world, name string, into T) T {
	t.Helper()
	if err := w.inner.Get(t.Context(), ctrlclient.ObjectKey{Namespace: "prod", Name: name}, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// begun is a bootstrap whose record says that Pods may be there.
func begun() Seen {
	v := bootstrapped()
	v.Current.Bootstrap.Begun = true
	return v
}
