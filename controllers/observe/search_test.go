package observe_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// liveReader notes what is read past the cache.
type liveReader struct {
	client.Reader
	world *world
}

func (r liveReader) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	opts ...client.GetOption) error {
	r.world.noteLive(fmt.Sprintf("%T %s", object, key.Name))
	if r.world.denied && key.Namespace == "" {
		return apierrors.NewForbidden(schema.GroupResource{}, key.Name, nil)
	}
	if _, isNode := object.(*corev1.Node); isNode && r.world.nodeErr != nil {
		return r.world.nodeErr
	}
	return r.Reader.Get(ctx, key, object, opts...)
}

// cachedReader does not hold what has lost the label by which the cache selects.
type cachedReader struct{ client.Reader }

func (r cachedReader) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	opts ...client.GetOption) error {
	if err := r.Reader.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	if object.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue {
		return errAbsent(key.Name)
	}
	return nil
}

func (w *world) strip(object string, keys ...string) {
	labels := w.objects[object].GetLabels()
	for _, key := range keys {
		delete(labels, key)
	}
}

var selected = []string{v1alpha1.LabelManagedBy, v1alpha1.LabelInstance}

// next is what the planner makes of a look.
func next(w *world) plan.Decision { return plan.Decide(w.look().Observation) }

func TestASettledLookReadsNothingPastTheCache(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	w.look()
	if len(w.live) != 0 {
		t.Errorf("%q", w.live)
	}
}

// bear writes the cluster's identity and the bootstrap's volumes into the bootstrap record.
func (w *world) bear() {
	bootstrap := bootstrapRecord("demo-0", "demo-1", "demo-2")
	bootstrap.ClusterID, bootstrap.Begun, bootstrap.NextOrdinal, bootstrap.Volumes = w.processes["demo-0"].ClusterID(), true, 3,
		map[string]string{}
	for _, name := range bootstrap.Names {
		bootstrap.Volumes[name] = string(w.objects["*v1.PersistentVolumeClaim "+name].GetUID())
	}
	w.put(resources.BuildPeerService(w.cluster, bootstrap, "ops/etcd-steward"))
}

func TestStrippedLabelsLeadToThemBeingPutBackAndNothingElse(t *testing.T) {
	all := append(slices.Clone(selected), v1alpha1.LabelClusterUID, v1alpha1.LabelMember, v1alpha1.LabelIncarnation)
	for _, row := range []struct {
		object string
		keys   []string
		down   bool // the member does not answer either
	}{
		{"*v1.Pod demo-1", selected, false},
		{"*v1.Pod demo-1", all, false},
		{"*v1.Pod demo-1", all, true},
		{"*v1.PersistentVolumeClaim demo-1", selected, false},
		{"*v1.PersistentVolumeClaim demo-1", selected, true},
		{"*v1.PersistentVolumeClaim demo-1", all, true},
		{"*v1.PersistentVolumeClaim demo-1", []string{v1alpha1.LabelClusterUID}, true},
		{"*v1.PersistentVolumeClaim demo-1", []string{v1alpha1.LabelComponent}, false},
	} {
		t.Run(fmt.Sprintf("%s without %d labels, down %v", row.object, len(row.keys), row.down), func(t *testing.T) {
			w := newBootstrappedWorld(t)
			w.bear()
			w.strip(row.object, row.keys...)
			if row.down {
				w.stop("demo-1")
			}
			r := w.replica("demo-1")
			if r.Pod == nil || r.Volume == nil || r.Volume.Record.IsZero() || r.Volume.Incarnation != incarnation ||
				r.Pod.Incarnation != incarnation || (r.Answer == nil) != row.down {
				t.Errorf("%+v", r)
			}
			d := next(w)
			change, ok := d.Change.(changes.ApplyObjects)
			if !ok || d.Rule != "scaffold" || len(change.Objects) != 1 || change.Objects[0].Name != "demo-1" ||
				change.Objects[0].State != facts.ObjectDrifted {
				t.Errorf("%s: %+v", d.Rule, d.Change)
			}
		})
	}
}

func TestAPodAndAVolumeThatBothLostTheirLabelsAreFoundByTheMemberList(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	w.strip("*v1.Pod demo-2", selected...)
	w.strip("*v1.PersistentVolumeClaim demo-2", selected...)
	if r := w.replica("demo-2"); r.Pod == nil || r.Volume == nil || r.Answer == nil {
		t.Errorf("%+v", r)
	}
	if d := next(w); d.Rule != "scaffold" {
		t.Errorf("%s: %+v", d.Rule, d.Change)
	}
}

func TestAnEphemeralMemberWhosePodLostItsLabelsIsNotRemoved(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	w.bear()
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		volume := w.objects["*v1.PersistentVolumeClaim "+name].(*corev1.PersistentVolumeClaim)
		w.remove(volume)
		pod := w.pod(name, resources.StartSealed)
		pod.Annotations[v1alpha1.AnnotationRecord] = volume.Annotations[v1alpha1.AnnotationRecord]
		w.put(pod)
	}
	w.strip("*v1.Pod demo-1", selected...)
	if d := next(w); d.Rule != "scaffold" {
		t.Errorf("%s: %+v", d.Rule, d.Change)
	}
}

func TestAVolumeThatNothingProvesOursIsForeign(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	w.remove(w.objects["*v1.Pod demo-1"])
	volume := w.objects["*v1.PersistentVolumeClaim demo-1"].DeepCopyObject().(*corev1.PersistentVolumeClaim)
	volume.UID, volume.Labels = "made-by-somebody", nil
	w.put(volume)
	if r := w.replica("demo-1"); r.Volume != nil {
		t.Errorf("it was adopted: %+v", r.Volume)
	}
	if o := w.object(resources.KindVolume, "demo-1"); o.State != facts.ObjectForeign {
		t.Errorf("%+v", o)
	}
}

func TestAVolumeWithTheNameOfAFirstMemberIsFoundBeforeTheBootstrap(t *testing.T) {
	w := newWorld(t)
	w.put(resources.BuildPeerService(w.cluster, bootstrapRecord("demo-0", "demo-1", "demo-2"), "ops/etcd-steward"))
	w.put(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo-1"}})
	if d := next(w); d.Rule != "name-taken" || !d.NeedsHuman {
		t.Errorf("%+v", d)
	}
}

func TestAPeerServiceThatTheCacheDoesNotHoldIsStillTheBootstrapRecord(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	w.strip("*v1.Service demo-peers", selected...)
	if view := w.look(); !view.Current.Bootstrap.Exists() {
		t.Errorf("%+v", view.Current.Bootstrap)
	}
	if o := w.object(resources.KindService, "demo-peers"); o.State != facts.ObjectDrifted {
		t.Errorf("%+v", o)
	}
}

func TestWhatIsGoneIsStillGone(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	w.remove(w.objects["*v1.PersistentVolumeClaim demo-1"])
	w.remove(w.objects["*v1.Pod demo-1"])
	w.stop("demo-1")
	w.now = w.now.Add(time.Minute)
	if r := w.replica("demo-1"); r.Pod != nil || r.Volume != nil {
		t.Errorf("%+v", r)
	}
	if want := []string{"*v1.PersistentVolumeClaim demo-1",
		"*v1.Pod demo-1"}; !slices.Equal(slices.Sorted(slices.Values(w.live)), want) {
		t.Errorf("read live: %q", w.live)
	}
}
