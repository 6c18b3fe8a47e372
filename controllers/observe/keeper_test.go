package observe_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

const own = "ops/etcd-steward"

// say has an object name an install; with "" none.
func (w *world) say(object, install string) {
	w.t.Helper()
	annotations := w.objects[object].GetAnnotations()
	delete(annotations, v1alpha1.AnnotationOperator)
	if install != "" {
		annotations[v1alpha1.AnnotationOperator] = install
	}
}

func (w *world) removePeers() { w.remove(w.objects["*v1.Service demo-peers"]) }

func TestTheKeeperOfAClusterIsReadFromItsServiceThenFromAPersonAndThenFromItsData(t *testing.T) {
	const volume0, volume1 = "*v1.PersistentVolumeClaim demo-0", "*v1.PersistentVolumeClaim demo-1"
	for name, row := range map[string]struct {
		given  func(*world)
		data   string
		keeper string
	}{
		"as it was made": {func(*world) {}, own, own},
		"by its Service, although the data says otherwise": {func(w *world) { w.say("*v1.Service demo-peers", "new/etcd-steward") },
			own, "new/etcd-steward"},
		"by its data, without a Service": {func(w *world) { w.say(volume0, "new/etcd-steward"); w.removePeers() },
			"new/etcd-steward", "new/etcd-steward"},
		"by its data, where the Service names none": {func(w *world) {
			w.say(volume0, "new/etcd-steward")
			w.say("*v1.Service demo-peers", "")
		}, "new/etcd-steward", "new/etcd-steward"},
		"by its data, where the Service is of an earlier cluster": {func(w *world) {
			w.say(volume0, "new/etcd-steward")
			w.objects["*v1.Service demo-peers"].GetOwnerReferences()[0].UID = "gone"
		}, "new/etcd-steward", "new/etcd-steward"},
		"by the first volume of two that differ": {func(w *world) { w.say(volume1, "new/etcd-steward"); w.removePeers() },
			own, own},
		"by the first volume that names one": {func(w *world) {
			w.say(volume0, "")
			w.say(volume1, "new/etcd-steward")
			w.removePeers()
		}, "new/etcd-steward", "new/etcd-steward"},
		"by a person, before the data": {func(w *world) {
			w.cluster.Annotations = map[string]string{v1alpha1.AnnotationOperator: "asked/etcd-steward"}
			w.removePeers()
		}, own, "asked/etcd-steward"},
		"by a volume that was put aside": {func(w *world) {
			for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
				volume := w.objects["*v1.PersistentVolumeClaim "+name]
				volume.GetLabels()[v1alpha1.LabelKept] = "Dead"
				volume.GetAnnotations()[v1alpha1.AnnotationOperator] = "new/etcd-steward"
			}
			w.removePeers()
		}, "new/etcd-steward", "new/etcd-steward"},
		"not by a Pod whose data is on a volume": {func(w *world) {
			for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
				w.say("*v1.PersistentVolumeClaim "+name, "")
				w.say("*v1.Pod "+name, "new/etcd-steward")
			}
			w.removePeers()
		}, "", own},
		"by a Pod with the data in it": {func(w *world) {
			w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
			for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
				w.remove(w.objects["*v1.PersistentVolumeClaim "+name])
				pod := w.objects["*v1.Pod "+name].(*corev1.Pod)
				for i := range pod.Spec.Volumes {
					if pod.Spec.Volumes[i].PersistentVolumeClaim != nil {
						pod.Spec.Volumes[i].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
					}
				}
				w.say("*v1.Pod "+name, "new/etcd-steward")
			}
			w.removePeers()
		}, "new/etcd-steward", "new/etcd-steward"},
		"not by the data of an earlier cluster": {func(w *world) {
			for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
				w.say("*v1.PersistentVolumeClaim "+name, "new/etcd-steward")
				w.objects["*v1.PersistentVolumeClaim "+name].GetLabels()[v1alpha1.LabelClusterUID] = "earlier"
			}
			w.removePeers()
		}, "", own},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			row.given(w)
			if seen := w.look(); seen.DataClaim != row.data || seen.Keeper() != row.keeper {
				t.Errorf("a look says %q by the data, and %q", seen.DataClaim, seen.Keeper())
			}
			keeper, err := observe.KeeperOf(t.Context(), w.observer().Live, w.cluster, own)
			if err != nil || keeper != row.keeper {
				t.Errorf("it is asked for, and says %q, %v", keeper, err)
			}
		})
	}
}

// A look shows objects as they will be once their annotations are put right, and the claim as it is.
func TestDataThatNamesAnotherInstallIsPutRightOnceTheClusterIsTakenOver(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	w.say("*v1.PersistentVolumeClaim demo-1", "old/etcd-steward")
	d := next(w)
	if !drifts(w.look(), "demo-1") || d.Rule != "scaffold" {
		t.Errorf("%s: %+v", d.Rule, d.Change)
	}
}

func drifts(seen view, name string) bool {
	for _, o := range seen.Objects {
		if o.Kind == "PersistentVolumeClaim" && o.Name == name {
			return true
		}
	}
	return false
}

// A record that cannot be read ends a look early, and whose the cluster is must be known all the same.
func TestTheDataSaysWhoseAClusterIsThatCannotBeRead(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.say("*v1.PersistentVolumeClaim demo-0", "new/etcd-steward")
	w.objects["*v1.PersistentVolumeClaim demo-1"].GetAnnotations()[v1alpha1.AnnotationRecord] = `{"clusterID":"x"}`
	w.removePeers()
	seen, _, err := w.observer().Observe(t.Context(), w.cluster, "")
	if err == nil || seen.Keeper() != "new/etcd-steward" {
		t.Errorf("%q, %v", seen.Keeper(), err)
	}
}

// listless reads all but lists.
type listless struct{ client.Reader }

func (listless) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not to be read")
}

func TestDataThatCannotBeReadNamesNoKeeper(t *testing.T) {
	w := newBootstrappedWorld(t)
	reader := listless{w.observer().Live}
	if keeper, err := observe.KeeperOf(t.Context(), reader, w.cluster, "new/etcd-steward"); err != nil || keeper != own {
		t.Errorf("the Service says it, and the data is asked: %q, %v", keeper, err)
	}
	w.removePeers()
	reader = listless{w.observer().Live}
	if keeper, err := observe.KeeperOf(t.Context(), reader, w.cluster, own); err == nil {
		t.Errorf("it says %q", keeper)
	}
}
