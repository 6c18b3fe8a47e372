package observe

import (
	"context"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// trust says which CA an authority's Secret holds, and which CA members trust, by their fingerprints. The Secrets of
// members tell the second: etcd reads at its start which CA they name, and its leaf at each handshake. Where no member
// has one, those of clients and of the operator tell it. Where none is there at all, it is empty.
func (k *keyring) trust(ctx context.Context, name string, held []byte, members []string) (holds, trusted string,
	err error) {
	holds = pki.Fingerprint(held)
	others := []string{resources.ClientSecret(k.cluster.Name), resources.OperatorSecret(k.cluster.Name)}
	for _, witnesses := range [][]string{members, others} {
		v := votes{others: map[string]int{}}
		for _, witness := range witnesses {
			cert, ca, err := k.witness(ctx, witness, name)
			if err != nil {
				return "", "", err
			}
			v.count(cert, ca, held)
		}
		if v.held+len(v.others) > 0 {
			return holds, v.trusted(holds), nil
		}
	}
	return holds, "", nil
}

// witness is the certificate that an authority signed in a Secret of ours, and the CA that the Secret names beside it;
// nothing where there is no such Secret.
func (k *keyring) witness(ctx context.Context, secret, authority string) (cert, ca []byte, err error) {
	there, err := k.secret(ctx, secret)
	if err != nil || there == nil {
		return nil, nil, err
	}
	if state, _ := k.ours.standing(there); state != "" {
		return nil, nil, nil
	}
	if authority == resources.PeerCASecret(k.cluster.Name) {
		return there.Data[resources.KeyPeerCert], there.Data[resources.KeyPeerCA], nil
	}
	return there.Data[resources.KeyCert], there.Data[resources.KeyCA], nil
}

// votes are how many Secrets name which CA.
type votes struct {
	held   int            // the one that is there
	others map[string]int // by fingerprint
}

func (v *votes) count(cert, ca, held []byte) {
	if pki.IsOf(cert, ca, held) {
		v.held++
	} else if name := pki.Fingerprint(ca); name != "" {
		v.others[name]++
	}
}

// trusted is the CA that is there, unless more name others. So a copy that is put back is believed as well where
// certificates of both were issued.
func (v *votes) trusted(held string) string {
	others, most := 0, ""
	for name, count := range v.others {
		others += count
		if most == "" || count > v.others[most] || count == v.others[most] && name < most {
			most = name
		}
	}
	if v.held >= others {
		return held
	}
	return most
}
