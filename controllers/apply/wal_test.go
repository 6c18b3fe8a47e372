package apply

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// logged is a cluster whose write-ahead logs have volumes of their own.
func logged() *v1alpha1.EtcdCluster {
	c := demo()
	c.Spec.Storage = &v1alpha1.StorageSpec{WAL: &v1alpha1.WALSpec{Size: resource.MustParse("2Gi")}}
	return c
}

// loggedWorld holds the first members of such a cluster.
func loggedWorld(t *testing.T) *world {
	w := newWorld(t, logged())
	w.mustDo(t, bootstrapped(), begin())
	w.mustDo(t, bootstrapped(), bootstrap(w.cluster))
	return w
}

func (w *world) halves(t *testing.T, member string) (data, log *corev1.PersistentVolumeClaim) {
	t.Helper()
	return w.volume(t, member), w.volume(t, resources.WALClaim(member))
}

func TestTheFirstMembersGetBothHalvesAndPodsThatMountThem(t *testing.T) {
	w := loggedWorld(t)
	data, log := w.halves(t, "demo-0")
	if said, err := resources.WALOf(data); err != nil || said == nil || !said.IsOn(log) {
		t.Errorf("the claim of the data names %+v (%v), and the other one is %s", said, err, log.UID)
	}
	pod := &corev1.Pod{}
	if err := w.inner.Get(t.Context(), keyOf("demo-0"), pod); err != nil {
		t.Fatal(err)
	}
	dir := "--wal-dir=" + resources.WALDir(incarnation, "demo-0")
	if !slices.Contains(pod.Spec.Containers[0].Args, dir) {
		t.Errorf("etcd is started with %v", pod.Spec.Containers[0].Args)
	}
}

func TestAMemberWithItsDataInItsPodHasItsLogThereAsWell(t *testing.T) {
	w := newWorld(t, logged())
	seen := bootstrapped()
	seen.Current.Members = []facts.Replica{{Name: "demo-1", Storage: facts.Storage{Ephemeral: true}}}
	pod, err := step{Applier: w.applier(), cluster: w.cluster, view: seen}.buildPod(t.Context(), changes.Start{Name: "demo-1",
		Settings: settings(w.cluster), Flags: facts.FlagsSealed})
	if err != nil || resources.MountsWAL(pod) {
		t.Errorf("it mounts a claim that is not there: %v, %v", pod, err)
	}
}

func TestAPodIsMadeAsTheVolumeOfItsMemberIsAndNotAsTheSpecAsks(t *testing.T) {
	w := newWorld(t, logged())
	for name, has := range map[string]facts.WAL{"demo-1": {}, "demo-2": {Bytes: 1 << 30}} {
		seen := bootstrapped()
		seen.Current.Members = []facts.Replica{{Name: name, Volume: &facts.Volume{Incarnation: incarnation, WAL: has}}}
		pod, err := step{Applier: w.applier(), cluster: w.cluster, view: seen}.buildPod(t.Context(), changes.Start{Name: name,
			Flags: facts.FlagsSealed, Settings: settings(w.cluster)})
		isMounted := err == nil && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == resources.WALClaim(name)
		})
		if err != nil || isMounted == has.IsZero() {
			t.Errorf("%s: %v %v", name, isMounted, err)
		}
	}
}

func TestALogThatIsLeftOverIsDeletedAndNotTaken(t *testing.T) {
	w := newWorld(t, logged())
	left := resources.BuildWAL(w.cluster, resources.Volume{Name: "demo-0", Incarnation: incarnation})
	w.put(t, left)
	change := changes.Bootstrap{Volumes: []changes.NewVolume{{Name: "demo-0", Bytes: 1, Settings: settings(w.cluster)}}}
	if err := w.do(t, begun(), change); !isLater(err, LaterTerminating) {
		t.Errorf("it is not waited for: %v", err)
	}
	w.isGone(t, &corev1.PersistentVolumeClaim{}, "demo-0-wal")
	w.isGone(t, &corev1.PersistentVolumeClaim{}, "demo-0")
	w.mustDo(t, begun(), change)
	if data, log := w.halves(t, "demo-0"); log.UID == left.UID || data.Annotations[v1alpha1.AnnotationWAL] == "" {
		t.Errorf("it was taken for the new one: %v", data.Annotations)
	}
}

func TestALookThatIsBehindLeavesTheLogOfAVolumeThatIsThere(t *testing.T) {
	w := newWorld(t, logged())
	change := changes.Bootstrap{Volumes: []changes.NewVolume{{Name: "demo-0", Bytes: 1, Settings: settings(w.cluster)}}}
	w.mustDo(t, begun(), change)
	_, before := w.halves(t, "demo-0")
	w.mustDo(t, begun(), change)
	if data, log := w.halves(t, "demo-0"); log.UID != before.UID || data == nil {
		t.Errorf("%s is another one", log.UID)
	}
}

func TestBothHalvesAreDeletedTogetherTheLogFirst(t *testing.T) {
	w := loggedWorld(t)
	data, log := w.halves(t, "demo-0")
	w.calls = nil
	w.mustDo(t, bootstrapped(), changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-0", UID: string(data.UID)}}})
	w.isGone(t, data, "demo-0")
	w.isGone(t, log, "demo-0-wal")
	first := slices.Index(w.calls, "delete *v1.PersistentVolumeClaim demo-0-wal")
	if second := slices.Index(w.calls, "delete *v1.PersistentVolumeClaim demo-0"); first < 0 || second < first {
		t.Errorf("%v", w.calls)
	}
}

func TestAnotherClaimUnderTheNameOfALogIsLeftAlone(t *testing.T) {
	w := loggedWorld(t)
	data, log := w.halves(t, "demo-0")
	if err := w.inner.Delete(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	w.put(t, resources.BuildWAL(w.cluster, resources.Volume{Name: "demo-0", Incarnation: incarnation}))
	w.mustDo(t, bootstrapped(), changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-0", UID: string(data.UID)}}})
	w.volume(t, "demo-0-wal")
}

func TestDataIsTakenOverWithItsLog(t *testing.T) {
	earlier := logged()
	earlier.UID = "uid-before"
	w := newWorld(t, logged())
	log := resources.BuildWAL(earlier, resources.Volume{Name: "demo-0", Incarnation: incarnation})
	w.put(t, log)
	data := resources.BuildVolume(earlier, resources.Volume{Name: "demo-0", Incarnation: incarnation, WAL: string(log.UID)})
	w.put(t, data)
	w.mustDo(t, bootstrapped(), changes.AdoptData{Items: []facts.Retained{{Kind: resources.KindVolume, Name: "demo-0",
		UID: string(data.UID), Owner: "uid-before"}}})
	data, log = w.halves(t, "demo-0")
	for _, claim := range []*corev1.PersistentVolumeClaim{data, log} {
		if !resources.IsDataOf(claim, w.cluster.UID) || claim.Annotations[v1alpha1.AnnotationOperator] != operator {
			t.Errorf("%s: %v %v", claim.Name, claim.Labels, claim.Annotations)
		}
	}
}

func TestALogThatLostItsLabelsGetsThemBackWhereItsVolumeNamesIt(t *testing.T) {
	w := loggedWorld(t)
	_, log := w.halves(t, "demo-0")
	log.Labels = nil
	if err := w.inner.Update(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: resources.KindVolume, Name: log.Name}}})
	if _, log = w.halves(t, "demo-0"); !resources.IsDataOf(log, w.cluster.UID) || log.Labels[v1alpha1.LabelMember] != "demo-0" {
		t.Errorf("%v", log.Labels)
	}
}

func TestNoMemberIsRemovedWhoseSuccessorWouldLackTheVolumeOfItsLog(t *testing.T) {
	const full = "exceeded quota: few, requested: requests.storage=2Gi, used: requests.storage=30Gi, " +
		"limited: requests.storage=30Gi"
	for name, row := range map[string]struct {
		says   error
		frees  bool
		reason string // empty: it would be admitted
	}{
		"all is well":                         {},
		"a webhook denies it":                 {forbidden(`admission webhook "x" denied the request: no`), false, RejectedAdmission},
		"a quota has no room":                 {forbidden(full), false, RejectedQuota},
		"a quota that both halves leave room": {forbidden(full), true, ""},
	} {
		w := loggedWorld(t)
		w.calls, w.writes = nil, 0
		w.claimAdmission = func(claim *corev1.PersistentVolumeClaim) error {
			if claim.Name == "demo-3-wal" {
				return row.says
			}
			return nil
		}
		change := replacing(w.cluster)
		change.Frees = row.frees
		look, looks := looking(bootstrapped())
		err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look)
		if row.reason == "" && (!errors.Is(err, ErrStale) || *looks != 1) || row.reason != "" && !isRejected(err, row.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAVolumeThatLostTheNameOfItsOtherHalfGetsItBackFromThePodThatRunsOnBoth(t *testing.T) {
	w := loggedWorld(t)
	data, log := w.halves(t, "demo-0")
	pod := w.pod(t, "demo-0")
	pod.CreationTimestamp = metav1.NewTime(log.CreationTimestamp.Add(time.Minute))
	if err := w.inner.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	want := data.Annotations[v1alpha1.AnnotationWAL]
	delete(data.Annotations, v1alpha1.AnnotationWAL)
	if err := w.inner.Update(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: resources.KindVolume, Name: "demo-0"}}})
	if got := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationWAL]; got != want {
		t.Errorf("%q, and not %q", got, want)
	}
}

func TestTheClaimOfALogAsksForMoreAndSaysWhatTheSpecAskedForIt(t *testing.T) {
	w := loggedWorld(t)
	data, log := w.halves(t, "demo-0")
	before := data.ResourceVersion
	w.cluster.Spec.Storage.WAL.Size = resource.MustParse("4Gi")
	change := changes.ExpandVolume{Volume: facts.VolumeRef{Name: log.Name, UID: string(log.UID)}, Bytes: 4 << 30, LogOf: "demo-0"}
	w.mustDo(t, bootstrapped(), change)
	data, log = w.halves(t, "demo-0")
	if asks := log.Spec.Resources.Requests.Storage(); asks.Value() != 4<<30 || resources.SizeOf(log) != 4<<30 {
		t.Errorf("it asks for %s, and says that the spec asked for %d", asks, resources.SizeOf(log))
	}
	if data.ResourceVersion != before {
		t.Error("the claim of the data was changed")
	}
	w.cluster.Spec.Storage.WAL = nil
	if err := w.do(t, bootstrapped(), change); !errors.Is(err, ErrStale) {
		t.Errorf("the spec asks for no such volume any more: %v", err)
	}
}
