package apply

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestDataIsTakenOverFromTheOwnerThatLeftItAndFromNoOther(t *testing.T) {
	for _, row := range []struct {
		name  string
		edit  func(*testing.T, *world, *corev1.PersistentVolumeClaim, *facts.Retained)
		owner string // whose it is afterwards
		stale bool
	}{
		{"as it was left", func(*testing.T, *world, *corev1.PersistentVolumeClaim, *facts.Retained) {}, "the-next-one",
			false},
		{"another volume of that name", func(_ *testing.T, _ *world, _ *corev1.PersistentVolumeClaim,
			item *facts.Retained) {
			item.UID = "an earlier one"
		}, "earlier", true},
		{"left by somebody else than was seen", func(_ *testing.T, _ *world, _ *corev1.PersistentVolumeClaim,
			item *facts.Retained) {
			item.Owner = "somebody"
		}, "earlier", true},
		{"taken by somebody else meanwhile", func(t *testing.T, w *world, volume *corev1.PersistentVolumeClaim,
			_ *facts.Retained) {
			w.edit(t, volume, func() { volume.Labels[v1alpha1.LabelClusterUID] = "a third one" })
		}, "a third one", true},
		{"on its way out", func(t *testing.T, w *world, volume *corev1.PersistentVolumeClaim, _ *facts.Retained) {
			w.edit(t, volume, func() { volume.Finalizers = []string{"kubernetes.io/pvc-protection"} })
			if err := w.inner.Delete(t.Context(), volume); err != nil {
				t.Fatal(err)
			}
		}, "earlier", true},
	} {
		w := newWorld(t, demo())
		wholeCluster(t, w)
		volume := w.volume(t, "demo-0")
		earlier := earlierOwner(volume)
		item := facts.Retained{Kind: resources.KindVolume, Name: "demo-0", UID: string(volume.UID), Owner: earlier}
		w.cluster.UID = "the-next-one"
		row.edit(t, w, volume, &item)
		w.writes = 0
		err := w.do(t, bootstrapped(), changes.AdoptData{Items: []facts.Retained{item}})
		if errors.Is(err, ErrStale) != row.stale || !row.stale && err != nil || (w.writes == 0) != row.stale {
			t.Errorf("%s: %v after %d writes", row.name, err, w.writes)
		}
		want := row.owner
		if want == "earlier" {
			want = earlier
		}
		if got := w.volume(t, "demo-0").Labels[v1alpha1.LabelClusterUID]; got != want {
			t.Errorf("%s: it is %q's", row.name, got)
		}
	}
}

func TestDataThatIsTakenOverNamesTheInstallThatTookItAndTheOtherOneStops(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	change := changes.AdoptData{}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		volume := w.volume(t, name)
		w.edit(t, volume, func() { volume.Annotations[v1alpha1.AnnotationOperator] = "earlier/etcd-steward" })
		change.Items = append(change.Items, facts.Retained{Kind: resources.KindVolume, Name: name,
			UID: string(volume.UID), Owner: earlierOwner(volume)})
	}
	ca := w.secret(t, "demo-ca")
	change.Items = append(change.Items, facts.Retained{Kind: resources.KindSecret, Name: "demo-ca",
		UID: string(ca.UID), Owner: ca.Labels[v1alpha1.LabelClusterUID]})
	w.cluster.UID = "the-next-one"
	w.mustDo(t, bootstrapped(), changes.AdoptData{Items: change.Items[:2]})
	for _, name := range []string{"demo-0", "demo-1"} {
		if claim := w.volume(t, name).Annotations[v1alpha1.AnnotationOperator]; claim != operator {
			t.Errorf("%s names %q", name, claim)
		}
	}
	other := w.applier()
	other.Operator = "other/etcd-steward"
	err := step{Applier: other, cluster: w.cluster, view: bootstrapped()}.carryOut(t.Context(), change)
	if !errors.Is(err, ErrStale) || w.volume(t, "demo-2").Labels[v1alpha1.LabelClusterUID] == "the-next-one" {
		t.Errorf("another install takes the rest: %v", err)
	}
	w.mustDo(t, bootstrapped(), change)
	if claim, ok := w.secret(t, "demo-ca").Annotations[v1alpha1.AnnotationOperator]; ok {
		t.Errorf("a CA, which is no data, names %q", claim)
	}
}
