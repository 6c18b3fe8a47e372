package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestATrialIsMadeOnTheMembersNodeAndDeletedByItsUID(t *testing.T) {
	w := newWorld(t, demo())
	inputs := resources.Inputs(w.cluster)
	inputs.Version = "3.7.3"
	start := changes.StartTrials{
		Beside:  []changes.Place{{Member: "demo-0", Node: "node-a"}, {Member: "demo-1", Node: "node-b"}},
		Choices: facts.Choices{Version: etcdutil.Version{Major: 3, Minor: 7, Patch: 3}, Inputs: inputs.Canonical()},
	}
	for range 2 {
		w.mustDo(t, born(), start)
	}
	pod := w.pod(t, "demo-1-trial")
	image, want := pod.Spec.Containers[0].Image, resources.DefaultRepository+":v3.7.3"
	if pod.Spec.NodeName != "node-b" || image != want {
		t.Errorf("%s on %s", image, pod.Spec.NodeName)
	}
	deletion := func(uid string) changes.DeleteTrials {
		return changes.DeleteTrials{Pods: []facts.PodRef{{Name: "demo-1", UID: uid}}}
	}
	w.mustDo(t, born(), deletion("of before"))
	w.pod(t, "demo-1-trial")
	w.mustDo(t, born(), deletion(string(pod.UID)))
	if err := w.inner.Get(t.Context(), keyOf("demo-1-trial"), &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	w.pod(t, "demo-0-trial")
}
