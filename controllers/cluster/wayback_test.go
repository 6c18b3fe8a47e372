package cluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// What docs/restore.md says under "Back to the volumes that were kept", step by step.

func TestACreatedClusterGoesBackToTheVolumesThatARestoreMovedOnFrom(t *testing.T) {
	for name, size := range map[string]int32{"of one": 1, "of three": 3} {
		t.Run(name, func(t *testing.T) {
			w := served(t, size)
			before, volumes := w.bootstrapRecord(), w.uidsOf(&corev1.PersistentVolumeClaimList{})
			w.ask("back", backupNamed("nightly"))
			w.approve("back")
			w.until("the cluster is restored", func() bool { return w.isComplete("back") })
			w.settle()
			status := w.restoreOf("back").Status
			if got := w.status().DeletionPolicy; got != v1alpha1.DeletionRetain {
				t.Fatalf("the volumes would go: %s", got)
			}
			w.deleteCluster()
			w.swap(status.FromIncarnation, status.ToIncarnation)
			w.createAgain(size)
			w.settle()

			got := w.bootstrapRecord()
			if got.ClusterID != before.ClusterID || got.Incarnation != before.Incarnation ||
				!slices.Equal(got.Names, before.Names) || !got.Next.IsZero() {
				t.Errorf("the bootstrap record was %+v\nand is %+v", before, got)
			}
			if s := w.status(); s.Size != size || s.ReadyMembers != size ||
				s.Evidence.Quorum != string(plan.QuorumHolds) {
				t.Errorf("the cluster is %+v", s)
			}
			now := w.uidsOf(&corev1.PersistentVolumeClaimList{})
			for name, uid := range volumes {
				if now[name] != uid {
					t.Errorf("the volume %s is another one", name)
				}
			}
			if len(now) != 2*len(volumes) {
				t.Errorf("what was restored is not kept: %v", now)
			}
			w.resize(size + 2)
			w.settle()
			if s := w.status(); s.Size != size+2 {
				t.Errorf("it does not grow beside what was restored: %+v", s)
			}
		})
	}
}

func TestAnApprovalFromBeforeTheWayBackRestoresNothing(t *testing.T) {
	w := served(t, 1)
	w.ask("back", backupNamed("nightly"))
	w.approve("back")
	w.until("the cluster is restored", func() bool { return w.isComplete("back") })
	w.settle()
	status := w.restoreOf("back").Status
	w.deleteCluster()
	w.swap(status.FromIncarnation, status.ToIncarnation)
	w.createAgain(1)
	w.settle()
	for range 20 {
		w.passOn()
	}
	if got := w.bootstrapRecord(); !got.Next.IsZero() || len(got.Former) > 0 || got.Incarnation != status.FromIncarnation {
		t.Errorf("it was restored once more: %+v", got)
	}
}

func TestWithoutTheWayBackNothingIsTakenUpAndNothingIsLost(t *testing.T) {
	w := served(t, 1)
	w.ask("back", backupNamed("nightly"))
	w.approve("back")
	w.until("the cluster is restored", func() bool { return w.isComplete("back") })
	w.settle()
	status, volumes := w.restoreOf("back").Status, w.uidsOf(&corev1.PersistentVolumeClaimList{})
	w.deleteCluster()
	w.annotated(status.ToIncarnation, v1alpha1.AnnotationSuperseded, "by nobody")
	w.createAgain(1)
	w.until("it refuses", func() bool {
		n := w.status().NextStep
		return n != nil &&
			n.Reason == facts.ReasonRetainedData
	})
	if now := w.uidsOf(&corev1.PersistentVolumeClaimList{}); len(now) != len(volumes) {
		t.Errorf("%v of %v are left", now, volumes)
	}
}

// deleteCluster deletes the EtcdCluster, and then what is owned by it, as Kubernetes does.
func (w *world) deleteCluster() {
	w.t.Helper()
	uid := w.cluster().UID
	w.delete(&v1alpha1.EtcdCluster{}, w.key.Name)
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{},
		&policyv1.PodDisruptionBudgetList{},
	} {
		for _, object := range w.objectsOf(list) {
			isOwner := func(ref metav1.OwnerReference) bool { return ref.UID == uid }
			if slices.ContainsFunc(object.GetOwnerReferences(), isOwner) {
				w.delete(object, object.GetName())
			}
		}
	}
	w.kubelet()
}

// objectsOf are all objects of a kind.
func (w *world) objectsOf(list client.ObjectList) []client.Object {
	w.t.Helper()
	if err := w.kube.List(w.t.Context(), list); err != nil {
		w.t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		w.t.Fatal(err)
	}
	var objects []client.Object
	for _, item := range items {
		objects = append(objects, item.(client.Object))
	}
	return objects
}

// createAgain creates an EtcdCluster of the same name.
func (w *world) createAgain(size int32) {
	w.t.Helper()
	cluster := demo(size)
	cluster.UID = types.UID("uid-demo-again")
	w.create(cluster)
	w.restart()
}

// swap writes on the volumes of one incarnation what stood on those of another: which of them was given up for which.
func (w *world) swap(to, from string) {
	w.t.Helper()
	w.annotated(from, v1alpha1.AnnotationSuperseded, to)
	w.annotated(to, v1alpha1.AnnotationSuperseded, "")
	w.annotated(to, v1alpha1.AnnotationGoesBack, from)
}

// annotated says something of every volume of an incarnation, or takes it off.
func (w *world) annotated(incarnation, key, value string) {
	w.t.Helper()
	for _, claim := range w.claims() {
		if claim.Labels[v1alpha1.LabelIncarnation] != incarnation {
			continue
		}
		claim.Annotations[key] = value
		if value == "" {
			delete(claim.Annotations, key)
		}
		if err := w.kube.Update(w.t.Context(), &claim); err != nil {
			w.t.Fatal(err)
		}
	}
}
