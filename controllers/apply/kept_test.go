package apply

import (
	"errors"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestTheVolumeOfAReplacedMemberSaysWhyAndSinceWhenItIsKeptAndNoOtherVolumeDoes(t *testing.T) {
	w := bootstrappedWorld(t)
	volume := facts.VolumeRef{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)}
	for range 2 {
		w.mustDo(t, bootstrapped(), changes.MarkVolume{Volume: volume, For: facts.CauseDisk})
	}
	marked := w.volume(t, "demo-0")
	if marked.Annotations[v1alpha1.AnnotationRemovedFor] != "Disk" || marked.Labels[v1alpha1.LabelKept] != "" {
		t.Errorf("a volume that is marked has %v and %v", marked.Annotations, marked.Labels)
	}
	for range 2 {
		w.mustDo(t, bootstrapped(), changes.KeepVolume{Volume: volume, For: facts.CauseDisk})
	}
	put := w.volume(t, "demo-0")
	since, err := time.Parse(time.RFC3339, put.Annotations[v1alpha1.AnnotationKeptSince])
	if put.Labels[v1alpha1.LabelKept] != "Disk" || err != nil || !since.Equal(now) {
		t.Errorf("a volume that is kept has %v and %v", put.Annotations, put.Labels)
	}
	for ahead, want := range map[time.Duration]time.Time{25 * time.Hour: now, -25 * time.Hour: now.Add(25 * time.Hour)} {
		view := bootstrapped()
		view.Ahead = ahead
		w.mustDo(t, view, changes.KeepVolume{Volume: volume, For: facts.CauseDisk})
		text := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationKeptSince]
		if since, err := time.Parse(time.RFC3339, text); err != nil || !since.Equal(want) {
			t.Errorf("with clocks that are %s apart it is kept since %s, want %s", ahead, text, want)
		}
	}
	another := facts.VolumeRef{Name: "demo-1", UID: "another"}
	for _, change := range []changes.Change{changes.MarkVolume{Volume: another, For: facts.CauseDisk},
		changes.KeepVolume{Volume: another, For: facts.CauseDisk}} {
		err := w.do(t, bootstrapped(), change)
		if left := w.volume(t, "demo-1"); !errors.Is(err, ErrStale) ||
			left.Annotations[v1alpha1.AnnotationRemovedFor] != "" || left.Labels[v1alpha1.LabelKept] != "" {
			t.Errorf("%s of a volume of that name and another UID: %v", changes.KindOf(change), err)
		}
	}
}
