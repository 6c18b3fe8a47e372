package cluster

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// turn has the spec ask for a mode of TLS, and follows until that is reached.
func (w *world) turn(mode v1alpha1.TLSMode) {
	w.t.Helper()
	w.edit(func(s *v1alpha1.EtcdClusterSpec) { s.TLS = &v1alpha1.TLSSpec{Mode: mode} })
	w.settle()
}

func TestTLSIsTurnedOnAndOffAgainByWayOfBoth(t *testing.T) {
	c := demo(3)
	withoutTLS(c)
	w := newWorld(t, c)
	w.settle()
	ids := map[string]etcdutil.ID{}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		ids[name] = w.processes[w.podOf(name).UID].ID()
	}
	for _, step := range []struct {
		mode v1alpha1.TLSMode
		want etcdutil.Transport
	}{
		{v1alpha1.TLSPermissive, etcdutil.TransportPermissive},
		{v1alpha1.TLSManaged, etcdutil.TransportTLS},
		{v1alpha1.TLSPermissive, etcdutil.TransportPermissive},
		{v1alpha1.TLSDisabled, etcdutil.TransportPlain},
	} {
		w.turn(step.mode)
		for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
			pod := w.podOf(name)
			if got, isSaid := resources.TransportOf(pod); !isSaid || got != step.want {
				t.Errorf("after a turn to %s %s is reached %q", step.mode, name, got)
			}
			if id := w.processes[pod.UID].ID(); id != ids[name] {
				t.Errorf("after a turn to %s %s is member %s", step.mode, name, id)
			}
		}
	}
}
