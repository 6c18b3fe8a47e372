package resources

import (
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// usualDomain is the DNS domain of most Kubernetes clusters. Names below it stay in each certificate: the domain may be
// unknown, and a client that connects by such a name keeps doing so.
const usualDomain = "cluster.local"

// rootUser is etcd's own name for the user that may do everything, once its authentication is enabled.
const rootUser = "root"

// ClientUser is the common name of the certificate that clients share.
func ClientUser(cluster string) string { return cluster + "-client" }

// MemberServerLeaf is for a member's client port: by its own name, by those of both Services, and from inside its Pod.
// The use as a client is for the gRPC gateway, which dials the port with this certificate
// (etcd-io/etcd:server/embed/serve.go), and for etcdctl in the Pod. Domain is the DNS domain of this Kubernetes, empty
// when it is not known. From outside it is reached by the names that the spec adds, and by the addresses of the load
// balancer.
func MemberServerLeaf(c *v1alpha1.EtcdCluster, member, domain string, addresses ...string) pki.Leaf {
	peers := PeerService(c.Name)
	var names []string
	for _, service := range []string{member + "." + peers, ClientService(c.Name), peers} {
		names = append(names, service, service+"."+c.Namespace)
		names = append(names, fullNames(service+"."+c.Namespace+".svc", domain)...)
	}
	leaf := pki.Leaf{
		CommonName: member, DNSNames: append(names, "localhost"),
		IPs:    []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		Server: true, Client: true,
	}
	// A name that it cannot have is left out: the spec is refused for it, and that must not keep a certificate from
	// being renewed.
	for _, name := range slices.Concat(c.Spec.ExtraSANs(), addresses) {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPs = append(leaf.IPs, ip)
		} else if v1alpha1.IsSAN(name) {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	return leaf
}

// MemberPeerLeaf is for a member's peer port, by its own name only: etcd looks each name up and compares it with where
// the caller dials from (etcd-io/etcd:client/pkg/transport/listener_tls.go).
func MemberPeerLeaf(c *v1alpha1.EtcdCluster, member, domain string) pki.Leaf {
	names := fullNames(etcdutil.PeerHost(member, c.Name, c.Namespace), domain)
	return pki.Leaf{CommonName: member, DNSNames: names, Server: true, Client: true}
}

// ClientLeaf is what clients connect with.
func ClientLeaf(c *v1alpha1.EtcdCluster) pki.Leaf {
	return pki.Leaf{CommonName: ClientUser(c.Name), Client: true}
}

// OperatorLeaf is what the operator connects with: membership, among others, is root's business.
func OperatorLeaf() pki.Leaf { return pki.Leaf{CommonName: rootUser, Client: true} }

// fullNames are a name that ends with .svc, and the same below the domains. The first is found wherever Pods are, so it
// comes first: etcd looks up one after the other.
func fullNames(name, domain string) []string {
	names := []string{name}
	if domain != "" && domain != usualDomain {
		names = append(names, name+"."+domain)
	}
	return append(names, name+"."+usualDomain)
}

// Keys of Secrets. A member's has all of them; the others have the first three. In a CA's, ca.crt is its own
// certificate, so that it reads like any other.
const (
	KeyCert = corev1.TLSCertKey
	KeyKey  = corev1.TLSPrivateKeyKey
	KeyCA   = "ca.crt"

	KeyPeerCert = "peer.crt"
	KeyPeerKey  = "peer.key"
	KeyPeerCA   = "peer-ca.crt"
)

// BuildCA builds the Secret of a CA. It is data: it is kept with the volumes, which are worth little
// without the trust that their cluster was reached by.
func BuildCA(c *v1alpha1.EtcdCluster, name string, data map[string][]byte) *corev1.Secret {
	return dress(c, &corev1.Secret{ObjectMeta: dataMeta(c, name), Type: corev1.SecretTypeTLS, Data: data})
}

// BuildLeafSecret builds the Secret of clients or of the operator.
func BuildLeafSecret(c *v1alpha1.EtcdCluster, name string, data map[string][]byte) *corev1.Secret {
	return dress(c, &corev1.Secret{ObjectMeta: ownedMeta(c, name), Type: corev1.SecretTypeTLS, Data: data})
}

// BuildRecordsSecret builds the Secret with the key for the records of backups, where a cluster has no CA. It has the
// type of all Secrets of the operator, which asks for both fields
// (kubernetes/kubernetes:pkg/apis/core/validation/validation.go, ValidateSecret).
func BuildRecordsSecret(c *v1alpha1.EtcdCluster, key []byte) *corev1.Secret {
	return BuildLeafSecret(c, RecordsSecret(c.Name), map[string][]byte{KeyCert: {}, KeyKey: key})
}

// BuildMemberSecret builds the Secret that a member's Pod mounts.
func BuildMemberSecret(c *v1alpha1.EtcdCluster, member string, data map[string][]byte) *corev1.Secret {
	secret := BuildLeafSecret(c, MemberSecret(member), data)
	secret.Labels = ofMember(secret.Labels, member, "")
	return secret
}

// Certificate is one certificate of a Secret: under which keys it is, by which CA it is signed, and what it
// says.
type Certificate struct {
	CertKey, KeyKey, CAKey string
	CA                     string // name of the CA's Secret
	Leaf                   pki.Leaf
	ForMember              bool // etcd reads it, and the CAs beside it
}

// Certificates lists what the Secret of this name holds, nothing for a name that is not the cluster's or is a
// CA's. Whether one needs renewal, and what is issued, both follow from it.
func Certificates(c *v1alpha1.EtcdCluster, secret string) []Certificate {
	switch secret {
	case ClientSecret(c.Name):
		return []Certificate{{KeyCert, KeyKey, KeyCA, CASecret(c.Name), ClientLeaf(c), false}}
	case OperatorSecret(c.Name):
		return []Certificate{{KeyCert, KeyKey, KeyCA, CASecret(c.Name), OperatorLeaf(), false}}
	}
	return nil
}

// MemberCertificates lists what a member's Secret holds. Domain is the DNS domain of this Kubernetes, empty when it is
// not known; addresses are those of the load balancer.
func MemberCertificates(c *v1alpha1.EtcdCluster, member, domain string, addresses ...string) []Certificate {
	return []Certificate{
		{KeyCert, KeyKey, KeyCA, CASecret(c.Name), MemberServerLeaf(c, member, domain, addresses...), true},
		{KeyPeerCert, KeyPeerKey, KeyPeerCA, PeerCASecret(c.Name), MemberPeerLeaf(c, member, domain), true},
	}
}

// LeavesOf are certificates of each kind that the CA for a port is to sign: those of the first member stand for those
// of all.
func LeavesOf(c *v1alpha1.EtcdCluster, forPeers bool, domain string, addresses ...string) []pki.Leaf {
	member := etcdutil.MemberName(c.Name, 0)
	if forPeers {
		return []pki.Leaf{MemberPeerLeaf(c, member, domain)}
	}
	return []pki.Leaf{MemberServerLeaf(c, member, domain, addresses...), ClientLeaf(c), OperatorLeaf()}
}

// GivenIn is the CA that the Secret of a person holds.
func GivenIn(data map[string][]byte) pki.Given {
	return pki.Given{Cert: data[KeyCert], Key: data[KeyKey], Above: data[KeyCA]}
}

// HasEveryKey reports whether a Secret holds something under each key that its certificates need.
func HasEveryKey(data map[string][]byte, certificates []Certificate) bool {
	return !slices.ContainsFunc(certificates, func(cert Certificate) bool {
		return len(data[cert.CertKey]) == 0 || len(data[cert.KeyKey]) == 0 || len(data[cert.CAKey]) == 0
	})
}
