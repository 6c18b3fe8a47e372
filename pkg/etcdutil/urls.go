package etcdutil

import (
	"strconv"
	"strings"
)

// Ports of a member's container. Metrics and probes are plain HTTP on a port of their own.
const (
	ClientPort  = 2379
	PeerPort    = 2380
	MetricsPort = 2381
)

// Schemes of member URLs.
const (
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
)

// PeerHost is the DNS name of a member below the headless peer Service. It is the name in the member's certificate,
// and the TLS server name by which it is dialled whatever its address is.
func PeerHost(member, cluster, namespace string) string {
	return member + "." + cluster + "-peers." + namespace + ".svc"
}

// PeerURL is the URL that identifies a member to its peers. The operator chooses it before the member exists, so it
// joins an entry of the member list with a Pod and a volume, also while the entry has no name yet.
func PeerURL(scheme, member, cluster, namespace string) string {
	return memberURL(scheme, member, cluster, namespace, PeerPort)
}

// ClientURL is the client URL that a member advertises.
func ClientURL(scheme, member, cluster, namespace string) string {
	return memberURL(scheme, member, cluster, namespace, ClientPort)
}

func memberURL(scheme, member, cluster, namespace string, port int) string {
	return scheme + "://" + PeerHost(member, cluster, namespace) + ":" + strconv.Itoa(port)
}

// MemberFromPeerURL is the inverse of PeerURL, for either scheme. It is false for a URL of another cluster, another
// namespace, another port, or one that was not made by PeerURL; the name is of this cluster by its ordinal.
func MemberFromPeerURL(url, cluster, namespace string) (name string, ok bool) {
	scheme, rest, found := strings.Cut(url, "://")
	if !found || (scheme != SchemeHTTP && scheme != SchemeHTTPS) {
		return "", false
	}
	name, _, found = strings.Cut(rest, ".")
	if !found {
		return "", false
	}
	if _, ok := Ordinal(cluster, name); !ok || url != PeerURL(scheme, name, cluster, namespace) {
		return "", false
	}
	return name, true
}

// NamedURL is one entry of --initial-cluster.
type NamedURL struct{ Name, URL string }

// InitialCluster is the value of --initial-cluster for the members, in the order given.
func InitialCluster(members []NamedURL) string {
	entries := make([]string, len(members))
	for i, m := range members {
		entries[i] = m.Name + "=" + m.URL
	}
	return strings.Join(entries, ",")
}

// SealedInitialCluster is the value of --initial-cluster of a sealed member: only itself. With --initial-cluster-state
// existing, an etcd with an empty directory finds no other peer to ask about the cluster and stops; one with data never
// reads it (etcd-io/etcd:server/etcdserver/bootstrap.go, cluster_util.go getRemotePeerURLs).
func SealedInitialCluster(member, peerURL string) string {
	return InitialCluster([]NamedURL{{Name: member, URL: peerURL}})
}

// Values of --initial-cluster-state.
const (
	StateNew      = "new"
	StateExisting = "existing"
)
