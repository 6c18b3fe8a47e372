package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func mustVersion(t *testing.T, text string) etcdutil.Version {
	t.Helper()
	v, err := etcdutil.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEachWayLeadsThroughTheVersionAtWhichItsFirstMinorEnds(t *testing.T) {
	for _, w := range []way{wayUp, wayDown} {
		at := etcdutil.Progress{Members: []etcdutil.Version{mustVersion(t, w.from)}}
		want := []etcdutil.Version{mustVersion(t, etcdVersion), mustVersion(t, w.to)}
		if got := etcdutil.Path(at, mustVersion(t, w.to)); !slices.Equal(got, want) {
			t.Errorf("from %s: %v, want %v", w.from, got, want)
		}
	}
	if wayUp.isDown || !wayDown.isDown {
		t.Error("the ways are mistaken for each other")
	}
}

func TestOneMinorMayTakeTwoSecondsMoreForEachMemberThanByHand(t *testing.T) {
	f := wayUp.minor
	f.Floor, f.Ours = samples(20), samples(26)
	if !f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
	f.Ours = samples(26.1)
	if f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
}

func TestOneRequestThatFailsOnAWayMissesTheTarget(t *testing.T) {
	f := wayDown.failed
	f.Ours = samples(0, 0, 0, 0, 1)
	if f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
}

func TestEachWayHasFiguresOfItsOwn(t *testing.T) {
	var names []string
	for _, w := range []way{wayUp, wayDown} {
		for _, f := range []figure{w.minor, w.gap, w.failed, w.election} {
			names = append(names, f.Name)
		}
	}
	for _, f := range []figure{flushTime, flushWrites, rollTime, rollGap, rollFailed, rollElections} {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if all := len(names); len(slices.Compact(names)) != all {
		t.Errorf("%q", names)
	}
}

func TestTheLoadOfAWayIsEnoughWhenNothingFails(t *testing.T) {
	if minorClients*clientRate < minorLoad {
		t.Errorf("%d clients at %d/s", minorClients, clientRate)
	}
	for perSecond, isEnough := range map[float64]bool{minorLoad: true, minorLoad - 1: false} {
		if err := (wrote{perSecond: perSecond}).enough(minorLoad); (err == nil) != isEnough {
			t.Errorf("%g/s: %v", perSecond, err)
		}
	}
}

func TestEtcdHasMovedWhenClusterAndDataAreOfTheMinor(t *testing.T) {
	for _, row := range []struct {
		said versions
		to   string
		want bool
	}{
		{versions{"3.6.16", "3.6.0", "3.6.0"}, "3.6.16", true},
		{versions{"3.6.16", "3.6.0", "3.5.0"}, "3.6.16", false},
		{versions{"3.6.16", "3.6.0", ""}, "3.6.16", false},
		{versions{"3.6.16", "3.5.0", "3.5.0"}, "3.6.16", false},
		{versions{"3.7.3", "3.6.0", "3.6.0"}, "3.6.16", true},
		{versions{"3.7.3", "3.6.0", "3.7.0"}, "3.6.16", false},
		{versions{"3.5.35", "3.5.0", ""}, "3.5.35", true},
		{versions{"3.5.35", "", ""}, "3.5.35", false},
	} {
		if got := row.said.areAt(mustVersion(t, row.to)); got != row.want {
			t.Errorf("%+v at %s: %v", row.said, row.to, got)
		}
	}
}

func TestBothSidesBeginWithTheVersionOfTheShape(t *testing.T) {
	for version, want := range map[string]string{"": etcdVersion, lowVersion: lowVersion} {
		like := shape{namespace: "bench-x", name: clusterName, size: 3, version: version}
		if got := manifest(like).Spec.Version; got != want {
			t.Errorf("ours of %q: %s", version, got)
		}
		set, err := floorSet(like)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(got, ":v"+want) {
			t.Errorf("the floor of %q: %s", version, got)
		}
	}
}

func TestAVersionIsReachedByMembersThatWereReadyWithItOnce(t *testing.T) {
	w := newWatched()
	old, raised, other := running("m-0", "1", "3.5.35"), running("m-0", "2", "3.6.16"), running("m-1", "3", "3.6.16")
	w.heard(old)
	w.left(old)
	w.heard(raised)
	raised.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if n := len(w.readyWith("3.6.16")); n != 0 {
		t.Errorf("%d were Ready before any was", n)
	}
	w.heard(raised)
	w.heard(other)
	w.left(raised)
	times := w.readyWith("3.6.16")
	if len(times) != 1 || times["m-0"] != w.when("2", ready) {
		t.Errorf("%v", times)
	}
}

func TestTheFirstStopSinceAMomentIsThatOfAPodThatTerminates(t *testing.T) {
	w := newWatched()
	pod := running("m-0", "1", "3.6.16")
	w.heard(pod)
	if at := w.firstStop(time.Time{}); !at.IsZero() {
		t.Errorf("a member was stopped at %s", at)
	}
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	w.heard(pod)
	if w.firstStop(time.Time{}).IsZero() || !w.firstStop(time.Now().Add(time.Second)).IsZero() {
		t.Error("the stop was not seen, or later than it was")
	}
}

func running(name string, uid types.UID, version string) *corev1.Pod {
	pod := named(name, uid)
	pod.Spec.Containers = []corev1.Container{{Name: etcdContainer, Image: "registry:5000/etcd:v" + version}}
	return pod
}
