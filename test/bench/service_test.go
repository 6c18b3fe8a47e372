package main

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

func TestOneRollOfTenThatHoldsAClientBackForASecondMissesTheTarget(t *testing.T) {
	rolls := slices.Repeat([]sample{{Value: 0.05}}, 10)
	f := gapOfRoll(route{name: "Service"}, shape{})
	f.Floor = []sample{{Value: 0.01}, {Value: 0.02}, {Value: 0.3}}
	f.Ours = rolls
	if !f.isHit() {
		t.Errorf("ten short gaps: %g of %g", f.value(), f.target())
	}
	f.Ours = append(rolls[:9:9], sample{Value: 1.01})
	if f.isHit() {
		t.Errorf("one long gap: %g of %g", f.value(), f.target())
	}
}

func TestEachClientHasAFigureOfItsOwnWithTLSAndWithout(t *testing.T) {
	var names []string
	for _, by := range []string{"Service", "all endpoints"} {
		for _, plain := range []bool{false, true} {
			names = append(names, gapOfRoll(route{name: by}, shape{plain: plain}).Name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != 4 {
		t.Errorf("%q", names)
	}
}

func TestTheLeaderIsRestartedByHandAfterAllOthers(t *testing.T) {
	var pods []*corev1.Pod
	for _, name := range []string{"bench-2", "bench-0", "bench-1"} {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	if got := leaderLast(pods, "bench-0"); !slices.Equal(got, []string{"bench-1", "bench-2", "bench-0"}) {
		t.Errorf("%q", got)
	}
}

func TestAShapeWithoutTLSAsksForNone(t *testing.T) {
	if tls, plain := (shape{}).scheme(), (shape{plain: true}).scheme(); tls != "https" || plain != "http" {
		t.Errorf("%s, and without TLS %s", tls, plain)
	}
	if c := manifest(shape{name: clusterName, size: 3, plain: true}); c.Spec.IsTLS() {
		t.Errorf("%+v", c.Spec.TLS)
	}
	if c := manifest(shape{name: clusterName, size: 3}); !c.Spec.IsTLS() {
		t.Errorf("%+v", c.Spec.TLS)
	}
	if mode := manifest(shape{plain: true}).Spec.TLS.Mode; mode != v1alpha1.TLSDisabled {
		t.Errorf("%s", mode)
	}
}

func TestTheNoteOfAGapSaysWhatAttemptsWereTold(t *testing.T) {
	note := noteOf(client.Report{Failed: 1,
		Problems: map[string]int{"raft proposal dropped": 1, "context deadline exceeded": 2}})
	if note != "1 failed; 2 × context deadline exceeded; 1 × raft proposal dropped" {
		t.Error(note)
	}
}

func TestOneCutOfTwentyThatHoldsAClientBackForLongMissesTheTarget(t *testing.T) {
	f := gapOfCut(route{name: "Service"})
	f.Ours = slices.Repeat([]sample{{Value: 4.1}}, 20)
	if !f.isHit() {
		t.Errorf("twenty short gaps: %g of %g", f.value(), f.target())
	}
	f.Ours[7].Value = 28.3
	if f.isHit() {
		t.Errorf("one long gap: %g of %g", f.value(), f.target())
	}
}
