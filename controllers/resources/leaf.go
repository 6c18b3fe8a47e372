package resources

import (
	"net"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Leaf is what a certificate has to say. It has the fields of pki.Leaf, so that pki.Leaf(leaf) converts it: this
// package names, and does not issue.
type Leaf struct {
	CommonName     string
	Organization   []string
	DNSNames       []string
	IPs            []net.IP
	Server, Client bool
	Validity       time.Duration // zero: the default of the issuer
}

// clusterDomain is what most clusters are called. A name of another domain is found through the shorter names, which
// every Pod's resolver completes.
const clusterDomain = "cluster.local"

// rootUser is etcd's own name for the user that may do everything, once its authentication is enabled.
const rootUser = "root"

// ClientUser is the common name of the certificate that clients share.
func ClientUser(cluster string) string { return cluster + "-client" }

// MemberServerLeaf is for a member's client port: by its own name, by the client Service's, and from inside its Pod.
// The use as a client is for the gRPC gateway, which dials the port with this certificate
// (etcd-io/etcd:server/embed/serve.go), and for etcdctl in the Pod.
func MemberServerLeaf(c *v1alpha1.EtcdCluster, member string) Leaf {
	names := append(memberNames(c, member), serviceNames(c)...)
	return Leaf{
		CommonName: member, DNSNames: append(names, "localhost"),
		IPs:    []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		Server: true, Client: true,
	}
}

// MemberPeerLeaf is for a member's peer port, by its own name only: etcd looks each name up and compares it with where
// the caller dials from (etcd-io/etcd:client/pkg/transport/listener_tls.go).
func MemberPeerLeaf(c *v1alpha1.EtcdCluster, member string) Leaf {
	return Leaf{CommonName: member, DNSNames: memberNames(c, member), Server: true, Client: true}
}

// ClientLeaf is what clients connect with.
func ClientLeaf(c *v1alpha1.EtcdCluster) Leaf {
	return Leaf{CommonName: ClientUser(c.Name), Client: true}
}

// OperatorLeaf is what the operator connects with: membership, among others, is root's business.
func OperatorLeaf() Leaf { return Leaf{CommonName: rootUser, Client: true} }

func memberNames(c *v1alpha1.EtcdCluster, member string) []string {
	host := etcdutil.PeerHost(member, c.Name, c.Namespace)
	return []string{host, host + "." + clusterDomain}
}

func serviceNames(c *v1alpha1.EtcdCluster) []string {
	name := ClientService(c.Name)
	full := name + "." + c.Namespace + ".svc"
	return []string{name, name + "." + c.Namespace, full, full + "." + clusterDomain}
}
