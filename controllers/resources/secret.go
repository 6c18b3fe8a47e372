package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Keys of Secrets. A member's has all of them; the others have the first three. In an authority's, ca.crt is its own
// certificate, so that it reads like any other.
const (
	KeyCert = corev1.TLSCertKey
	KeyKey  = corev1.TLSPrivateKeyKey
	KeyCA   = "ca.crt"

	KeyPeerCert = "peer.crt"
	KeyPeerKey  = "peer.key"
	KeyPeerCA   = "peer-ca.crt"
)

// BuildAuthority builds the Secret of an authority. It is data: it is kept with the volumes, which are worth little
// without the trust that their cluster was reached by.
func BuildAuthority(c *v1alpha1.EtcdCluster, name string, data map[string][]byte) *corev1.Secret {
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

// Certificate is one certificate of a Secret: under which keys it is, by which authority it is signed, and what it
// says.
type Certificate struct {
	CertKey, KeyKey, CAKey string
	Authority              string // name of the authority's Secret
	Leaf                   Leaf
}

// Certificates lists what the Secret of this name holds, nothing for a name that is not the cluster's or is an
// authority's. Whether one needs renewal, and what is issued, both follow from it.
func Certificates(c *v1alpha1.EtcdCluster, secret string) []Certificate {
	switch secret {
	case ClientSecret(c.Name):
		return []Certificate{{KeyCert, KeyKey, KeyCA, CASecret(c.Name), ClientLeaf(c)}}
	case OperatorSecret(c.Name):
		return []Certificate{{KeyCert, KeyKey, KeyCA, CASecret(c.Name), OperatorLeaf()}}
	}
	return nil
}

// MemberCertificates lists what a member's Secret holds. Domain is the DNS domain of this Kubernetes, empty when it is
// not known; addresses are those of the load balancer.
func MemberCertificates(c *v1alpha1.EtcdCluster, member, domain string, addresses ...string) []Certificate {
	return []Certificate{
		{KeyCert, KeyKey, KeyCA, CASecret(c.Name), MemberServerLeaf(c, member, domain, addresses...)},
		{KeyPeerCert, KeyPeerKey, KeyPeerCA, PeerCASecret(c.Name), MemberPeerLeaf(c, member, domain)},
	}
}

// HasEveryKey reports whether a Secret holds something under each key that its certificates need.
func HasEveryKey(data map[string][]byte, certificates []Certificate) bool {
	return !slices.ContainsFunc(certificates, func(cert Certificate) bool {
		return len(data[cert.CertKey]) == 0 || len(data[cert.KeyKey]) == 0 || len(data[cert.CAKey]) == 0
	})
}
