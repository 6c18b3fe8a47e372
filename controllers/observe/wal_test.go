package observe_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// newLoggedWorld holds three members whose logs lie on claims of their own; of demo-1 these are given.
func newLoggedWorld(t *testing.T) (w *world, data, log *corev1.PersistentVolumeClaim) {
	w = newBootstrappedWorld(t)
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{WAL: &v1alpha1.WALSpec{Size: resource.MustParse("2Gi")}}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		log = w.log(name)
		w.put(log)
		volume := resources.BuildVolume(w.cluster, resources.Volume{Name: name, WAL: string(log.UID)})
		data = w.objects["*v1.PersistentVolumeClaim "+name].(*corev1.PersistentVolumeClaim)
		data.Annotations[v1alpha1.AnnotationWAL] = volume.Annotations[v1alpha1.AnnotationWAL]
		if name == "demo-1" {
			defer func(d, l *corev1.PersistentVolumeClaim) { data, log = d, l }(data, log)
		}
	}
	return w, data, log
}

// log is the bound claim of a member's write-ahead log.
func (w *world) log(name string) *corev1.PersistentVolumeClaim {
	log := resources.BuildWAL(w.cluster, resources.Volume{Name: name, Incarnation: incarnation, Operator: "ops/etcd-steward"})
	log.Status.Phase, log.Spec.VolumeName = corev1.ClaimBound, "pv-of-log"
	return log
}

func TestTheTwoHalvesOfAVolumeAreOne(t *testing.T) {
	asked := facts.WAL{Bytes: 2 << 30}
	for name, row := range map[string]struct {
		edit func(w *world, data, log *corev1.PersistentVolumeClaim)
		want facts.Volume
	}{
		"both are there": {func(*world, *corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim) {},
			facts.Volume{Phase: facts.VolumeBound, WAL: asked}},
		"the log is gone": {func(w *world, _, log *corev1.PersistentVolumeClaim) { w.remove(log) },
			facts.Volume{Phase: facts.VolumeLost, WAL: asked, Torn: "the volume of its write-ahead log is gone"}},
		"another has its place": {func(_ *world, _, log *corev1.PersistentVolumeClaim) { log.UID = "another" },
			facts.Volume{Phase: facts.VolumeLost, WAL: asked,
				Torn: "another volume has the place of the one of its write-ahead log"}},
		"it is being deleted": {func(_ *world, _, log *corev1.PersistentVolumeClaim) {
			log.DeletionTimestamp, log.Finalizers = &metav1.Time{Time: log.CreationTimestamp.Time}, []string{"example.com/hold"}
		}, facts.Volume{Phase: facts.VolumeBound, WAL: asked, Terminating: true, HeldBy: "example.com/hold"}},
		"what is behind it is gone": {func(_ *world, _, log *corev1.PersistentVolumeClaim) {
			log.Status.Phase = corev1.ClaimLost
		}, facts.Volume{Phase: facts.VolumeLost, WAL: asked,
			Torn: "the volume behind the claim of its write-ahead log is gone"}},
		"it is not bound yet": {func(_ *world, _, log *corev1.PersistentVolumeClaim) {
			log.Status.Phase, log.Spec.VolumeName = corev1.ClaimPending, ""
		}, facts.Volume{Phase: facts.VolumePending, WAL: asked}},
		"its labels were taken off, and no list shows it": {func(_ *world, _, log *corev1.PersistentVolumeClaim) {
			log.Labels = nil
		}, facts.Volume{Phase: facts.VolumeBound, WAL: asked}},
		"nothing names it": {func(_ *world, data, _ *corev1.PersistentVolumeClaim) {
			delete(data.Annotations, v1alpha1.AnnotationWAL)
		}, facts.Volume{Phase: facts.VolumeBound}},
	} {
		t.Run(name, func(t *testing.T) {
			w, data, log := newLoggedWorld(t)
			row.edit(w, data, log)
			seen := w.look()
			if seen.Desired.WAL != asked {
				t.Errorf("the spec asks for %+v", seen.Desired.WAL)
			}
			v := seen.Current.Find("demo-1").Volume
			got := facts.Volume{Phase: v.Phase, WAL: v.WAL, Torn: v.Torn, Terminating: v.Terminating, HeldBy: v.HeldBy}
			if got != row.want {
				t.Errorf("%+v, and not %+v", got, row.want)
			}
		})
	}
}

func TestWhatSaysOfALogThatCannotBeReadIsNotTakenForNone(t *testing.T) {
	w, data, _ := newLoggedWorld(t)
	data.Annotations[v1alpha1.AnnotationWAL] = "{"
	if _, err := w.tryLook(""); err == nil {
		t.Error("it is looked past")
	}
}

func TestAVolumeThatABackupToolPutBackIsACopyAndNoHalf(t *testing.T) {
	w, data, log := newLoggedWorld(t)
	record := w.look().Current.Find("demo-1").Record().Answered(1, 1, w.look().Desired.Target, "uid-before", "pv-before")
	data.Annotations[v1alpha1.AnnotationRecord] = record.Encode()
	log.UID = "another"
	if r := w.look().Current.Find("demo-1"); r.IsOnOwnVolume() || r.Volume.Torn != "" || r.Volume.Phase != facts.VolumeBound {
		t.Errorf("%+v", r.Volume)
	}
}

func TestALogWhoseDataIsGoneIsAStray(t *testing.T) {
	w, data, log := newLoggedWorld(t)
	if strays := w.look().Strays; len(strays) > 0 {
		t.Errorf("of volumes that are whole: %+v", strays)
	}
	data.Labels = nil // no list shows it, and it is there
	if strays := w.look().Strays; len(strays) > 0 {
		t.Errorf("of data that lost its labels: %+v", strays)
	}
	w.remove(data)
	want := facts.Stray{Member: "demo-1", VolumeRef: facts.VolumeRef{Name: "demo-1-wal", UID: string(log.UID)}}
	if strays := w.look().Strays; len(strays) != 1 || strays[0] != want {
		t.Errorf("%+v", strays)
	}
	if log.Labels = map[string]string{}; len(w.look().Strays) > 0 {
		t.Error("a claim that the operator did not make is taken for one")
	}
}

func TestALogIsNoStrayWhileDataUnderItsMembersNameIsThereWhoseLabelsAreGone(t *testing.T) {
	w, _, _ := newLoggedWorld(t)
	log := w.log("demo-9") // of a member that was replaced
	w.put(log)
	data := resources.BuildVolume(w.cluster, resources.Volume{Name: "demo-9", WAL: string(log.UID)})
	data.Labels = nil
	w.put(data)
	if strays := w.look().Strays; len(strays) > 0 {
		t.Errorf("%+v", strays)
	}
	w.remove(data)
	if strays := w.look().Strays; len(strays) != 1 {
		t.Errorf("without data: %+v", strays)
	}
}

func TestBothHalvesFollowTheDeletionPolicyAndGetTheirLabelsBack(t *testing.T) {
	w, _, log := newLoggedWorld(t)
	w.cluster.Spec.Storage.DeletionPolicy = v1alpha1.DeletionDelete
	delete(log.Labels, v1alpha1.LabelClusterUID)
	seen := w.look()
	isIt := func(ref facts.DataRef) bool { return ref.Name == log.Name }
	isDrifted := func(object facts.Object) bool { return object.Name == log.Name && object.State == facts.ObjectDrifted }
	if !slices.ContainsFunc(seen.Astray, isIt) || !slices.ContainsFunc(seen.Objects, isDrifted) {
		t.Errorf("%+v %+v", seen.Astray, seen.Objects)
	}
}

func TestAClassForTheLogThatIsNotThereIsToldByItsField(t *testing.T) {
	cluster := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{Storage: &v1alpha1.StorageSpec{
		StorageClassName: new("slow"), WAL: &v1alpha1.WALSpec{Size: resource.MustParse("2Gi")}}}}
	if refs := observe.ReferencesOfCluster(cluster); len(refs) != 1 {
		t.Errorf("the class of the data is named %+v", refs)
	}
	cluster.Spec.Storage.WAL.StorageClassName = new("fast")
	refs := observe.ReferencesOfCluster(cluster)
	if len(refs) != 2 || refs[1].Field != "spec.storage.wal.storageClassName" || refs[1].Name != "fast" {
		t.Errorf("%+v", refs)
	}
}

func TestAVolumeThatDoesNotNameItsOtherHalfAnyMoreDoesSoAgainByThePodThatRunsOnBoth(t *testing.T) {
	w, data, log := newLoggedWorld(t)
	delete(data.Annotations, v1alpha1.AnnotationWAL)
	if seen := w.look().Current.Find("demo-1"); !seen.Volume.WAL.IsZero() {
		t.Errorf("no Pod runs on it, and it is taken for its log: %+v", seen.Volume)
	}
	pod := w.pod("demo-1", resources.StartSealed)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "wal", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: log.Name}}})
	pod.CreationTimestamp = metav1.NewTime(w.now.Add(-time.Minute))
	log.Labels = nil // no list shows it
	w.put(pod)
	seen := w.look()
	isDrifted := func(object facts.Object) bool { return object.Name == data.Name && object.State == facts.ObjectDrifted }
	if v := seen.Current.Find("demo-1").Volume; v.WAL.Bytes != 2<<30 || v.Torn != "" || !slices.ContainsFunc(seen.Objects, isDrifted) {
		t.Errorf("%+v %+v", v, seen.Objects)
	}
}

func TestEachHalfOfAVolumeSaysHowFarItsClaimIs(t *testing.T) {
	w, data, log := newLoggedWorld(t)
	log.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	log.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("4Gi")
	log.Annotations[v1alpha1.AnnotationStorageSize] = "4Gi"
	want := facts.Half{VolumeRef: facts.VolumeRef{Name: log.Name, UID: string(log.UID)}, Bytes: 4 << 30, Capacity: 2 << 30,
		Growth: facts.Growth{State: facts.GrowthUnderWay}}
	if v := w.look().Current.Find(data.Name).Volume; v.Half != want || v.WAL.Bytes != 4<<30 || v.Growth.State != facts.GrowthNone {
		t.Errorf("%+v %+v %+v", v.Half, v.WAL, v.Growth)
	}
}
