package observe_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestAVolumeThatIsKeptIsOfNoMemberAndCountsFromWhenItWasPutAside(t *testing.T) {
	w := newBootstrappedWorld(t)
	put := func(name, since, member string) {
		volume := w.volume(name)
		volume.Labels[v1alpha1.LabelKept] = string(facts.CauseDisk)
		volume.Annotations[v1alpha1.AnnotationKeptSince] = since
		volume.Annotations[v1alpha1.AnnotationRecord] = member
		w.put(volume)
	}
	put("demo-7", "some day", "no record")
	put("demo-5", w.now.Add(-time.Hour).Format(time.RFC3339), record.Member{ClusterID: 7, MemberID: 2,
		Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}.Encode())
	o := w.look()
	want := []facts.KeptVolume{
		{Name: "demo-5", UID: "uid-of-demo-5", Ordinal: 5, For: facts.CauseDisk, ClusterID: 7,
			Since: w.now.Add(-time.Hour)},
		{Name: "demo-7", UID: "uid-of-demo-7", Ordinal: 7, For: facts.CauseDisk}, // that cannot be read
	}
	if !slices.EqualFunc(o.Kept, want, func(a, b facts.KeptVolume) bool {
		isSame := a.Since.Equal(b.Since)
		a.Since = b.Since
		return isSame && a == b
	}) {
		t.Errorf("kept are %+v", o.Kept)
	}
	if names := namesIn(o.Current.Members); !slices.Equal(names, []string{"demo-0", "demo-1", "demo-2"}) {
		t.Errorf("members and what they left are %v", names)
	}
}

func TestAKeptVolumeSaysWhetherAPodUsesItAsKubernetesSays(t *testing.T) {
	then := metav1.NewTime(time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC))
	for name, row := range map[string]struct {
		conditions []corev1.PersistentVolumeClaimCondition
		want       facts.Usage
	}{
		"an older Kubernetes says nothing": {nil, facts.Usage{}},
		"no Pod uses it": {[]corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimUnused,
			Status: corev1.ConditionTrue, LastTransitionTime: then}}, facts.Usage{UnusedSince: then.Time}},
		"a Pod uses it": {[]corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimUnused,
			Status: corev1.ConditionFalse, LastTransitionTime: then}}, facts.Usage{InUse: true}},
		"it is not known": {[]corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimUnused,
			Status: corev1.ConditionUnknown, LastTransitionTime: then}}, facts.Usage{}},
	} {
		w := newBootstrappedWorld(t)
		volume := w.volume("demo-7")
		volume.Labels[v1alpha1.LabelKept] = string(facts.CauseDisk)
		volume.Status.Conditions = row.conditions
		w.put(volume)
		kept := w.look().Kept
		if len(kept) != 1 || kept[0].Usage.InUse != row.want.InUse || !kept[0].Usage.UnusedSince.Equal(row.want.UnusedSince) {
			t.Errorf("%s: %+v", name, kept)
		}
	}
}

func TestAVolumeSaysWhyItsMemberIsRemoved(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.objects["*v1.PersistentVolumeClaim demo-0"].GetAnnotations()[v1alpha1.AnnotationRemovedFor] = string(
		facts.CauseCorruption)
	if v := w.replica("demo-0").Volume; v == nil || v.RemovedFor != facts.CauseCorruption {
		t.Errorf("the volume is %+v", v)
	}
	if v := w.replica("demo-1").Volume; v == nil || v.RemovedFor != facts.NoCause {
		t.Errorf("another member's volume is %+v", v)
	}
}
