package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/pki"
)

func TestNodesAreConfiguredApartFromEachOther(t *testing.T) {
	paths := layout.Paths{Root: t.TempDir()}
	runner := Runner{Paths: paths, Domain: "example.internal"}
	authority, err := pki.NewAuthority(paths.PKI())
	if err != nil {
		t.Fatal(err)
	}
	nodes := layout.Nodes(2)
	for _, n := range nodes {
		if err := runner.configure(authority, n); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range nodes {
		other := nodes[1-i]
		for _, file := range []string{"containerd.toml", "kubelet.yaml", "cni/cni.conflist"} {
			data, err := os.ReadFile(paths.Node(n.Name).Config(file))
			if err != nil {
				t.Fatal(err)
			}
			for _, foreign := range []string{other.Name + "/", other.IP, other.PodCIDR, "<no value>"} {
				if strings.Contains(string(data), foreign) {
					t.Errorf("%s of %s speaks of %s:\n%s", file, n.Name, foreign, data)
				}
			}
			if file == "kubelet.yaml" && !strings.Contains(string(data), "clusterDomain: example.internal\n") {
				t.Errorf("the kubelet of %s does not complete names with the domain:\n%s", n.Name, data)
			}
		}
	}
}

func TestPodsGetAddressesOfTheirNode(t *testing.T) {
	paths := layout.Paths{Root: t.TempDir()}
	runner := Runner{Paths: paths, Domain: "example.internal"}
	authority, err := pki.NewAuthority(paths.PKI())
	if err != nil {
		t.Fatal(err)
	}
	n := layout.Nodes(2)[1]
	if err := runner.configure(authority, n); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(paths.Node(n.Name).Config("cni"), "cni.conflist"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Plugins []struct {
			IPAM struct {
				Ranges [][]struct {
					Subnet string `json:"subnet"`
				} `json:"ranges"`
			} `json:"ipam"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if got := list.Plugins[0].IPAM.Ranges[0][0].Subnet; got != n.PodCIDR {
		t.Errorf("Pods of %s get addresses from %s, want %s", n.Name, got, n.PodCIDR)
	}
}

func TestMountsOfANodeHideEveryDirectoryThatIsHardWired(t *testing.T) {
	script, err := mountScript(layout.Paths{Root: t.TempDir()}.Node("node-1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append([]string{"/run"}, Directories...) {
		if !strings.Contains(script, " "+d+"\n") {
			t.Errorf("%s of the machine is seen by the node:\n%s", d, script)
		}
	}
}
