package apply

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// resize holds patches of pods/resize to what a real API server takes: of one Pod, and nothing of its metadata.
func (w *world) resize(ctx context.Context, _ ctrlclient.Client, name string, object ctrlclient.Object,
	p ctrlclient.Patch, _ ...ctrlclient.SubResourcePatchOption) error {
	body, err := p.Data(object)
	if err != nil {
		return err
	}
	var patch struct{ Metadata map[string]string }
	if err := json.Unmarshal(body, &patch); err != nil || name != "resize" || len(patch.Metadata) != 1 ||
		patch.Metadata["uid"] == "" || p.Type() != types.StrategicMergePatchType {
		w.wrong("%s of %s is patched by %s %s", name, object.GetName(), p.Type(), body)
	}
	return w.call(true, "resize "+object.GetName(), func() error {
		if w.resizing != nil {
			return w.resizing
		}
		return w.inner.Patch(ctx, object, p)
	})
}

// withAmounts are the settings of the cluster with other amounts.
func withAmounts(c *v1alpha1.EtcdCluster, cpu, memory, limit string) facts.Settings {
	c = c.DeepCopy()
	c.Spec.Pod = &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{
		Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: v1alpha1.Amount(cpu),
			corev1.ResourceMemory: v1alpha1.Amount(memory)},
	}}
	if limit != "" {
		c.Spec.Pod.Resources.Limits = map[corev1.ResourceName]v1alpha1.Amount{
			corev1.ResourceMemory: v1alpha1.Amount(limit)}
	}
	return settings(c)
}

func TestAPodGetsOtherAmountsAndSaysThatItWasMadeFromThem(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	before := w.pod(t, "demo-1")
	for _, wanted := range []facts.Settings{withAmounts(w.cluster, "300m", "1Gi", "2Gi"),
		withAmounts(w.cluster, "100m", "512Mi", "")} {
		w.mustDo(t, bootstrapped(), changes.ResizePod{Pod: ref(before), Settings: wanted})
		pod := w.pod(t, "demo-1")
		if pod.UID != before.UID || pod.Annotations[v1alpha1.AnnotationInputs] != wanted.Inputs ||
			!resources.HasItsAmounts(pod) {
			t.Errorf("%+v of %q", pod.Spec.Containers[0].Resources, pod.Annotations[v1alpha1.AnnotationInputs])
		}
	}
	if limits := w.pod(t, "demo-1").Spec.Containers[0].Resources.Limits; len(limits) > 0 {
		t.Errorf("what is not wanted any more is not asked to go: %v", limits)
	}
}

func TestWhatAResizeIsAnsweredIsToldApart(t *testing.T) {
	unknown := &apierrors.StatusError{ErrStatus: apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "").ErrStatus}
	for name, tc := range map[string]struct {
		answer error
		reason string
		says   string
	}{
		"by a Kubernetes without it":       {unknown, RejectedInvalid, "no pods/resize"},
		"by one that takes no patch of it": {apierrors.NewMethodNotSupported(pods, "patch"), RejectedInvalid, "1.33"},
		"where the QoS class would change": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "demo-1", nil),
			RejectedInvalid, "invalid"},
		"without the right to": {apierrors.NewForbidden(pods, "demo-1", errors.New("no right")), RejectedForbidden,
			"forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, demo())
			wholeCluster(t, w)
			w.resizing = tc.answer
			before := w.pod(t, "demo-1")
			err := w.do(t, bootstrapped(), changes.ResizePod{Pod: ref(before), Settings: withAmounts(w.cluster, "1", "1Gi", "")})
			if !isRejected(err, tc.reason) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v", err)
			}
			if said := w.pod(t, "demo-1").Annotations[v1alpha1.AnnotationInputs]; said !=
				before.Annotations[v1alpha1.AnnotationInputs] {
				t.Errorf("the Pod says that it was made from what was refused: %q", said)
			}
		})
	}
}
