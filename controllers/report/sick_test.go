package report

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestDegradedSaysWhichImageCannotBePulledAndWhichNodeKeepsAPod(t *testing.T) {
	const ref = "registry.corp.example/platform/etcd:v3.7.3"
	pulling := func(message string) func(*scene) {
		return func(w *scene) {
			r := w.silent("demo-1").find("demo-1")
			r.Pod.Running, r.Pod.Waiting, r.Pod.Message = false, "ErrImagePull", message
		}
	}
	for name, row := range map[string]struct {
		change func(*scene)
		says   string
	}{
		"of a registry that is not there": {func(w *scene) {
			pulling(`failed to pull and unpack image "` + ref + `": failed to resolve reference "` + ref +
				`": failed to do request: Head "https://registry.corp.example/v2/": dial tcp: lookup registry.corp.example: no such host`)(w)
			w.cluster.Spec.Image = &v1alpha1.ImageSpec{Repository: "registry.corp.example/platform/etcd"}
		}, " The Pod of demo-1 cannot start: its image " + ref + " cannot be pulled: dial tcp: lookup registry.corp.example: no such " +
			"host. Correct spec.image.repository, or what keeps its node from the registry."},
		"of an image that is not there": {pulling(`failed to resolve reference "a/b:v1": a/b:v1: not found`),
			" its image cannot be pulled: a/b:v1: not found. Correct spec.image or the operator's flag --etcd-repository"},
		"of one of which nothing is said": {pulling(""), " its image cannot be pulled, and Kubernetes does not say why."},
		"of a node that is not heard of": {func(w *scene) {
			r := w.silent("demo-1").find("demo-1")
			r.Pod.Terminating, r.Pod.Node, r.Pod.NodeUnheard = true, "n1", begin.Add(time.Minute)
		}, " The Pod of demo-1 is terminating. Its node n1 is not heard of since "},
	} {
		w := demo(3, begin).settled()
		row.change(w)
		got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionDegraded)
		if !strings.Contains(got.Message, row.says) {
			t.Errorf("%s: %s", name, got.Message)
		}
	}
}
