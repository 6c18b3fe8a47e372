package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestTheSuccessorOfAPodIsTheNextOfItsNameAfterItWasGone(t *testing.T) {
	w := newWatched()
	first, second, third, other := named("m-0", "1"), named("m-0", "2"), named("m-0", "3"), named("m-1", "4")
	w.heard(first)
	if !w.successor(first).IsZero() {
		t.Error("a Pod that is still there has a successor")
	}
	w.left(first)
	w.heard(other)
	if !w.successor(first).IsZero() {
		t.Error("a Pod of another name succeeds it")
	}
	w.heard(second)
	w.left(second)
	w.heard(third)
	for _, row := range []struct{ old, next *corev1.Pod }{{first, second}, {second, third}} {
		if got, want := w.successor(row.old), w.when(row.next.UID, created); got.IsZero() || got != want {
			t.Errorf("%s is succeeded at %s, want %s", row.old.UID, got, want)
		}
	}
}

func named(name string, uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
}
