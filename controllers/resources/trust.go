package resources

import (
	"encoding/json"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// Keys of a CA's Secret while another CA takes its place. Before the swap the other one is the next, and afterwards the
// one before. Without a key it signs nothing any more, and clients alone still trust it.
const (
	KeyOtherCert = "other.crt"
	KeyOtherKey  = "other.key"
)

// Keys of a CA's Secret beside a CA that the operator did not make: where it comes from, and the certificates that
// stand behind each one that it signs. Both go where the CA goes. Of the CA of an issuer the key is none that signs: it
// is the seed that the keys of its certificates follow from.
const (
	KeyOrigin      = "tls.origin"
	KeyChain       = "tls.chain"
	KeyOtherOrigin = "other.origin"
	KeyOtherChain  = "other.chain"
)

// KeyPeerOrigin is KeyOrigin of the other certificate of a member. Beside a certificate it says which issuer signed it,
// and since when the Secret is as it is: an issuer begins the time of a certificate as it likes.
const KeyPeerOrigin = "peer.origin"

// Origin says where a CA comes from that the operator did not make, or who signed a certificate.
type Origin struct {
	Secret  string                      `json:"secret,omitempty"` // that it was copied from
	Issuer  *v1alpha1.CAIssuerReference `json:"issuer,omitempty"` // that signs, or signed
	Since   time.Time                   `json:"since"`            // when it came
	IsFirst bool                        `json:"first,omitempty"`  // the cluster was made with it
}

// OriginOf is the origin that the spec asks for.
func OriginOf(source v1alpha1.CASource, since time.Time) Origin {
	origin := Origin{Secret: source.SecretName(), Since: since.UTC()}
	if issuer := source.Issuer(); issuer.Name != "" {
		origin.Issuer = &issuer
	}
	return origin
}

// From says it in words, as CASource.String does; "" of what the operator made.
func (o Origin) From() string {
	switch {
	case o.Issuer != nil:
		return o.Issuer.String()
	case o.Secret != "":
		return "Secret " + o.Secret
	}
	return ""
}

// Encode writes it down.
func (o Origin) Encode() []byte {
	text, _ := json.Marshal(o) // strings, a time and a flag
	return text
}

// OriginIn reads it. What cannot be read says nothing, as of a CA that the operator made.
func OriginIn(data map[string][]byte, key string) Origin {
	var origin Origin
	if json.Unmarshal(data[key], &origin) != nil {
		return Origin{}
	}
	return origin
}

// KeyRecords is what the records of backups are signed with, once the CA is not the first any more. So a backup stays
// proven that was proven before.
const KeyRecords = "records.key"

// RecordSecret is what the key for the records of backups is derived from.
func RecordSecret(data map[string][]byte) []byte {
	if kept := data[KeyRecords]; len(kept) > 0 {
		return kept
	}
	return data[KeyKey]
}

// Trusts is the file of CAs that stands beside a certificate, as the Secret of its CA has it.
func (c Certificate) Trusts(ca map[string][]byte) []byte {
	if c.ForMember {
		return MembersTrust(ca)
	}
	return ClientsTrust(ca)
}

// MembersTrust are the CAs that members trust: those that sign, or may.
func MembersTrust(ca map[string][]byte) []byte {
	if len(ca[KeyOtherKey]) == 0 {
		return bundle(ca[KeyCert])
	}
	return ClientsTrust(ca)
}

// ClientsTrust are the CAs that clients and the operator trust: the widest of all, since a client may connect to each
// member at any time.
func ClientsTrust(ca map[string][]byte) []byte {
	if len(ca[KeyOtherCert]) == 0 {
		return bundle(ca[KeyCert])
	}
	return bundle(ca[KeyCert], ca[KeyOtherCert])
}

// bundle falls back to the CA that signs: what else is there cannot be read.
func bundle(files ...[]byte) []byte {
	if all := pki.Bundle(files...); all != nil {
		return all
	}
	return files[0]
}
