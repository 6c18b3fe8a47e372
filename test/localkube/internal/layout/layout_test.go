package layout

import (
	"net/netip"
	"testing"
)

func TestEveryAddressIsInTheTestRangeAndHasOneOwner(t *testing.T) {
	all := netip.MustParsePrefix(Range)
	hosts := netip.MustParsePrefix("198.18.0.0/24")
	services := netip.MustParsePrefix(ServicesCIDR)
	pods := netip.MustParsePrefix(PodsCIDR)
	if services.Overlaps(hosts) || services.Overlaps(pods) || pods.Overlaps(hosts) {
		t.Fatalf("hosts %s, Services %s and Pods %s share addresses", hosts, services, pods)
	}
	owners := map[netip.Addr]string{
		netip.MustParseAddr(MachineIP): "machine", netip.MustParseAddr(ControlPlaneIP): ControlPlane,
	}
	for _, n := range Nodes(MaxNodes) {
		address := netip.MustParseAddr(n.IP)
		if other, taken := owners[address]; taken || !hosts.Contains(address) || address == netip.MustParseAddr("198.18.0.255") {
			t.Errorf("%s has address %s, taken by %q or not a host's", n.Name, address, other)
		}
		owners[address] = n.Name
		if p := netip.MustParsePrefix(n.PodCIDR); !pods.Contains(p.Addr()) || !all.Contains(p.Addr()) {
			t.Errorf("the Pods of %s are in %s, outside %s", n.Name, p, pods)
		}
	}
}

func TestPodRangesOfNodesAreDisjoint(t *testing.T) {
	owners := map[netip.Prefix]string{}
	for _, n := range Nodes(MaxNodes) {
		p := netip.MustParsePrefix(n.PodCIDR)
		if other, taken := owners[p]; taken {
			t.Errorf("%s and %s both have %s", n.Name, other, p)
		}
		owners[p] = n.Name
	}
}

func TestAContainerdSocketFitsIntoASocketAddress(t *testing.T) {
	const limit = 107 // unix(7): sun_path, less its final zero
	if path := Default().Node(NodeName(MaxNodes)).ContainerdSocket(); len(path) > limit {
		t.Errorf("%s has %d characters, the kernel takes %d", path, len(path), limit)
	}
}
