package observe_test

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// outdated are the members that do not run what the spec asks for now, and those whose volumes ask for something else.
func (w *world) outdated() (pods, volumes []string) {
	w.t.Helper()
	o := w.look()
	for _, r := range o.Current.Members {
		if r.Pod.Settings != o.Desired.Settings {
			pods = append(pods, r.Name)
		}
		if r.Volume.Settings != o.Desired.Settings {
			volumes = append(volumes, r.Name)
		}
	}
	return pods, volumes
}

func TestARestartOnDemandIsASettingWhileItIsAskedForAndNoneWhenItIsNot(t *testing.T) {
	w := newBootstrappedWorld(t)
	ask := func(value string) { w.cluster.Annotations = map[string]string{v1alpha1.AnnotationRestartedAt: value} }
	expect := func(when string, pods, volumes int) {
		t.Helper()
		if p, v := w.outdated(); len(p) != pods || len(v) != volumes {
			t.Errorf("%s: the Pods %v and the volumes %v are outdated, want %d and %d", when, p, v, pods, volumes)
		}
	}
	expect("no restart is asked for", 0, 0)
	ask("2026-01-31T12:00:00Z")
	expect("a restart is asked for", 3, 3)
	w.put(w.volume("demo-2"))
	expect("it is written on a volume", 3, 2)
	w.cluster.Annotations = nil
	expect("it is called off midway", 0, 0)
	ask("2026-01-31T12:00:00Z")
	expect("it is asked for again", 3, 2)
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		w.put(w.volume(name))
		w.put(w.pod(name, resources.StartSealed))
	}
	expect("it is done", 0, 0)
	w.cluster.Annotations = nil
	expect("the annotation is taken away", 0, 0)
	ask("at\n")
	expect("what is no value restarts no member", 0, 0)
	ask("2026-02-01T12:00:00Z")
	expect("another restart is asked for", 3, 3)
}
