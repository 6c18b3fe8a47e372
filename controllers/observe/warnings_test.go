package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestAPodOfARestoreIsAskedOfKubernetesByItsOwnUID(t *testing.T) {
	about := func(name, uid, kind, message string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, InvolvedObject: corev1.ObjectReference{UID: types.UID("of-" + uid)},
			Type: kind, Reason: "FailedMount", Message: message,
		}
	}
	kube := fake.NewClientBuilder().WithObjects(
		about("a", "pod", corev1.EventTypeWarning, `secret "s3" not found`), about("b", "pod", corev1.EventTypeNormal, "scheduled"),
		about("c", "another", corev1.EventTypeWarning, "of another Pod"),
	).WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
		event, _ := o.(*corev1.Event)
		return []string{string(event.InvolvedObject.UID)}
	}).Build()
	if last := LastWarning(t.Context(), kube, "shop", "of-pod"); last == nil || last.Reason != "FailedMount" || last.Message != `secret "s3" not found` {
		t.Errorf("of the Pod: %+v", last)
	}
	if last := LastWarning(t.Context(), kube, "shop", "of-nobody"); last != nil {
		t.Errorf("of nobody: %+v", last)
	}
	if progress := AskProgress()(t.Context(), ""); progress != nil {
		t.Errorf("a Pod without an address has moved %+v", progress)
	}
}

func TestAWarningThatNamesACauseIsToldRatherThanANewerOneThatNamesNone(t *testing.T) {
	at := func(minute int, message string) *corev1.Event {
		return &corev1.Event{Message: message, LastTimestamp: metav1.NewTime(time.Date(2026, 5, 4, 12, minute, 0, 0, time.UTC))}
	}
	cause, vague := at(1, `secret "s3" not found`), at(9, "Unable to attach or mount volumes: unmounted volumes=[credentials]")
	if !saysMore(cause, vague) || saysMore(vague, cause) {
		t.Error("the one that names no cause is told")
	}
	if newer := at(2, "no such device"); !saysMore(newer, cause) || saysMore(cause, newer) {
		t.Error("of two causes the older one is told")
	}
}
