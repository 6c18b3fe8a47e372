package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

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
	switch from := (facts.CASource{Secret: c.From, Print: c.Next}); c.Turn {
	case facts.TurnRenew:
		since := cmp.Or(resources.OriginIn(data, resources.KeyOrigin).Since, s.Now().UTC())
		return s.take(ctx, data, signing, from, resources.Origin{Since: since})
	case facts.TurnWiden:
		keepRecordKey(data)
		if c.From != "" {
			return s.take(ctx, data, beside, from, resources.Origin{Since: s.Now().UTC()})
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

// take copies a CA from the Secret of a person, if that holds the one that the change was decided on.
func (s step) take(ctx context.Context, data map[string][]byte, to place, from facts.CASource,
	origin resources.Origin) error {
	there := &corev1.Secret{}
	err := s.Live.Get(ctx, ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: from.Secret}, there)
	switch {
	case apierrors.IsNotFound(err):
		return ErrStale
	case err != nil:
		return fmt.Errorf("reading Secret %s, which holds a CA: %w", from.Secret, err)
	case pki.Fingerprint(there.Data[resources.KeyCert]) != from.Print:
		return ErrStale
	}
	ca, err := resources.GivenIn(there.Data).Take(s.Now())
	if err != nil {
		return ErrStale // the next look says what is wrong with it
	}
	pair, err := ca.Pair()
	if err != nil {
		return fmt.Errorf("copying the CA of Secret %s: %w", from.Secret, err)
	}
	origin.Secret = from.Secret
	for i, value := range [][]byte{pair.Cert, pair.Key, origin.Encode(), ca.Chain()} {
		if data[to[i]] = value; len(value) == 0 {
			delete(data, to[i])
		}
	}
	return nil
}

// keepRecordKey keeps what the records of backups are signed with, which the key of the first CA is: HMAC takes a key
// that is longer than its block for the hash of that key (RFC 2104). So the key of the CA itself need not be kept.
func keepRecordKey(data map[string][]byte) {
	if len(data[resources.KeyRecords]) == 0 {
		sum := sha256.Sum256(data[resources.KeyKey])
		data[resources.KeyRecords] = sum[:]
	}
}
