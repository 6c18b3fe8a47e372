package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (w *world) services() []corev1.Service {
	w.t.Helper()
	var services corev1.ServiceList
	if err := w.kube.List(w.t.Context(), &services); err != nil {
		w.t.Fatal(err)
	}
	return services.Items
}

// nameByEarlierRelease makes Pods and Services as before members' Pods had a name of their own.
func (w *world) nameByEarlierRelease() {
	w.t.Helper()
	update := func(object client.Object) {
		if err := w.kube.Update(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, pod := range w.pods() {
		pod.Labels[v1alpha1.LabelName] = v1alpha1.NameValue
		update(&pod)
	}
	for _, service := range w.services() {
		service.Spec.Selector[v1alpha1.LabelName] = v1alpha1.NameValue
		update(&service)
	}
}

// checkFound says which Pods the Services do not select.
func (w *world) checkFound() {
	w.t.Helper()
	pods := w.pods()
	if len(pods) != 3 {
		w.t.Errorf("%d Pods", len(pods))
	}
	for _, service := range w.services() {
		for _, pod := range pods {
			if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				w.t.Errorf("%s, which selects %v, does not find %s: %v", service.Name, service.Spec.Selector, pod.Name, pod.Labels)
			}
		}
	}
}

func TestAMemberThatRestartsWhileAPolicyKeepsTheServicesAsTheyWereIsFoundByThem(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.nameByEarlierRelease()
	w.delete(&corev1.Pod{}, "demo-1")
	refused := 0
	w.onApply = func() error {
		refused++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "demo", errors.New("the policy of an earlier release"))
	}
	w.some(20)
	if refused == 0 {
		t.Error("no Service was to be changed")
	}
	w.checkFound()
	w.onApply = nil
	w.settle()
	w.checkFound()
	for _, pod := range w.pods() {
		if pod.Labels[v1alpha1.LabelName] != v1alpha1.MemberNameValue {
			t.Errorf("%s keeps %v", pod.Name, pod.Labels)
		}
	}
}
