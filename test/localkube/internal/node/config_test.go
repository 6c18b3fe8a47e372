package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/pki"
)

func TestNodesAreConfiguredApartFromEachOther(t *testing.T) {
	r, nodes := configured(t, layout.Families{layout.IPv4, layout.IPv6})
	for i, n := range nodes {
		other := nodes[1-i]
		for _, file := range []string{"containerd.toml", "kubelet.yaml", "cni/cni.conflist"} {
			data, err := os.ReadFile(r.Paths.Node(n.Name).Config(file))
			if err != nil {
				t.Fatal(err)
			}
			for _, foreign := range append(slices.Concat(other.IPs, other.PodCIDRs), other.Name+"/", "<no value>") {
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

func TestPodsGetAnAddressOfTheirNodeAndAWayOutOfEachFamily(t *testing.T) {
	for _, families := range []layout.Families{{layout.IPv4}, {layout.IPv6}, {layout.IPv6, layout.IPv4}} {
		r, nodes := configured(t, families)
		n := nodes[1]
		data, err := os.ReadFile(filepath.Join(r.Paths.Node(n.Name).Config("cni"), "cni.conflist"))
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Plugins []struct {
				IPAM struct {
					Ranges [][]struct{ Subnet string }
					Routes []struct{ Dst string }
				}
			}
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		var ranges, ways []string
		for _, set := range list.Plugins[0].IPAM.Ranges {
			ranges = append(ranges, set[0].Subnet)
		}
		for _, way := range list.Plugins[0].IPAM.Routes {
			ways = append(ways, way.Dst)
		}
		if !slices.Equal(ranges, n.PodCIDRs) || len(ways) != len(families) || ways[0] != families[0].Any {
			t.Errorf("%v: Pods of %s get addresses from %v and go out by %v", families.Names(), n.Name, ranges, ways)
		}
	}
}

// configured has two nodes of which everything is on disk.
func configured(t *testing.T, families layout.Families) (Runner, []layout.Node) {
	t.Helper()
	r := Runner{Paths: layout.Paths{Root: t.TempDir()}, Families: families, Domain: "example.internal"}
	ca, err := pki.NewCA(r.Paths.PKI())
	if err != nil {
		t.Fatal(err)
	}
	nodes := families.Nodes(2)
	for _, n := range nodes {
		if err := r.configure(ca, n); err != nil {
			t.Fatal(err)
		}
	}
	return r, nodes
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
