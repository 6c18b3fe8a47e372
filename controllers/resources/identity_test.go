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
	birth := record.Birth{Incarnation: incarnation, Volumes: map[string]string{"demo-0": "uid-of-claim"}}
	if lost := LostPodLabels(c, pod); len(lost) != 0 {
		t.Errorf("a new Pod lacks %v", lost)
	}
	if lost := LostVolumeLabels(c, claim, birth); len(lost) != 0 {
		t.Errorf("a new volume lacks %v", lost)
	}
	want := MemberLabels(c, "demo-0", incarnation)
	pod.Labels, claim.Labels = nil, nil
	if lost := LostPodLabels(c, pod); !maps.Equal(lost, want) {
		t.Errorf("the Pod lacks %v", lost)
	}
	if lost := LostVolumeLabels(c, claim, birth); !maps.Equal(lost, want) {
		t.Errorf("the volume lacks %v", lost)
	}
	claim.UID = "another"
	if lost := LostVolumeLabels(c, claim, birth); lost[v1alpha1.LabelIncarnation] != "" {
		t.Errorf("a volume that the birth does not know is given %v", lost)
	}
	claim.Labels = map[string]string{v1alpha1.LabelIncarnation: "earlier"}
	claim.UID = "uid-of-claim"
	if lost := LostVolumeLabels(c, claim, birth); lost[v1alpha1.LabelIncarnation] != "" {
		t.Errorf("a volume of another incarnation is given %v", lost)
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
	born := record.Birth{Volumes: map[string]string{"demo-0": "uid-of-claim"}}
	for _, row := range []struct {
		name  string
		claim *corev1.PersistentVolumeClaim
		birth record.Birth
		pod   *corev1.Pod
		ours  bool
	}{
		{"the birth record names it", claimAt(begun), born, nil, true},
		{"its Pod is younger", claimAt(begun.Add(-time.Hour)), record.Birth{}, pod, true},
		{"its Pod is older", claimAt(begun.Add(time.Hour)), record.Birth{}, pod, false},
		{"the Pod is somebody else's", claimAt(begun.Add(-time.Hour)), record.Birth{}, foreign, false},
		{"it says whose it is", another, born, pod, false},
		{"nothing speaks for it", claimAt(begun), record.Birth{}, nil, false},
	} {
		if got := IsProvenVolume(c, row.claim, row.birth, row.pod); got != row.ours {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
