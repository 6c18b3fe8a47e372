package layout

import (
	"net/netip"
	"testing"
)

var dual = Families{IPv4, IPv6}

func TestEveryAddressIsInTheTestRangeAndHasOneOwner(t *testing.T) {
	for i, family := range dual {
		all, services, pods := netip.MustParsePrefix(family.Range), netip.MustParsePrefix(family.Services), netip.MustParsePrefix(family.Pods)
		hosts := netip.PrefixFrom(netip.MustParseAddr(family.Machine), family.HostsPrefix).Masked()
		if services.Overlaps(hosts) || services.Overlaps(pods) || pods.Overlaps(hosts) || !all.Contains(services.Addr()) {
			t.Fatalf("hosts %s, Services %s and Pods %s share addresses, or lie outside %s", hosts, services, pods, all)
		}
		for _, address := range []string{family.APIService, family.DNSService} {
			if !services.Contains(netip.MustParseAddr(address)) {
				t.Errorf("%s is not in %s", address, services)
			}
		}
		owners := map[netip.Addr]string{
			netip.MustParseAddr(family.Machine): "machine", netip.MustParseAddr(family.ControlPlane): ControlPlane,
		}
		for _, n := range dual.Nodes(MaxNodes) {
			address := netip.MustParseAddr(n.IPs[i])
			if other, taken := owners[address]; taken || !hosts.Contains(address) || address == netip.MustParseAddr("198.18.0.255") {
				t.Errorf("%s has address %s, taken by %q or not a host's", n.Name, address, other)
			}
			owners[address] = n.Name
			if p := netip.MustParsePrefix(n.PodCIDRs[i]); !pods.Contains(p.Addr()) || !all.Contains(p.Addr()) {
				t.Errorf("the Pods of %s are in %s, outside %s", n.Name, p, pods)
			}
		}
	}
}

func TestPodRangesOfNodesAreDisjoint(t *testing.T) {
	owners := map[netip.Prefix]string{}
	for _, n := range dual.Nodes(MaxNodes) {
		for _, cidr := range n.PodCIDRs {
			p := netip.MustParsePrefix(cidr)
			if other, taken := owners[p]; taken {
				t.Errorf("%s and %s both have %s", n.Name, other, p)
			}
			owners[p] = n.Name
		}
	}
}

func TestFamiliesAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{"IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4"} {
		var families Families
		err := families.UnmarshalText([]byte(text))
		if written, _ := families.MarshalText(); err != nil || string(written) != text {
			t.Errorf("%s is read as %s, %v", text, written, err)
		}
	}
	for _, text := range []string{"", "ipv6", "IPv4,IPv4", "IPv4, IPv6", "IPv4,IPv6,IPv4"} {
		if err := new(Families).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if url := (Families{IPv6, IPv4}).APIServerURL(); url != "https://[2001:2::2]:6443" {
		t.Errorf("the API server is at %s", url)
	}
}

func TestAContainerdSocketFitsIntoASocketAddress(t *testing.T) {
	const limit = 107 // unix(7): sun_path, less its final zero
	if path := Default().Node(NodeName(MaxNodes)).ContainerdSocket(); len(path) > limit {
		t.Errorf("%s has %d characters, the kernel takes %d", path, len(path), limit)
	}
}
