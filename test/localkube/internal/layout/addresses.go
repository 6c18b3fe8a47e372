// Package layout says where everything of a localkube lives: which address each host, Pod and Service has, and which
// directory holds what. It only computes; it touches nothing.
//
// All addresses come from 198.18.0.0/15, the range that RFC 2544 sets aside for test networks, so that nothing here can
// collide with a network the machine is really attached to.
package layout

import "fmt"

const (
	// Range holds every address of a localkube; outside the machine it is unreachable by a route of that name.
	Range = "198.18.0.0/15"
	// HostsPrefix is the length of the network that all hosts share, 198.18.0.0/24.
	HostsPrefix = 24
	// MachineIP is the address of this machine on that network; Pods reach a process of the machine under it.
	MachineIP = "198.18.0.1"
	// ControlPlaneIP is the host that runs etcd, the API server, its controllers and DNS.
	ControlPlaneIP = "198.18.0.2"
	// PodsCIDR holds the Pods of all nodes, a /24 for each.
	PodsCIDR = "198.19.0.0/16"
	// ServicesCIDR is where Services get their virtual addresses.
	ServicesCIDR = "198.18.128.0/20"
	// APIServiceIP is the address of the Service `kubernetes`, the first of ServicesCIDR.
	APIServiceIP = "198.18.128.1"
	// DNSServiceIP is the address Pods find in their resolv.conf.
	DNSServiceIP = "198.18.128.10"
	// APIServerURL is where clients on this machine and on the nodes reach the API server.
	APIServerURL = "https://" + ControlPlaneIP + ":6443"
	// Domain is the DNS domain of Services, unless another is asked for.
	Domain = "cluster.local"
	// MaxNodes is bounded by the host addresses from .11 to .250.
	MaxNodes = 240

	firstNodeOctet = 10
)

// ControlPlane is the name of the host that is no node.
const ControlPlane = "control-plane"

// NodeName returns the name of the i-th node, counted from 1.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// NodeIP returns the address of the i-th node.
func NodeIP(i int) string { return fmt.Sprintf("198.18.0.%d", firstNodeOctet+i) }

// PodCIDR returns the range from which the i-th node addresses its Pods.
func PodCIDR(i int) string { return fmt.Sprintf("198.19.%d.0/24", i) }

// Node is one node: its ordinal from 1, and what follows from that.
type Node struct {
	Ordinal int
	Name    string
	IP      string
	PodCIDR string
}

// Nodes returns n nodes in order.
func Nodes(n int) []Node {
	nodes := make([]Node, 0, n)
	for i := 1; i <= n; i++ {
		nodes = append(nodes, Node{Ordinal: i, Name: NodeName(i), IP: NodeIP(i), PodCIDR: PodCIDR(i)})
	}
	return nodes
}
