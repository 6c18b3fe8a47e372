package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

// fakeWorld plays scenarios on the fake. A moment is 200 ms of its own clock.
type fakeWorld struct {
	t         testing.TB
	clock     time.Time
	network   *fake.Network
	processes map[string]*fake.Process
}

func newFakeWorld(t testing.TB) *fakeWorld {
	w := &fakeWorld{t: t, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), processes: map[string]*fake.Process{}}
	w.network = fake.New(w.now)
	return w
}

func (w *fakeWorld) start(l launch) {
	var version etcdutil.Version
	if l.version != "" {
		version = versionOf(&play{TB: w.t}, l.version)
	}
	w.processes[l.name] = w.network.Start(l.dir, fake.Flags{
		Version:             version,
		Name:                l.name,
		PeerURL:             w.peerURL(l.name),
		ClientURL:           "http://" + w.address(l.name),
		InitialCluster:      l.initialCluster(w),
		InitialClusterState: l.state,
		InitialClusterToken: l.token,
		Address:             w.address(l.name),
	})
}

func (w *fakeWorld) stop(name string) { w.processes[name].Stop() }

func (w *fakeWorld) ended(name string) bool { return w.processes[name].Exited() != nil }

func (w *fakeWorld) exit(name string) exit {
	w.t.Helper()
	ended := w.processes[name].Exited()
	if ended == nil {
		w.t.Fatalf("%s still runs", name)
	}
	return exit{code: ended.Code, message: ended.Message, log: ended.Message}
}

func (w *fakeWorld) wipe(dir string)            { w.network.WipeDir(dir) }
func (w *fakeWorld) copy(from, to string)       { w.network.CopyDir(from, to) }
func (w *fakeWorld) peerURL(name string) string { return "http://" + name + ":2380" }
func (w *fakeWorld) address(name string) string { return name + ":2379" }
func (w *fakeWorld) put(name string) error      { return w.processes[name].Put() }
func (w *fakeWorld) pass()                      { w.clock = w.clock.Add(200 * time.Millisecond) }
func (w *fakeWorld) now() time.Time             { return w.clock }

func (w *fakeWorld) dial(name string) client.Client {
	c, err := w.network.Dialer().Dial(client.Endpoint{Address: w.address(name)})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestTheFakeKeepsTheContract(t *testing.T) {
	for _, s := range slices.Concat(scenarios, youngScenarios) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(&play{TB: t, world: newFakeWorld(t)})
		})
	}
}
