package resources

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// A spec is refused for a name that no certificate can have. Members of a cluster that runs need certificates all the
// same.
func TestANameThatNoCertificateCanHaveDoesNotKeepTheOthersOut(t *testing.T) {
	usual := MemberServerLeaf(cluster(), "demo-0", "")
	leaf := MemberServerLeaf(cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.TLS = &v1alpha1.TLSSpec{ExtraSANs: []string{"https://a", "ü.example.com", "etcd.example.com", "203.0.113.7:1"}}
	}), "demo-0", "", "203.0.113.7")
	if names := leaf.DNSNames[len(usual.DNSNames):]; len(names) != 1 || names[0] != "etcd.example.com" {
		t.Errorf("it has the names %q", names)
	}
	if ips := leaf.IPs[len(usual.IPs):]; len(ips) != 1 || ips[0].String() != "203.0.113.7" {
		t.Errorf("it has the addresses %v", ips)
	}
}
