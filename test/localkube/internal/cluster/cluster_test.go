package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/csi"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/provisioner"
)

func newCluster(t *testing.T) *Cluster {
	t.Helper()
	return &Cluster{Paths: layout.Paths{Root: t.TempDir()}, Progress: io.Discard}
}

func TestStateSurvivesAndItsAbsenceIsNamed(t *testing.T) {
	c := newCluster(t)
	if _, err := c.readState(); !errors.Is(err, ErrNotUp) {
		t.Errorf("no state is %v, want ErrNotUp", err)
	}
	want := State{Nodes: 3, Ready: true, KernelSettings: map[string]string{"kernel/panic": "1"}}
	if err := c.writeState(want); err != nil {
		t.Fatal(err)
	}
	got, err := c.readState()
	if err != nil || got.Nodes != 3 || !got.Ready || got.KernelSettings["kernel/panic"] != "1" {
		t.Errorf("read %+v, %v", got, err)
	}
}

// One that was started by an earlier localkube has IPv4, and one that is up is never taken for one of other families.
func TestFamiliesOfAStateAreThoseThatItWasStartedWith(t *testing.T) {
	c := newCluster(t)
	for text, want := range map[string]string{
		`{"nodes": 3}`: "198.18.0.11", `{"nodes": 3, "ipFamilies": "IPv6"}`: "2001:2::11",
		`{"nodes": 3, "ipFamilies": "IPv6,IPv4"}`: "2001:2::11,198.18.0.11",
	} {
		if err := os.WriteFile(c.Paths.State(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := c.readState()
		if err != nil || strings.Join(s.nodes()[0].IPs, ",") != want {
			t.Errorf("%s: %v, %v, want %s", text, s.nodes(), err, want)
		}
		if err := s.checkIs(State{}); err != nil {
			t.Errorf("nothing else is asked for: %v", err)
		}
		if err := s.checkIs(State{Nodes: 3, Families: layout.Families{layout.IPv4, layout.IPv6}}); err == nil {
			t.Errorf("%s is taken for one of IPv4 and IPv6", text)
		}
		if err := c.writeState(s); err != nil {
			t.Fatal(err)
		}
		if again, err := c.readState(); err != nil || !slices.Equal(again.Families.Names(), s.Families.Names()) {
			t.Errorf("written and read again: %v, %v", again.Families.Names(), err)
		}
	}
}

// What is up keeps its Kubernetes: its programs are run, also by commands that name no version, and another is refused.
func TestTheKubernetesOfAStateIsTheOneThatItWasStartedWith(t *testing.T) {
	for text, want := range map[string]string{
		`{"nodes": 3}`: cache.KubernetesVersion, `{"nodes": 3, "kubernetes": "1.34.4"}`: "1.34.4",
	} {
		c := newCluster(t)
		c.Cache = &cache.Cache{Dir: t.TempDir()}
		if err := os.WriteFile(c.Paths.State(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Follow()
		if kubelet := c.Cache.Binary("kubelet"); !strings.Contains(kubelet, "kubernetes-"+want+"-") {
			t.Errorf("%s: kubelet is %s", text, kubelet)
		}
		s, err := c.readState()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.checkIs(State{Kubernetes: want}); err != nil {
			t.Errorf("%s: what it has is asked for: %v", text, err)
		}
		if err := s.checkIs(State{Kubernetes: "1.35.4"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is taken for 1.35.4: %v", text, err)
		}
	}
	c := newCluster(t)
	c.Cache = &cache.Cache{Dir: t.TempDir()}
	c.Follow()
	if c.Cache.Kubernetes != "" {
		t.Errorf("without a state it follows %s", c.Cache.Kubernetes)
	}
}

// An API that is behind a gate is there or not: who asks for it does not get a localkube without it.
func TestOneThatIsUpIsNotTakenForOneWithOtherGatesOrAPIs(t *testing.T) {
	c := newCluster(t)
	c.Cache, c.FeatureGates, c.RuntimeConfig = &cache.Cache{Dir: t.TempDir()}, "EvictionRequestAPI=true", "lifecycle.k8s.io/v1alpha1=true"
	if err := c.writeState(c.asked(3, nil)); err != nil {
		t.Fatal(err)
	}
	s, err := c.readState()
	if err != nil {
		t.Fatal(err)
	}
	for _, fine := range []State{{}, {FeatureGates: c.FeatureGates, RuntimeConfig: c.RuntimeConfig}} {
		if err := s.checkIs(fine); err != nil {
			t.Errorf("%+v: what it has is asked for: %v", fine, err)
		}
	}
	for want, other := range map[string]State{
		c.FeatureGates: {FeatureGates: "PodsAPI=true"}, c.RuntimeConfig: {RuntimeConfig: "api/all=true"},
	} {
		if err := s.checkIs(other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it is taken for %+v, or does not say what it has: %v", other, err)
		}
	}
}

func TestAStateThatIsCutShortIsNotTakenForNone(t *testing.T) {
	c := newCluster(t)
	if err := os.WriteFile(c.Paths.State(), []byte(`{"nodes": 3`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.readState(); err == nil || errors.Is(err, ErrNotUp) {
		t.Errorf("a broken state reads as %v", err)
	}
}

func TestANodeThatDoesNotExistIsRefusedWithTheOnesThatDo(t *testing.T) {
	c := newCluster(t)
	if err := c.writeState(State{Nodes: 2}); err != nil {
		t.Fatal(err)
	}
	if n, err := c.node("node-2"); err != nil || n.IPs[0] != "198.18.0.12" {
		t.Errorf("node-2 is %+v, %v", n, err)
	}
	if _, err := c.node("node-3"); err == nil {
		t.Error("a third of two nodes is found")
	}
}

func TestAnArchiveLoadedAgainReplacesTheOldOneAndIsImportedAnew(t *testing.T) {
	c := newCluster(t)
	source := filepath.Join(t.TempDir(), "operator.tar")
	first := keep(t, c, source, "one")
	marker := filepath.Join(c.Paths.Node("node-1").Imported(), filepath.Base(first))
	if err := os.MkdirAll(filepath.Dir(marker), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := keep(t, c, source, "two")
	if first == second || isThere(first) || isThere(marker) {
		t.Errorf("the old archive or its mark stayed: %s, %s", first, second)
	}
	if third := keep(t, c, source, "one"); third != first || isThere(second) {
		t.Errorf("kept %s, want %s alone", third, first)
	}
}

func keep(t *testing.T, c *Cluster, source, content string) string {
	t.Helper()
	if err := os.WriteFile(source, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := c.keep(source)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestALocalkubeThatIsUpGetsTheImagesThatItLacksOnce(t *testing.T) {
	c := newCluster(t)
	c.Cache = &cache.Cache{Dir: t.TempDir(), EtcdVersions: []string{"3.6.16"}}
	programs := filepath.Dir(c.Cache.Etcd())
	if err := os.MkdirAll(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd", "etcdctl", "etcdutl"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := State{Nodes: 2, Ready: true, EtcdVersions: []string{"3.7.3"}}
	if err := c.writeState(state); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.addEtcd(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		kept, err := filepath.Glob(filepath.Join(c.Paths.Archives(), "etcd-3.6.16@*.tar"))
		if err != nil || len(kept) != 1 {
			t.Errorf("nodes that start later find %v, %v", kept, err)
		}
		if state, err = c.readState(); err != nil || !slices.Equal(state.EtcdVersions, []string{"3.7.3", "3.6.16"}) {
			t.Errorf("it has %v, %v", state.EtcdVersions, err)
		}
		if err := os.RemoveAll(programs); err != nil { // the second time nothing is written
			t.Fatal(err)
		}
	}
}

func TestANodeCountsOnceItIsReadyAndFreeOfTaints(t *testing.T) {
	const list = `{"items": [
	 {"metadata": {"name": "good"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
	 {"metadata": {"name": "tainted"}, "spec": {"taints": [{"key": "k"}]}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
	 {"metadata": {"name": "unknown"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
	 {"metadata": {"name": "pressed"}, "status": {"conditions": [{"type": "MemoryPressure", "status": "True"}]}}]}`
	var nodes nodeList
	if err := json.Unmarshal([]byte(list), &nodes); err != nil {
		t.Fatal(err)
	}
	if ready := nodes.ready(); len(ready) != 1 || !ready["good"] {
		t.Errorf("ready are %v", ready)
	}
}

func TestTheManifestIsRenderedWhole(t *testing.T) {
	data, err := renderManifest("base.yaml", layout.IPv6)
	if err != nil || !bytes.Contains(data, []byte("\nprovisioner: "+provisioner.Name+"\n")) {
		t.Errorf("%v:\n%s", err, data)
	}
}

func TestClassesOfVolumesThatGrowAreTheDrivers(t *testing.T) {
	data, err := renderManifest("csi.yaml", layout.IPv4)
	const classes = 4
	if err != nil || bytes.Count(data, []byte("\nprovisioner: "+csi.Name+"\n")) != classes || bytes.Contains(data, []byte("<no value>")) {
		t.Errorf("%v:\n%s", err, data)
	}
}

func TestOnceTheDriverWasStartedItsPartsBelongToEachHost(t *testing.T) {
	for _, host := range []string{layout.ControlPlane, "node-1"} {
		without, with := State{}.daemons(host), State{CSI: true}.daemons(host)
		if slices.ContainsFunc(without, isOfDriver) || !slices.ContainsFunc(with, isOfDriver) {
			t.Errorf("%s has %v, and with the driver %v", host, without, with)
		}
	}
}

func isOfDriver(daemon string) bool { return strings.HasPrefix(daemon, "csi-") }
