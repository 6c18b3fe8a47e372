package apply

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestTheClaimOfALogGetsItsOwnClassAndNoneAgainWhereThatIsTakenBack(t *testing.T) {
	w := loggedWorld(t)
	data, log := w.halves(t, "demo-0")
	before := data.ResourceVersion
	w.cluster.Spec.Storage.WAL.VolumeAttributesClassName = "fast"
	change := changes.ModifyVolume{Volume: facts.VolumeRef{Name: log.Name, UID: string(log.UID)}, Class: "fast", LogOf: "demo-0"}
	w.mustDo(t, bootstrapped(), change)
	data, log = w.halves(t, "demo-0")
	if asks := log.Spec.VolumeAttributesClassName; asks == nil || *asks != "fast" || data.ResourceVersion != before {
		t.Errorf("the log asks for %v; the data was %s and is %s", asks, before, data.ResourceVersion)
	}
	w.cluster.Spec.Storage.WAL.VolumeAttributesClassName = ""
	change.Class = ""
	w.mustDo(t, bootstrapped(), change)
	_, log = w.halves(t, "demo-0")
	if _, isSaid := log.Annotations[v1alpha1.AnnotationAttributesClass]; isSaid || log.Spec.VolumeAttributesClassName != nil {
		t.Errorf("it asks for %v, and says %v", log.Spec.VolumeAttributesClassName, log.Annotations)
	}
	w.cluster.Spec.Storage.WAL = nil
	if err := w.do(t, bootstrapped(), change); !errors.Is(err, ErrStale) {
		t.Errorf("the spec asks for no such volume any more: %v", err)
	}
}

func TestAKubernetesThatLeavesTheClassOutIsTold(t *testing.T) {
	w := loggedWorld(t)
	w.client = interceptor.NewClient(w.inner, interceptor.Funcs{Patch: func(ctx context.Context, c ctrlclient.WithWatch,
		object ctrlclient.Object, patch ctrlclient.Patch, options ...ctrlclient.PatchOption) error {
		err := c.Patch(ctx, object, patch, options...)
		if claim, isClaim := object.(*corev1.PersistentVolumeClaim); isClaim {
			claim.Spec.VolumeAttributesClassName = nil
		}
		return err
	}})
	data, _ := w.halves(t, "demo-0")
	var refused Rejected
	err := w.do(t, bootstrapped(), changes.ModifyVolume{Volume: facts.VolumeRef{Name: data.Name, UID: string(data.UID)},
		Class: "fast"})
	if !errors.As(err, &refused) || refused.Reason != RejectedModifying {
		t.Errorf("it is told as %v", err)
	}
}
