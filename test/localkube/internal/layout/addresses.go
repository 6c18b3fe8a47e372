// Package layout says where everything of a localkube lives: which address each host, Pod and Service has, and which
// directory holds what. It only computes; it touches nothing.
//
// All addresses come from ranges that are set aside for test networks, 198.18.0.0/15 by RFC 2544 and 2001:2::/48 by RFC
// 5180, so that nothing here can collide with a network the machine is really attached to.
package layout

import (
	"fmt"
	"net"
	"strings"
)

// Family is one family of addresses, by the name that Kubernetes has for it, and what has which address of it.
type Family struct {
	Name string
	// Any is the range of every address that there is.
	Any string
	// Range holds every address of a localkube; outside the machine it is unreachable by a route of that name.
	Range string
	// HostsPrefix is the length of the network that all hosts share.
	HostsPrefix int
	// Machine is the address of this machine on that network; Pods reach a process of the machine under it.
	Machine string
	// ControlPlane is the host that runs etcd, the API server, its controllers and DNS.
	ControlPlane string
	// Pods holds the Pods of all nodes, with a part for each.
	Pods string
	// Services is where Services get their virtual addresses.
	Services string
	// APIService is the address of the Service `kubernetes`, the first of Services.
	APIService string
	// DNSService is the address Pods find in their resolv.conf.
	DNSService string

	node, podsOfNode       string // with a number
	beforeNode, beforePods int    // what the ordinal of a node is added to
}

// The two families. Numbers of nodes are written the same in both, and read in each as its numbers are.
var (
	IPv4 = Family{
		Name: "IPv4", Any: "0.0.0.0/0", Range: "198.18.0.0/15", HostsPrefix: 24, Machine: "198.18.0.1", ControlPlane: "198.18.0.2",
		Pods: "198.19.0.0/16", Services: "198.18.128.0/20", APIService: "198.18.128.1", DNSService: "198.18.128.10",
		node: "198.18.0.%d", podsOfNode: "198.19.%d.0/24", beforeNode: 10,
	}
	IPv6 = Family{
		Name: "IPv6", Any: "::/0", Range: "2001:2::/48", HostsPrefix: 64, Machine: "2001:2::1", ControlPlane: "2001:2::2",
		Pods: "2001:2:0:1000::/52", Services: "2001:2:0:80::/112", APIService: "2001:2:0:80::1", DNSService: "2001:2:0:80::10",
		node: "2001:2::%d", podsOfNode: "2001:2:0:%d::/64", beforeNode: 10, beforePods: 1000,
	}
)

// Domain is the DNS domain of Services, unless another is asked for.
const Domain = "cluster.local"

// MaxNodes is bounded by the host addresses of IPv4 from .11 to .250.
const MaxNodes = 240

// ControlPlane is the name of the host that is no node.
const ControlPlane = "control-plane"

// Families are those that a localkube has, in the order in which it prefers them.
type Families []Family

// Names are what Kubernetes calls them.
func (f Families) Names() []string { return f.each(func(family Family) string { return family.Name }) }

// ControlPlanes are the addresses of the control plane, one of each family.
func (f Families) ControlPlanes() []string {
	return f.each(func(family Family) string { return family.ControlPlane })
}

// APIServices are the addresses of the Service `kubernetes`, should it have one of each family.
func (f Families) APIServices() []string {
	return f.each(func(family Family) string { return family.APIService })
}

// Pods are the ranges of all Pods.
func (f Families) Pods() []string { return f.each(func(family Family) string { return family.Pods }) }

// Services are the ranges of all Services.
func (f Families) Services() []string {
	return f.each(func(family Family) string { return family.Services })
}

// APIServerURL is where clients on this machine and on the nodes reach the API server.
func (f Families) APIServerURL() string {
	return "https://" + net.JoinHostPort(f[0].ControlPlane, "6443")
}

func (f Families) each(get func(Family) string) []string {
	values := make([]string, len(f))
	for i, family := range f {
		values[i] = get(family)
	}
	return values
}

// MarshalText writes the names, with commas between them.
func (f Families) MarshalText() ([]byte, error) { return []byte(strings.Join(f.Names(), ",")), nil }

// UnmarshalText reads what MarshalText writes: one family, or both in either order.
func (f *Families) UnmarshalText(text []byte) error {
	known := map[string]Families{
		"IPv4": {IPv4}, "IPv6": {IPv6}, "IPv4,IPv6": {IPv4, IPv6}, "IPv6,IPv4": {IPv6, IPv4},
	}
	families, isKnown := known[string(text)]
	if !isKnown {
		return fmt.Errorf("families are IPv4, IPv6, or both with a comma, the first one first, not %q", text)
	}
	*f = families
	return nil
}

// NodeName returns the name of the i-th node, counted from 1.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// Node is one node: its ordinal from 1, and what follows from that. It has an address, and a range from which its Pods
// get theirs, of each family.
type Node struct {
	Ordinal  int
	Name     string
	IPs      []string
	PodCIDRs []string
}

// Nodes returns n nodes in order.
func (f Families) Nodes(n int) []Node {
	nodes := make([]Node, 0, n)
	for i := 1; i <= n; i++ {
		nodes = append(nodes, Node{
			Ordinal: i, Name: NodeName(i),
			IPs:      f.each(func(family Family) string { return fmt.Sprintf(family.node, family.beforeNode+i) }),
			PodCIDRs: f.each(func(family Family) string { return fmt.Sprintf(family.podsOfNode, family.beforePods+i) }),
		})
	}
	return nodes
}
