package cluster

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// imagesOf are the images of the members, and the UIDs of their Pods.
func (w *world) imagesOf() (images map[string]string, uids map[string]types.UID) {
	w.t.Helper()
	images, uids = map[string]string{}, map[string]types.UID{}
	for _, pod := range w.pods() {
		images[pod.Name], uids[pod.Name] = pod.Spec.Containers[0].Image, pod.UID
	}
	return images, uids
}

func TestAnOperatorWithOtherImageFlagsRestartsNoMemberAndGivesThemToThePodsThatItMakes(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	_, before := w.imagesOf()
	w.images = resources.ImageDefaults{Repository: "mirror.example.com/etcd", PullSecrets: []string{"mirror"},
		Digests: map[string]string{"3.6.16": "sha256:" + strings.Repeat("a", 64)}}
	w.restart()
	written := len(w.writes)
	w.settle()
	if _, after := w.imagesOf(); !maps.Equal(before, after) || len(w.writes) != written {
		t.Fatalf("other flags moved the Pods from %v to %v, by %v", before, after, w.writes[written:])
	}
	w.delete(&corev1.Pod{}, "demo-1")
	w.settle()
	images, _ := w.imagesOf()
	if images["demo-1"] != "mirror.example.com/etcd@"+w.images.Digests["3.6.16"] ||
		images["demo-0"] != "gcr.io/etcd-development/etcd:v3.6.16" {
		t.Errorf("%v", images)
	}
}

func TestAMemberThatWaitsForAnImageFollowsFlagsThatArePutRight(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.images, w.missing = resources.ImageDefaults{Repository: "wrong.example.com/etcd"}, "wrong.example.com/"
	w.restart()
	w.delete(&corev1.Pod{}, "demo-1")
	for range 5 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if next := w.status().NextStep; next.Reason != facts.ReasonImagePull || !strings.Contains(next.Message, "--etcd-repository") {
		t.Fatalf("it says %+v", next)
	}
	_, before := w.imagesOf()
	w.images.Repository = "mirror.example.com/etcd"
	w.restart()
	w.settle()
	images, after := w.imagesOf()
	if !strings.HasPrefix(images["demo-1"], "mirror.example.com/etcd:") || after["demo-1"] == before["demo-1"] {
		t.Errorf("the Pod that could not start stays: %v", images)
	}
	if after["demo-0"] != before["demo-0"] || after["demo-2"] != before["demo-2"] {
		t.Error("members that run were restarted")
	}
}
