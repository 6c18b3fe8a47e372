package resources

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// logged asks for a volume of the write-ahead log.
func logged(c *v1alpha1.EtcdCluster) {
	c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: new("slow"), WAL: &v1alpha1.WALSpec{
		Size: resource.MustParse("4Gi"), StorageClassName: new("fast")}}
}

func TestBothHalvesOfAVolumeAreBuiltAsTheyWereReviewed(t *testing.T) {
	c := cluster(logged)
	volume := Volume{Name: "demo-0", Incarnation: incarnation, Bytes: StorageBytes(c), Inputs: Inputs(c).Canonical(),
		Operator: operatorName, WAL: "uid-of-the-log"}
	golden(t, "volume-with-wal", BuildVolume(c, volume))
	golden(t, "wal", BuildWAL(c, volume))
	start := sealed(c)
	start.HasWAL = true
	golden(t, "pod-sealed-wal", mustPod(t, c, start))
	restored := restoring(c, stored())
	restored.HasWAL = true
	golden(t, "restore-pod-wal", mustRestorePod(t, c, restored))
	golden(t, "restore-pod-wal-survivor", mustRestorePod(t, c, ofSurvivorPod(restored)))
	golden(t, "restore-pod-wal-survivor-read", mustRestorePod(t, c, readFromVolume(ofSurvivorPod(restored))))
}

func TestTheClaimOfTheDataNamesTheOneOfTheLogByItsUID(t *testing.T) {
	c := cluster(logged)
	log := BuildWAL(c, Volume{Name: "demo-0", Incarnation: incarnation})
	log.UID = "uid-1"
	data := BuildVolume(c, Volume{Name: "demo-0", Incarnation: incarnation, WAL: string(log.UID)})
	said, err := WALOf(data)
	if err != nil || !said.IsOn(log) || said.Bytes() != 4<<30 || said.StorageClass != "fast" {
		t.Errorf("%+v %v", said, err)
	}
	if log.UID = "uid-2"; said.IsOn(log) || said.IsOn(nil) || (WAL{}).IsOn(&corev1.PersistentVolumeClaim{}) {
		t.Error("another claim is taken for it")
	}
	data.Annotations[v1alpha1.AnnotationWAL] = "{"
	if _, err := WALOf(data); err == nil {
		t.Error("what cannot be read is taken for a log beside the data")
	}
	if said, err := WALOf(BuildVolume(c, Volume{Name: "demo-0"})); said != nil || err != nil {
		t.Errorf("a volume without such a claim names %+v %v", said, err)
	}
}

func TestTheLogHasTheClassOfTheDataUnlessTheSpecNamesAnother(t *testing.T) {
	c := cluster(logged)
	c.Spec.Storage.WAL.StorageClassName = nil
	if class := BuildWAL(c, Volume{Name: "demo-0"}).Spec.StorageClassName; *class != "slow" || AskedWAL(c).StorageClass != "slow" {
		t.Errorf("it is of %q, and asked for is %+v", *class, AskedWAL(c))
	}
	if c.Spec.Storage.StorageClassName = nil; BuildWAL(c, Volume{Name: "demo-0"}).Spec.StorageClassName != nil ||
		AskedWAL(c).StorageClass != "" {
		t.Error("it names a class, and nothing asks for one")
	}
}

func TestNewClaimsNameTheVolumeAttributesClassOfTheSpecAndSayThatItAskedForThat(t *testing.T) {
	for name, row := range map[string]struct {
		edit      func(*v1alpha1.StorageSpec)
		data, log string
	}{
		"none": {func(*v1alpha1.StorageSpec) {}, "", ""},
		"one for both": {func(s *v1alpha1.StorageSpec) {
			s.VolumeAttributesClassName, s.WAL.StorageClassName = "gold", nil
		}, "gold", "gold"},
		"not for a log of another StorageClass": {func(s *v1alpha1.StorageSpec) {
			s.VolumeAttributesClassName = "gold"
		}, "gold", ""},
		"its own for the log": {func(s *v1alpha1.StorageSpec) {
			s.VolumeAttributesClassName, s.WAL.VolumeAttributesClassName = "gold", "platinum"
		}, "gold", "platinum"},
	} {
		c := cluster(logged)
		row.edit(c.Spec.Storage)
		v := Volume{Name: "demo-0", Incarnation: incarnation}
		for claim, want := range map[*corev1.PersistentVolumeClaim]string{BuildVolume(c, v): row.data, BuildWAL(c, v): row.log} {
			got, said := claim.Spec.VolumeAttributesClassName, claim.Annotations[v1alpha1.AnnotationAttributesClass]
			if said != want || (got == nil) != (want == "") || got != nil && *got != want {
				t.Errorf("%s: %s names %v and says %q, and not %q", name, claim.Name, got, said, want)
			}
		}
	}
}

func TestAMemberThatLostItsLabelsGetsThoseOfItsMemberOnBothClaims(t *testing.T) {
	c := cluster(logged)
	log := BuildWAL(c, Volume{Name: "demo-0", Incarnation: incarnation})
	delete(log.Labels, v1alpha1.LabelMember)
	change := Remarking(c, log, record.Bootstrap{})
	if member := change.Labels[v1alpha1.LabelMember]; member == nil || *member != "demo-0" {
		t.Errorf("%+v", change.Labels)
	}
}

func TestAPodWithoutSuchAVolumeSaysNothingOfTheLog(t *testing.T) {
	pod := mustPod(t, cluster(logged), sealed(cluster(logged)))
	if len(pod.Spec.Volumes) != 2 || slices.ContainsFunc(pod.Spec.Containers[0].Args, func(arg string) bool {
		return arg == "--wal-dir="+WALDir(incarnation, "demo-0")
	}) {
		t.Errorf("%v %v", pod.Spec.Volumes, pod.Spec.Containers[0].Args)
	}
}
