package apply

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// strangers are objects of somebody else under our names, and the changes that meet them.
func strangers(c *v1alpha1.EtcdCluster) map[ctrlclient.Object]changes.Change {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "prod", Name: name,
			Labels: map[string]string{v1alpha1.LabelInstance: "demo", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}}
	}
	start := changes.Start{Name: "demo-0", Flags: facts.FlagsSealed, Settings: settings(c)}
	volume := changes.NewVolume{Name: "demo-0", Bytes: 1, Settings: settings(c)}
	applied := func(kind, name string) changes.Change {
		return changes.ApplyObjects{Objects: []facts.Object{{Kind: kind, Name: name}}}
	}
	return map[ctrlclient.Object]changes.Change{
		&corev1.Service{ObjectMeta: meta("demo-peers")}:       begin(),
		&corev1.Service{ObjectMeta: meta("demo")}:             applied("Service", "demo"),
		&corev1.Secret{ObjectMeta: meta("demo-ca")}:           applied("Secret", "demo-ca"),
		&corev1.Secret{ObjectMeta: meta("demo-operator-tls")}: applied("Secret", "demo-operator-tls"),
		&corev1.Secret{ObjectMeta: meta("demo-0-tls")}:        changes.DeleteSecret{Name: "demo-0"},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("demo-0")}: changes.Bootstrap{
			Volumes: []changes.NewVolume{volume}},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta("demo")}:       changes.SetBudget{MinAvailable: 2},
		&networkingv1.NetworkPolicy{ObjectMeta: meta("demo-members")}: networkPolicyApplied,
		&corev1.Pod{ObjectMeta: meta("demo-0")}:                       changes.Bootstrap{Pods: []changes.Start{start}},
	}
}

func TestAnObjectOfAnotherOwnerIsNeverTouched(t *testing.T) {
	for object, change := range strangers(demo()) {
		w := newWorld(t, demo())
		w.put(t, object)
		err := w.do(t, begun(), change)
		var taken NameTaken
		if !errors.As(err, &taken) || taken.Name != object.GetName() || taken.Kind == "" {
			t.Errorf("%s over a foreign %T %s: %v", changes.KindOf(change), object, object.GetName(), err)
		}
		there := read(t, w, object.GetName(), object.DeepCopyObject().(ctrlclient.Object))
		if there.GetResourceVersion() != object.GetResourceVersion() {
			t.Errorf("a foreign %T %s was changed", object, object.GetName())
		}
	}
}

func TestWhoAnObjectBelongsToIsSaid(t *testing.T) {
	w := newWorld(t, demo())
	w.put(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo",
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop", UID: "x", Controller: new(true)},
		}}})
	err := w.do(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo"}}})
	if got := (NameTaken{Kind: "Service", Name: "demo", Owner: "Deployment shop"}); !errors.Is(err, got) {
		t.Errorf("%v, want %v", err, got)
	}
}

func TestWhatAnEarlierClusterOfThisNameLeftIsWaitedFor(t *testing.T) {
	w := newWorld(t, demo())
	earlier := demo()
	earlier.UID = "uid-of-an-earlier-one"
	w.put(t, resources.BuildClientService(earlier))
	if err := w.do(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo"}}}); !isLater(
		err, LaterTerminating) {
		t.Errorf("a Service that the garbage collector removes: %v", err)
	}
	w.put(t, resources.BuildVolume(earlier, resources.Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1}))
	err := w.do(t, bootstrapped(), changes.Bootstrap{Volumes: []changes.NewVolume{{Name: "demo-0", Bytes: 1,
		Settings: settings(w.cluster)}}})
	if !errors.As(err, new(NameTaken)) {
		t.Errorf("a volume that nobody removes: %v", err)
	}
}

func TestAnObjectOnItsWayOutIsWaitedFor(t *testing.T) {
	w := newWorld(t, demo())
	volume := resources.BuildVolume(w.cluster, resources.Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1})
	volume.Finalizers = []string{"kubernetes.io/pvc-protection"}
	w.put(t, volume)
	if err := w.inner.Delete(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	change := changes.Bootstrap{Volumes: []changes.NewVolume{{Name: "demo-0", Bytes: 1, Settings: settings(w.cluster)}}}
	if err := w.do(t, bootstrapped(), change); !isLater(err, LaterTerminating) {
		t.Errorf("a volume that is being deleted was taken: %v", err)
	}
}

func TestAVolumeOfAnotherIncarnationIsNotTheOneToBeMade(t *testing.T) {
	w := newWorld(t, demo())
	w.put(t, resources.BuildVolume(w.cluster, resources.Volume{Name: "demo-0", Incarnation: "earlier", Bytes: 1}))
	if err := w.do(t, bootstrapped(), bootstrap(w.cluster)); !errors.Is(err, ErrStale) {
		t.Errorf("a birth over a volume of another incarnation: %v", err)
	}
	w.isGone(t, &corev1.Pod{}, "demo-0")
	w.isGone(t, &corev1.Pod{}, "demo-1")
}

func TestOnlyTheVolumeThatWasSeenIsReleased(t *testing.T) {
	w := newWorld(t, demo())
	owned := demo()
	owned.Spec.Storage = &v1alpha1.StorageSpec{DeletionPolicy: v1alpha1.DeletionDelete}
	w.put(t, resources.BuildVolume(owned, resources.Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1}))
	seen := facts.DataRef{Kind: resources.KindVolume, Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)}
	gone, another := seen, seen
	gone.Name, another.UID = "demo-9", "another"
	w.mustDo(t, bootstrapped(), changes.FollowPolicy{Retain: true, Items: []facts.DataRef{gone, another}})
	if refs := w.volume(t, "demo-0").OwnerReferences; len(refs) != 1 || w.writes != 0 {
		t.Errorf("another volume is owned by %v after %d writes", refs, w.writes)
	}
	w.mustDo(t, bootstrapped(), changes.FollowPolicy{Retain: true, Items: []facts.DataRef{seen}})
	if refs := w.volume(t, "demo-0").OwnerReferences; len(refs) != 0 || w.writes != 1 {
		t.Errorf("the volume is owned by %v after %d writes", refs, w.writes)
	}
}
