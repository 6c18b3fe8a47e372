package etcdutil

import "slices"

// Transport says how a member is reached, by clients and by its peers. It is what its process was started with. See
// docs/decisions/0057.
//
// A peer listener has one scheme, and a client listener may have both. etcd dials its peers with the certificates that
// it has, also where it listens without (etcd-io/etcd:server/embed/etcd.go configurePeerListeners,
// configureClientListeners).
type Transport string

// The transports, in the order in which a member goes from one to another. They are written down on Pods and volumes.
const (
	TransportPlain      Transport = "Disabled"   // nothing has TLS, and there are no certificates
	TransportPrepared   Transport = "Prepared"   // it has certificates, and peers still dial it without
	TransportPermissive Transport = "Permissive" // peers dial it with TLS, and clients with or without
	TransportTLS        Transport = ""           // nothing goes without TLS
)

// transports are in their order.
var transports = []Transport{TransportPlain, TransportPrepared, TransportPermissive, TransportTLS}

// Steps is how many steps a transport is from none: 0 for TransportPlain, 3 for TransportTLS. One that is not known, of
// a later release, counts as none.
func (t Transport) Steps() int {
	return max(0, slices.Index(transports, t))
}

// HasCertificates reports a member that can dial peers with TLS, and that clients can dial so.
func (t Transport) HasCertificates() bool { return t.Steps() > TransportPlain.Steps() }

// TakesPlain reports a member that clients can dial without TLS.
func (t Transport) TakesPlain() bool { return t != TransportTLS }

// PeerScheme is how peers dial the member.
func (t Transport) PeerScheme() string { return schemeOf(t.Steps() >= TransportPermissive.Steps()) }

// ClientScheme is the one that the member tells clients: that which they are to use.
func (t Transport) ClientScheme() string { return schemeOf(t == TransportTLS) }

// ClientSchemes are those that clients may use.
func (t Transport) ClientSchemes() []string {
	var schemes []string
	if t.TakesPlain() {
		schemes = append(schemes, SchemeHTTP)
	}
	if t.HasCertificates() {
		schemes = append(schemes, SchemeHTTPS)
	}
	return schemes
}

// TransportOf is the transport of a process that listens so, by the schemes of its listeners.
func TransportOf(peers string, clients []string) Transport {
	for _, t := range transports {
		if t.PeerScheme() == peers && slices.Equal(t.ClientSchemes(), clients) {
			return t
		}
	}
	return TransportPlain
}

func schemeOf(isTLS bool) string {
	if isTLS {
		return SchemeHTTPS
	}
	return SchemeHTTP
}
