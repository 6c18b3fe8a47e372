package main

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// becomesReady has a Pod of etcd be heard of, and then be Ready.
func (w *watched) becomesReady(name string, uid types.UID, edits ...func(*corev1.Pod)) {
	pod := named(name, uid)
	pod.Spec.Containers = []corev1.Container{{Name: etcdContainer, Image: "registry/etcd:v" + etcdVersion}}
	for _, edit := range edits {
		edit(pod)
	}
	w.heard(pod.DeepCopy())
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.heard(pod)
	w.heard(pod)
}

func TestARollIsOverWhenAsManyNewPodsAsMembersWereReady(t *testing.T) {
	w := newWatched()
	for i, uid := range []types.UID{"1", "2", "3"} {
		w.becomesReady("bench-"+string(rune('0'+i)), uid)
	}
	began := time.Now()
	rolled := func(want, left int) []time.Time {
		t.Helper()
		ends, more := w.rolls(began, 3)
		if len(ends) != want || more != left {
			t.Errorf("%d rolls and %d Pods more, want %d and %d", len(ends), more, want, left)
		}
		return ends
	}
	rolled(0, 0)
	w.becomesReady("bench-1", "4")
	w.becomesReady("bench-2", "5")
	w.becomesReady("backup", "b", func(p *corev1.Pod) { p.Labels = map[string]string{v1alpha1.LabelComponent: "backup"} })
	rolled(0, 2)
	w.becomesReady("bench-0", "6")
	ends := rolled(1, 0)
	w.becomesReady("bench-0", "7")
	if now := rolled(1, 1); now[0] != ends[0] || ends[0] != w.when("6", ready) {
		t.Errorf("the first roll ended at %s, and now at %s", ends[0], now[0])
	}
}

func TestTheSpansOfRollsCoverAllOfTheTime(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	got := spansOf(at(0), []time.Time{at(10), at(20)}, at(25))
	if want := []span{{at(0), at(10)}, {at(10), at(25)}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := spansOf(at(0), nil, at(25)); len(got) != 0 {
		t.Errorf("without a roll: %v", got)
	}
}

func TestCAsAreReplacedOnceEachSecretHoldsAnotherOneAlone(t *testing.T) {
	before := map[string]string{"clients": "a", "peers": "b"}
	for _, row := range []struct {
		name string
		now  map[string]string
		want bool
	}{
		{"nothing has changed", map[string]string{"clients": "a", "peers": "b"}, false},
		{"one has", map[string]string{"clients": "c", "peers": "b"}, false},
		{"one Secret holds two", map[string]string{"clients": "c", "peers": ""}, false},
		{"both have", map[string]string{"clients": "c", "peers": "d"}, true},
		{"nothing was read", map[string]string{}, false},
	} {
		if got := areReplaced(before, row.now); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

func TestOneRollOfNewCAsThatHoldsClientsBackMissesTheTarget(t *testing.T) {
	f := caGap
	f.Floor, f.Ours = samples(0.1, 0.1), samples(0.14, 0.12)
	if !f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
	f.Ours = samples(0.1, 0.1, 0.1, 0.16)
	if f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
}

func TestOnePutThatFailsWhileCAsAreReplacedMissesTheTarget(t *testing.T) {
	f := caFailed
	if f.Ours = samples(0, 0, 1); f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
	if f.Ours = samples(0, 0); !f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
}
