package resources

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// The names are those of etcd-io/etcd:client/pkg/srv/srv.go, which asks for both and dials what it finds.
func TestThePeerServiceHasThePortsThatEtcdLooksForInDNSAndTheClientServiceKeepsItsOwn(t *testing.T) {
	for name, row := range map[string]struct {
		cluster *v1alpha1.EtcdCluster
		peers   []string
	}{
		"with TLS":    {cluster(), []string{"etcd-client-ssl", "etcd-server-ssl"}},
		"without TLS": {cluster(withoutTLS), []string{"etcd-client", "etcd-server"}},
	} {
		peers, client := PeerServiceShape(row.cluster), BuildClientService(row.cluster)
		if got := portsOf(peers, func(p corev1.ServicePort) string { return p.Name }); !slices.Equal(got, row.peers) {
			t.Errorf("%s: the peer Service has the ports %v", name, got)
		}
		targets := portsOf(peers, func(p corev1.ServicePort) string { return p.TargetPort.String() })
		if !slices.Equal(targets, []string{"client", "peer"}) {
			t.Errorf("%s: they lead to the ports %v of Pods", name, targets)
		}
		if got := portsOf(client, func(p corev1.ServicePort) string { return p.Name }); !slices.Equal(got, []string{"client"}) {
			t.Errorf("%s: the client Service has the ports %v", name, got)
		}
	}
}

// A release before called the ports of the peer Service as Pods call theirs.
func TestAPeerServiceWithoutTheNamesThatEtcdLooksForIsPutRight(t *testing.T) {
	want := PeerServiceShape(cluster())
	have := asStored(want)
	have.Spec.Ports[0].Name, have.Spec.Ports[1].Name = "client", "peer"
	if ServiceDrift(have, want) == "" {
		t.Error("it stays as it was")
	}
}

// SRV records of a headless Service lead to the names of its Pods. etcdctl holds the certificate to the name that it
// was given (etcd-io/etcd:etcdctl/ctlv3/command/global.go), others hold it to where the record leads.
func TestTheCertificateOfAMemberHasTheNamesBySRVRecords(t *testing.T) {
	pod := mustPod(t, cluster(), atBootstrap(cluster()))
	if pod.Spec.Hostname != "demo-0" || pod.Spec.Subdomain != "demo-peers" {
		t.Fatalf("the record leads to %s.%s", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
	names := MemberServerLeaf(cluster(), "demo-0", "example.internal").DNSNames
	for _, service := range []string{"demo-peers", "demo-0.demo-peers"} {
		for _, below := range []string{".prod.svc", ".prod.svc.cluster.local", ".prod.svc.example.internal"} {
			if !slices.Contains(names, service+below) {
				t.Errorf("it is not valid for %s: %v", service+below, names)
			}
		}
	}
}

func portsOf(service *corev1.Service, word func(corev1.ServicePort) string) []string {
	var out []string
	for _, port := range service.Spec.Ports {
		out = append(out, word(port))
	}
	return out
}
