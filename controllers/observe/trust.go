package observe

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// authority is what the Secret of a CA holds.
type authority = map[string][]byte

func (k *keyring) port(ca string) facts.Port {
	if ca == resources.PeerCASecret(k.cluster.Name) {
		return facts.ForPeers
	}
	return facts.ForClients
}

// casIn are the CAs that a Secret holds. What cannot be read is none.
func casIn(data authority) facts.CAs {
	return facts.CAs{caIn(data, resources.KeyCert, resources.KeyKey, resources.KeyOrigin),
		caIn(data, resources.KeyOtherCert, resources.KeyOtherKey, resources.KeyOtherOrigin)}
}

// caIn counts a CA that the operator did not make from when it came: its own time says nothing of who trusts it.
func caIn(data authority, certKey, keyKey, originKey string) facts.CA {
	cert := data[certKey]
	fingerprint := pki.Fingerprint(cert)
	if fingerprint == "" {
		return facts.CA{}
	}
	ca := facts.CA{Print: fingerprint, Identity: pki.Identity(cert), Origin: facts.OriginManaged,
		IsFirst: pki.IsFirst(cert), HasKey: len(data[keyKey]) > 0, Made: pki.Made(cert), NotAfter: endOf(data, certKey)}
	if origin := resources.OriginIn(data, originKey); origin.From() != "" {
		ca.Origin, ca.From, ca.IsFirst, ca.Made = facts.OriginSecret, origin.From(), origin.IsFirst, origin.Since
		if origin.Issuer != nil {
			ca.Origin = facts.OriginIssuer
		}
	}
	return ca
}

// trustIn is what a member's Pod is made to read, as it is written down.
func trustIn(in *resources.TrustInputs) facts.Trust {
	if in == nil {
		return facts.Trust{}
	}
	return facts.Trust{Clients: strings.Join(in.Clients, " "), Peers: strings.Join(in.Peers, " ")}
}

// trusting has members read these CAs. The usual ones are not written down: a new release restarts nothing for them.
func trusting(desired facts.Desired, trust facts.Trust) facts.Desired {
	if trust == (facts.Trust{}) {
		return desired
	}
	for _, settings := range []*facts.Settings{&desired.Settings, &desired.AtTarget, &desired.NextSettings} {
		in, err := resources.DecodeInputs(settings.Inputs)
		if err != nil || !in.TLS.HasCertificates() {
			continue // there are none, or the spec is refused for them, or it asks for none
		}
		in.Trust = &resources.TrustInputs{Clients: trust.On(facts.ForClients), Peers: trust.On(facts.ForPeers)}
		*settings = settingsIn(in, settings.Version)
	}
	return desired
}
