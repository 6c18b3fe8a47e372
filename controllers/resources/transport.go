package resources

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// How members are reached, with TLS and without: see etcdutil.Transport.

// PeerURL is the URL that identifies a member of the cluster, where members are as the spec asks.
func PeerURL(c *v1alpha1.EtcdCluster, member string) string {
	return PeerURLOf(c, member, TransportAsked(c))
}

// PeerURLOf is that URL of a member that is reached so.
func PeerURLOf(c *v1alpha1.EtcdCluster, member string, transport etcdutil.Transport) string {
	return etcdutil.PeerURL(transport.PeerScheme(), member, c.Name, c.Namespace)
}

// ClientURL is where a client with certificates finds a member; one without, where the spec asks for none.
func ClientURL(c *v1alpha1.EtcdCluster, member string) string {
	scheme := etcdutil.SchemeHTTP
	if c.Spec.IsTLS() {
		scheme = etcdutil.SchemeHTTPS
	}
	return etcdutil.ClientURL(scheme, member, c.Name, c.Namespace)
}

// TransportAsked is how the spec asks for members to be reached.
func TransportAsked(c *v1alpha1.EtcdCluster) etcdutil.Transport {
	switch c.Spec.TLSModeOrDefault() {
	case v1alpha1.TLSDisabled:
		return etcdutil.TransportPlain
	case v1alpha1.TLSPermissive:
		return etcdutil.TransportPermissive
	case v1alpha1.TLSManaged:
	}
	return etcdutil.TransportTLS
}

const listenPeers, listenClients = "--listen-peer-urls=", "--listen-client-urls="

// TransportOf is how the process of a Pod is reached, by the flags that it starts with: nothing can change those. False
// where they do not say.
func TransportOf(pod *corev1.Pod) (etcdutil.Transport, bool) {
	var peers, clients []string
	for _, arg := range containerOf(pod).Args {
		if urls, isIt := strings.CutPrefix(arg, listenPeers); isIt {
			peers = schemesIn(urls)
		}
		if urls, isIt := strings.CutPrefix(arg, listenClients); isIt {
			clients = schemesIn(urls)
		}
	}
	if len(peers) != 1 || len(clients) == 0 {
		return etcdutil.TransportTLS, false
	}
	return etcdutil.TransportOf(peers[0], clients), true
}

func schemesIn(urls string) []string {
	var schemes []string
	for url := range strings.SplitSeq(urls, ",") {
		schemes = append(schemes, etcdutil.SchemeOf(url))
	}
	return schemes
}

// AllTakeTLS reports that each of these Pods of members takes connections with TLS; nil where no Pod says it.
func AllTakeTLS(pods []corev1.Pod) *bool {
	isSaid, isTLS := false, true
	for i := range pods {
		transport, says := TransportOf(&pods[i])
		isSaid, isTLS = isSaid || says, isTLS && (!says || transport.HasCertificates())
	}
	if !isSaid {
		return nil
	}
	return &isTLS
}

// ReachedWith is the cluster as one whose members are reached with TLS, or without.
func ReachedWith(c *v1alpha1.EtcdCluster, isTLS bool) *v1alpha1.EtcdCluster {
	if c.Spec.IsTLS() == isTLS {
		return c
	}
	c = c.DeepCopy()
	c.Spec.TLS = cmp.Or(c.Spec.TLS, &v1alpha1.TLSSpec{})
	c.Spec.TLS.Mode = v1alpha1.TLSManaged
	if !isTLS {
		c.Spec.TLS.Mode = v1alpha1.TLSDisabled
	}
	return c
}

// ownEntry is the entry of a member in a list, by the scheme that it has there: the Pod may be from before the mode of
// TLS changed.
func ownEntry(c *v1alpha1.EtcdCluster, member, list string) string {
	plain := etcdutil.SealedInitialCluster(member, PeerURLOf(c, member, etcdutil.TransportPlain))
	if strings.Contains(","+list+",", ","+plain+",") {
		return plain
	}
	return etcdutil.SealedInitialCluster(member, PeerURLOf(c, member, etcdutil.TransportTLS))
}
