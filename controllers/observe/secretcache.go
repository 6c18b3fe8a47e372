package observe

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
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
