package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// nameOfCA is the common name of the CA in this Secret.
func (s step) nameOfCA(secret string) string {
	port := facts.ForClients
	if secret == resources.PeerCASecret(s.cluster.Name) {
		port = facts.ForPeers
	}
	return fmt.Sprintf("%s of etcd %s/%s", port, s.cluster.Namespace, s.cluster.Name)
}

// carryOutTrust changes which CA signs, or asks an issuer for what it signs.
func (s step) carryOutTrust(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.TurnCA:
		return s.turnCA(ctx, c)
	case changes.AskIssuer:
		return s.askIssuer(ctx, c)
	case changes.DeleteRequests:
		return s.deleteRequests(ctx, c)
	default:
		return fmt.Errorf("carrying out %s: no such change of trust", changes.KindOf(change))
	}
}

// turnCA makes one turn of the roll of a CA, in one write: a crash leaves the turn before it, or this one.
func (s step) turnCA(ctx context.Context, c changes.TurnCA) error {
	found, err := s.findSeen(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: c.CA}}, "")
	if err != nil {
		return err
	}
	secret := found.(*corev1.Secret)
	if pki.Fingerprint(secret.Data[resources.KeyCert]) != c.Signs ||
		pki.Fingerprint(secret.Data[resources.KeyOtherCert]) != c.Other {
		return ErrStale
	}
	data := maps.Clone(secret.Data)
	if err := s.turn(ctx, data, c); err != nil {
		return err
	}
	data[resources.KeyCA] = resources.ClientsTrust(data)
	return s.update(ctx, resources.KindSecret, secret, func() { secret.Data = data })
}

func (s step) turn(ctx context.Context, data map[string][]byte, c changes.TurnCA) error {
	switch c.Turn {
	case facts.TurnRenew:
		return s.renew(ctx, data, c)
	case facts.TurnWiden:
		keepRecordKey(data)
		if c.From != "" {
			return s.take(ctx, data, beside, wantedCA{c.CA, c.From, c.Next}, s.Now())
		}
		pair, err := pki.NextCA(s.nameOfCA(c.CA), s.Now(), 0)
		if err != nil {
			return fmt.Errorf("making another CA for %s: %w", c.CA, err)
		}
		data[resources.KeyOtherCert], data[resources.KeyOtherKey] = pair.Cert, pair.Key
	case facts.TurnSwap:
		for i := range signing {
			swapKeys(data, signing[i], beside[i])
		}
	case facts.TurnNarrow:
		delete(data, resources.KeyOtherKey)
	case facts.TurnForget:
		for _, key := range beside {
			delete(data, key)
		}
	}
	return nil
}

// renew takes another certificate of the CA that signs, or the same one from elsewhere: that is still the one that the
// cluster was made with, if it was, and so restarts no member.
func (s step) renew(ctx context.Context, data map[string][]byte, c changes.TurnCA) error {
	before, held := resources.OriginIn(data, resources.KeyOrigin), pki.Fingerprint(data[resources.KeyCert])
	err := s.take(ctx, data, signing, wantedCA{c.CA, c.From, c.Next}, cmp.Or(before.Since, s.Now()))
	if err != nil || !before.IsFirst || held != c.Next {
		return err
	}
	origin := resources.OriginIn(data, resources.KeyOrigin)
	origin.IsFirst = true
	data[resources.KeyOrigin] = origin.Encode()
	return nil
}

// place are the keys of all that belongs to one of the CAs in the Secret of a CA.
type place [4]string

var (
	signing = place{resources.KeyCert, resources.KeyKey, resources.KeyOrigin, resources.KeyChain}
	beside  = place{resources.KeyOtherCert, resources.KeyOtherKey, resources.KeyOtherOrigin, resources.KeyOtherChain}
)

// swapKeys exchanges what is under two keys, or under one of them.
func swapKeys(data map[string][]byte, a, b string) {
	isA, isB := len(data[a]) > 0, len(data[b]) > 0
	data[a], data[b] = data[b], data[a]
	if !isB {
		delete(data, a)
	}
	if !isA {
		delete(data, b)
	}
}

// wantedCA is a CA that a change was decided on: for which Secret of a CA, whence, and its fingerprint.
type wantedCA struct{ secret, from, print string }

// wantedOf is where the spec wants the CA of a Secret from.
func (s step) wantedOf(ca string) v1alpha1.CASource {
	clients, peers := s.cluster.Spec.CASources()
	if ca == resources.PeerCASecret(s.cluster.Name) {
		return peers
	}
	return clients
}

// take takes a CA in from a person's Secret, or from what an issuer answered, if that is the one that the change was
// decided on. Of an issuer's CA there is no key: a seed stands in its place, and stays while the issuer does.
func (s step) take(ctx context.Context, data map[string][]byte, to place, wanted wantedCA, since time.Time) error {
	source := s.wantedOf(wanted.secret)
	if source.String() != wanted.from {
		return ErrStale
	}
	var (
		ca  pki.CA
		key []byte
		err error
	)
	if source.IssuerRef != nil {
		ca, err = s.signerOf(ctx, wanted.secret, source.Issuer())
		if key = data[to[1]]; !pki.IsSeed(key) {
			key = pki.NewSeed()
		}
	} else {
		ca, key, err = s.givenIn(ctx, source.SecretName())
	}
	switch {
	case err != nil:
		return err
	case pki.Fingerprint(ca.CertPEM()) != wanted.print:
		return ErrStale
	}
	for i, value := range [][]byte{ca.CertPEM(), key, resources.OriginOf(source, since).Encode(), ca.Chain()} {
		if data[to[i]] = value; len(value) == 0 {
			delete(data, to[i])
		}
	}
	return nil
}

// givenIn is the CA in the Secret of a person.
func (s step) givenIn(ctx context.Context, name string) (ca pki.CA, key []byte, err error) {
	there := &corev1.Secret{}
	err = s.Live.Get(ctx, ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: name}, there)
	switch {
	case apierrors.IsNotFound(err):
		return ca, nil, ErrStale
	case err != nil:
		return ca, nil, fmt.Errorf("reading Secret %s, which holds a CA: %w", name, err)
	}
	if ca, err = resources.GivenIn(there.Data).Take(s.Now()); err != nil {
		return ca, nil, ErrStale // the next look says what is wrong with it
	}
	pair, err := ca.Pair()
	if err != nil {
		return ca, nil, fmt.Errorf("copying the CA of Secret %s: %w", name, err)
	}
	return ca, pair.Key, nil
}

// keepRecordKey keeps what the records of backups are signed with, which the key of the first CA is: HMAC takes a key
// that is longer than its block for the hash of that key (RFC 2104). So the key of the CA itself need not be kept.
func keepRecordKey(data map[string][]byte) {
	if len(data[resources.KeyRecords]) == 0 {
		sum := sha256.Sum256(data[resources.KeyKey])
		data[resources.KeyRecords] = sum[:]
	}
}
