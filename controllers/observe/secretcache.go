package observe

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// secretLifetime is how long a Secret that was read is believed. Secrets are neither listed nor watched, so that the
// operator needs no such right; what changed is seen this much later, or at once after a failed handshake.
const secretLifetime = 5 * time.Minute

// SecretCache reads Secrets by name and keeps what it read for a few minutes. That a Secret is absent is never kept,
// nor is one that is in the way: a user who takes it away must not wait for the cache. It is safe for concurrent use.
type SecretCache struct {
	reader client.Reader // live
	now    func() time.Time

	mu      sync.Mutex
	entries map[types.NamespacedName]cachedSecret
}

type cachedSecret struct {
	secret *corev1.Secret
	until  time.Time
}

// NewSecretCache makes an empty cache over a live reader.
func NewSecretCache(reader client.Reader, now func() time.Time) *SecretCache {
	return &SecretCache{reader: reader, now: now, entries: map[types.NamespacedName]cachedSecret{}}
}

// Get returns the Secret, which callers must not change. Errors are those of the API server.
func (c *SecretCache) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if secret := c.find(key); secret != nil {
		return secret, nil
	}
	secret := &corev1.Secret{}
	if err := c.reader.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	secret.ManagedFields = nil
	if !mayKeep(secret) {
		return secret, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = cachedSecret{secret: secret, until: c.now().Add(secretLifetime)}
	return secret, nil
}

// mayKeep is false of a Secret that is foreign, or on its way out.
func mayKeep(secret *corev1.Secret) bool {
	return secret.DeletionTimestamp == nil && secret.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue
}

func (c *SecretCache) find(key types.NamespacedName) *corev1.Secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[key]
	if !ok {
		return nil
	}
	if c.now().After(entry.until) {
		delete(c.entries, key)
		return nil
	}
	return entry.secret
}

// Forget makes the next Get of the Secret read it anew.
func (c *SecretCache) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// ForgetCluster drops every Secret that may be a cluster's.
func (c *SecretCache) ForgetCluster(cluster types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		if key.Namespace == cluster.Namespace && strings.HasPrefix(key.Name, cluster.Name+"-") {
			delete(c.entries, key)
		}
	}
}

// operatorSecret holds the certificate with which the operator alone dials a cluster's members.
func operatorSecret(cluster *v1alpha1.EtcdCluster) types.NamespacedName {
	return types.NamespacedName{Namespace: cluster.Namespace, Name: resources.OperatorSecret(cluster.Name)}
}

// clientTLS is how the operator dials the members of a cluster, and a generation that changes whenever that does.
func clientTLS(ctx context.Context, secrets *SecretCache, cluster *v1alpha1.EtcdCluster) (*tls.Config, string, error) {
	if !cluster.Spec.IsTLS() {
		return nil, "", nil
	}
	key := operatorSecret(cluster)
	secret, err := secrets.Get(ctx, key)
	if err != nil {
		return nil, "", fmt.Errorf("reading the operator's certificate of %s: %w", client.ObjectKeyFromObject(cluster),
			err)
	}
	config, err := pki.ClientTLS(secret.Data[corev1.ServiceAccountRootCAKey], pki.Pair{
		Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey],
	})
	if err != nil {
		secrets.Forget(key)
		return nil, "", fmt.Errorf("reading the operator's certificate of %s: %w",
			client.ObjectKeyFromObject(cluster), err)
	}
	return config, string(secret.UID) + "/" + secret.ResourceVersion, nil
}

// RecordKey is what the records of the backups of a cluster are signed with; nil where its Secret is not there. Of a
// cluster that is gone, the object is nil.
func RecordKey(ctx context.Context, secrets SecretReader, cluster types.NamespacedName,
	object *v1alpha1.EtcdCluster) (backupplan.Key, error) {
	name := resources.RecordKeySecret(cluster.Name, object)
	secret, err := secrets.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s, for the key of records: %w", cluster.Namespace, name, err)
	}
	return backupplan.KeyOf(secret.Data[resources.KeyKey], cluster.Namespace, cluster.Name), nil
}
