package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestBackupsRunFromTheOperatorsOwnImageUnlessAnotherIsGiven(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "manager-x"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "mesh", Image: "mesh:v2"}, {Name: "manager", Image: "steward:v1"}}},
	}
	kube := kubefake.NewClientBuilder().WithObjects(pod).Build()
	for _, row := range []struct {
		name, given string
		self        types.NamespacedName
		want        string
	}{
		{"in its Pod", "", types.NamespacedName{Namespace: "ops", Name: "manager-x"}, "steward:v1"},
		{"with another image given", "mirror/steward:v1", types.NamespacedName{Namespace: "ops", Name: "manager-x"}, "mirror/steward:v1"},
		{"outside of any Pod", "", types.NamespacedName{}, ""},
		{"in a Pod that it cannot find", "", types.NamespacedName{Namespace: "ops", Name: "gone"}, ""},
	} {
		got, err := AgentImage(row.given, kube, row.self)(t.Context())
		if err != nil || got != row.want {
			t.Errorf("%s: %q, %v; want %q", row.name, got, err, row.want)
		}
	}
}
