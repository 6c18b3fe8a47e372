package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// The operator may be newer than the cluster. The API server lets its spec be edited, since that field is not touched.
func TestAClusterWhoseAnnotationsLoosenPodsIsRepairedAndFollowsItsSpecWithAWarning(t *testing.T) {
	const profile = "container.apparmor.security.beta.kubernetes.io/etcd"
	w := newWorld(t, demo(3))
	w.settle()
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) {
		spec.Pod = &v1alpha1.PodSpec{Annotations: map[string]string{profile: "unconfined"}}
	})
	w.loseData("demo-1")
	w.resize(5)
	w.settle()
	if len(w.pods()) != 5 || w.status().ReadyMembers != 5 {
		t.Errorf("it has %d Pods, and %d members are ready", len(w.pods()), w.status().ReadyMembers)
	}
	for _, pod := range w.pods() {
		if value, has := pod.Annotations[profile]; has {
			t.Errorf("%s has the profile %q", pod.Name, value)
		}
	}
	warning := meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionUpToDate)
	if !strings.Contains(warning.Message, "spec.pod.annotations must not loosen seccomp or AppArmor") {
		t.Errorf("it is not said: %+v", warning)
	}
}

// toAll is a cluster without TLS on every node, as earlier releases accepted it.
func toAll(spec *v1alpha1.EtcdClusterSpec) {
	spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	spec.Service = &v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort}
}

func TestAClusterWithoutTLSThatAllCanReachIsNotMadeUntilItIsClosed(t *testing.T) {
	begins := demo(3)
	toAll(&begins.Spec)
	w := newWorld(t, begins)
	for range 5 {
		w.look()
	}
	if next := w.status().NextStep; next.Reason != facts.ReasonSpecRefused || !strings.Contains(next.Message, "all who reach it") || len(w.pods()) > 0 {
		t.Fatalf("it has %d Pods and the step %+v", len(w.pods()), next)
	}
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) { spec.Service = nil })
	w.settle()
}

// The operator may be newer than the cluster: what it would refuse must not keep it from repairing.
func TestAClusterWithoutTLSThatAllCanReachAlreadyIsRepairedAndFollowsItsSpecWithAWarning(t *testing.T) {
	begins := demo(3)
	begins.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	w := newWorld(t, begins)
	w.settle()
	w.edit(toAll)
	w.settle()
	warned := func() bool {
		condition := meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionUpToDate)
		return strings.Contains(condition.Message, "spec.service.type is NodePort while spec.tls.mode is Disabled")
	}
	if !warned() {
		t.Errorf("it is not said: %+v", w.status().Conditions)
	}
	w.loseData("demo-1")
	w.resize(5)
	w.settle()
	if len(w.pods()) != 5 || w.status().ReadyMembers != 5 {
		t.Errorf("it has %d Pods, and %d members are ready", len(w.pods()), w.status().ReadyMembers)
	}
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) { spec.Service = nil })
	w.settle()
	if warned() {
		t.Error("it is closed, and the warning stays")
	}
}
