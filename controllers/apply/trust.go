package apply

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	if err := s.turn(data, c); err != nil {
		return err
	}
	data[resources.KeyCA] = resources.ClientsTrust(data)
	return s.update(ctx, resources.KindSecret, secret, func() { secret.Data = data })
}

func (s step) turn(data map[string][]byte, c changes.TurnCA) error {
	const cert, otherCert = resources.KeyCert, resources.KeyOtherCert
	const key, otherKey = resources.KeyKey, resources.KeyOtherKey
	switch c.Turn {
	case facts.TurnWiden:
		pair, err := pki.NextCA(s.nameOfCA(c.CA), s.Now(), 0)
		if err != nil {
			return fmt.Errorf("making another CA for %s: %w", c.CA, err)
		}
		data[otherCert], data[otherKey] = pair.Cert, pair.Key
		keepRecordKey(data)
	case facts.TurnSwap:
		data[cert], data[otherCert] = data[otherCert], data[cert]
		data[key], data[otherKey] = data[otherKey], data[key]
	case facts.TurnNarrow:
		delete(data, otherKey)
	case facts.TurnForget:
		delete(data, otherCert)
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
