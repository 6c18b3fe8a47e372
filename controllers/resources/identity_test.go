package resources

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

func TestLabelsThatWereStrippedAreKnownAgain(t *testing.T) {
	c := cluster()
	pod := mustPod(t, c, sealed(c))
	claim := BuildVolume(c, Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1})
	claim.UID = "uid-of-claim"
	bootstrap := record.Bootstrap{Incarnation: incarnation, Volumes: map[string]string{"demo-0": "uid-of-claim"}}
	for _, object := range []metav1.Object{pod, claim} {
		if change := Remarking(c, object, bootstrap); !change.IsZero() {
			t.Errorf("a new %T is changed: %v", object, change)
		}
		want := maps.Clone(object.GetLabels())
		delete(want, v1alpha1.LabelRole)
		object.SetLabels(nil)
		Remarking(c, object, bootstrap).Put(object)
		if !maps.Equal(object.GetLabels(), want) {
			t.Errorf("%T: %v", object, object.GetLabels())
		}
	}
	claim.UID, claim.Labels = "another", nil
	if _, ok := Remarking(c, claim, bootstrap).Labels[v1alpha1.LabelIncarnation]; ok {
		t.Error("a volume that the birth does not know is given an incarnation")
	}
	claim.Labels = map[string]string{v1alpha1.LabelIncarnation: "earlier"}
	claim.UID = "uid-of-claim"
	if _, ok := Remarking(c, claim, bootstrap).Labels[v1alpha1.LabelIncarnation]; ok {
		t.Error("a volume of another incarnation is given this one")
	}
}

func TestWhatHasNoOwnerIsNothingThatOthersTakeForTheirs(t *testing.T) {
	c := cluster()
	for _, object := range []metav1.Object{
		BuildVolume(c, Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1}),
		BuildCA(c, CASecret(c.Name), nil),
	} {
		if name, ok := object.GetLabels()[v1alpha1.LabelInstance]; ok {
			t.Errorf("%T has %s %q", object, v1alpha1.LabelInstance, name)
		}
		if v1alpha1.ClusterOf(object.GetLabels()) != "demo" ||
			object.GetAnnotations()[v1alpha1.AnnotationArgoSync] != "Prune=false" {
			t.Errorf("%T: %v, %v", object, object.GetLabels(), object.GetAnnotations())
		}
		asWas := maps.Clone(object.GetLabels())
		object.GetLabels()[v1alpha1.LabelInstance] = "demo" // as a release before made it
		delete(object.GetLabels(), v1alpha1.LabelCluster)
		object.SetAnnotations(map[string]string{v1alpha1.AnnotationArgoSync: "Prune=false,Delete=false"})
		Remarking(c, object, record.Bootstrap{}).Put(object)
		if !maps.Equal(object.GetLabels(), asWas) {
			t.Errorf("%T of a release before: %v", object, object.GetLabels())
		}
		if object.GetAnnotations()[v1alpha1.AnnotationArgoSync] != "Prune=false,Delete=false" ||
			object.GetAnnotations()[v1alpha1.AnnotationArgoCompare] == "" {
			t.Errorf("%T: %v", object, object.GetAnnotations())
		}
	}
}

func TestAVolumeWithoutItsClustersUIDIsOursOnlyByProof(t *testing.T) {
	c := cluster()
	begun := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	claimAt := func(at time.Time) *corev1.PersistentVolumeClaim {
		claim := BuildVolume(c, Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1})
		claim.UID, claim.CreationTimestamp = "uid-of-claim", metav1.NewTime(at)
		delete(claim.Labels, v1alpha1.LabelClusterUID)
		return claim
	}
	pod := mustPod(t, c, sealed(c))
	pod.CreationTimestamp = metav1.NewTime(begun)
	foreign := pod.DeepCopy()
	foreign.OwnerReferences = nil
	another := claimAt(begun.Add(-time.Hour))
	another.Labels[v1alpha1.LabelClusterUID] = "another"
	bootstrapped := record.Bootstrap{Volumes: map[string]string{"demo-0": "uid-of-claim"}}
	for _, row := range []struct {
		name      string
		claim     *corev1.PersistentVolumeClaim
		bootstrap record.Bootstrap
		pod       *corev1.Pod
		ours      bool
	}{
		{"the bootstrap record names it", claimAt(begun), bootstrapped, nil, true},
		{"its Pod is younger", claimAt(begun.Add(-time.Hour)), record.Bootstrap{}, pod, true},
		{"its Pod is older", claimAt(begun.Add(time.Hour)), record.Bootstrap{}, pod, false},
		{"the Pod is somebody else's", claimAt(begun.Add(-time.Hour)), record.Bootstrap{}, foreign, false},
		{"it says whose it is", another, bootstrapped, pod, false},
		{"nothing speaks for it", claimAt(begun), record.Bootstrap{}, nil, false},
	} {
		if got := IsProvenVolume(c, row.claim, row.bootstrap, row.pod); got != row.ours {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
