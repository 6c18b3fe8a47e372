package observe_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestWhereDataIsIsReadFromPodsAndVolumesAndNotFromTheSpec(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	inMemory := &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{Medium: corev1.StorageMediumMemory}}
	w.cluster.Spec.Storage = inMemory
	w.put(w.pod("demo-1", resources.StartSealed)) // the claim of that name is not its own any more
	w.remove(w.objects["*v1.Pod demo-2"])
	for name, spec := range map[string]*v1alpha1.StorageSpec{"volumes": nil, "memory": inMemory} {
		w.cluster.Spec.Storage = spec
		if r := w.replica("demo-0"); r.Ephemeral || r.Volume == nil {
			t.Errorf("the spec asks for %s, and demo-0 on its volume is %+v", name, r)
		}
		if r := w.replica("demo-1"); r.Storage != (facts.Storage{Ephemeral: true, Medium: "Memory"}) || r.Volume != nil {
			t.Errorf("the spec asks for %s, and demo-1 in its Pod is %+v", name, r)
		}
		if r := w.replica("demo-2"); r.Ephemeral || r.Volume == nil {
			t.Errorf("the spec asks for %s, and demo-2, which has a volume and no Pod, is %+v", name, r)
		}
	}
}

func TestWhereDataIsIsNoSetting(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	before := w.look().Desired.Settings
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	w.put(w.pod("demo-1", resources.StartSealed))
	if d := w.look().Desired; d.Settings != before || d.Storage != (facts.Storage{Ephemeral: true}) {
		t.Errorf("%+v", d)
	}
	if r := w.replica("demo-1"); r.Settings() != before || strings.Contains(r.Settings().Inputs, "ephemeral") {
		t.Errorf("%+v", r.Settings())
	}
}
