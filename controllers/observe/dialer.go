package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
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
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// MemberDialer gives clients for members' Pods. Connections outlive a pass; the dialler closes those of Pods that are
// not asked for any more.
type MemberDialer interface {
	// Dial returns one client for each Pod, by name. It must not block on a member.
	Dial(ctx context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) (map[string]etcd.Client, error)
	// Distrust says that a member refused our certificates, or we its: they are read again before the next pass.
	Distrust(cluster *v1alpha1.EtcdCluster)
}

// PodDialer dials members by their Pods' addresses and keeps the connections between passes.
type PodDialer struct {
	pool    *etcd.Pool
	secrets *SecretCache
}

// NewPodDialer makes a dialler that takes the operator's certificates from Secrets.
func NewPodDialer(dialer etcd.Dialer, secrets *SecretCache) *PodDialer {
	return &PodDialer{pool: etcd.NewPool(dialer), secrets: secrets}
}

// Dial returns one client for each Pod, by name, and closes the connections to all other Pods of the cluster. A Pod is
// dialled by its address under its DNS name, so that nothing waits for DNS.
func (d *PodDialer) Dial(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	pods []corev1.Pod) (map[string]etcd.Client, error) {
	if len(pods) == 0 {
		return nil, d.Forget(client.ObjectKeyFromObject(cluster))
	}
	var errs []error
	config, generation, err := d.credentials(ctx, cluster, pods)
	if err != nil {
		errs = append(errs, err)
	}
	clients := make(map[string]etcd.Client, len(pods))
	inUse := make([]etcd.Key, 0, len(pods))
	for _, pod := range pods {
		config, generation := config, generation
		if isTLS := takesTLS(cluster, &pod); isTLS && err != nil {
			continue
		} else if !isTLS {
			config, generation = nil, ""
		}
		key := etcd.Key{
			Cluster: client.ObjectKeyFromObject(cluster).String(), PodUID: string(pod.UID),
			Address:       net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.ClientPort)),
			TLSGeneration: generation,
		}
		c, err := d.pool.Get(key, etcd.Endpoint{
			Address: key.Address, ServerName: etcdutil.PeerHost(pod.Name, cluster.Name, cluster.Namespace), TLS: config,
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("dialling %s: %w", pod.Name, err))
			continue
		}
		clients[pod.Name] = c
		inUse = append(inUse, key)
	}
	errs = append(errs, d.pool.Retain(client.ObjectKeyFromObject(cluster).String(), inUse...))
	return clients, errors.Join(errs...)
}

// credentials are those for members that take TLS; none where no member does. Without them all others are dialled.
func (d *PodDialer) credentials(ctx context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) (*tls.Config,
	string, error) {
	if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return takesTLS(cluster, &pod) }) {
		return nil, "", nil
	}
	return clientTLS(ctx, d.secrets, cluster)
}

// takesTLS reports a member that is dialled with TLS: one whose process takes it, by the flags that it started with.
func takesTLS(cluster *v1alpha1.EtcdCluster, pod *corev1.Pod) bool {
	if transport, isSaid := resources.TransportOf(pod); isSaid {
		return transport.HasCertificates()
	}
	return cluster.Spec.IsTLS()
}

// NoDialer dials no member. To look at a cluster that does not exist yet must close no connection: PodDialer knows
// clusters by their names, and one of the same name may serve.
type NoDialer struct{}

// Dial returns no client.
func (NoDialer) Dial(context.Context, *v1alpha1.EtcdCluster, []corev1.Pod) (map[string]etcd.Client, error) {
	return nil, nil
}

// Distrust does nothing: nothing was trusted.
func (NoDialer) Distrust(*v1alpha1.EtcdCluster) {}

// Distrust has all Secrets of the cluster read anew: either the operator shows or trusts what is old, or the member
// does, and then its Secret says so.
func (d *PodDialer) Distrust(cluster *v1alpha1.EtcdCluster) {
	d.secrets.ForgetCluster(client.ObjectKeyFromObject(cluster))
}

// Forget closes every connection to a cluster.
func (d *PodDialer) Forget(cluster types.NamespacedName) error {
	return d.pool.Retain(cluster.String())
}

// secretLifetime is how long a Secret that was read is believed. Secrets are neither listed nor watched, so that the
// operator needs no such right; what changed is seen this much later, or at once after a failed handshake.
const secretLifetime = 5 * time.Minute

// SecretCache reads Secrets by name and keeps what it read for a few minutes. That a Secret is absent is kept for those
// alone who ask for what is left over, nor is one kept that is in the way: a user who takes it away must not wait for
// the cache. It is safe for concurrent use.
type SecretCache struct {
	reader client.Reader // live
	now    func() time.Time

	mu      sync.Mutex
	entries map[types.NamespacedName]cachedSecret
}

type cachedSecret struct {
	secret *corev1.Secret // nil: there is none
	until  time.Time
}

// NewSecretCache makes an empty cache over a live reader.
func NewSecretCache(reader client.Reader, now func() time.Time) *SecretCache {
	return &SecretCache{reader: reader, now: now, entries: map[types.NamespacedName]cachedSecret{}}
}

// Get returns the Secret, which callers must not change. Errors are those of the API server.
func (c *SecretCache) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if entry, _ := c.find(key); entry.secret != nil {
		return entry.secret, nil
	}
	secret := &corev1.Secret{}
	if err := c.reader.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	secret.ManagedFields = nil
	if !mayKeep(secret) {
		return secret, nil
	}
	c.keep(key, secret)
	return secret, nil
}

// GetLeft is Get of what nothing uses any more, such as the certificates of a member that is gone. Names are never used
// again, so here it is kept too that there is none: a look costs no read for each member that there ever was.
func (c *SecretCache) GetLeft(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if entry, ok := c.find(key); ok && entry.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	secret, err := c.Get(ctx, key)
	if apierrors.IsNotFound(err) {
		c.keep(key, nil)
	}
	return secret, err
}

func (c *SecretCache) keep(key types.NamespacedName, secret *corev1.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = cachedSecret{secret: secret, until: c.now().Add(secretLifetime)}
}

// mayKeep is false of a Secret that is foreign, or on its way out.
func mayKeep(secret *corev1.Secret) bool {
	return secret.DeletionTimestamp == nil && secret.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue
}

func (c *SecretCache) find(key types.NamespacedName) (cachedSecret, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[key]
	if ok && c.now().After(entry.until) {
		delete(c.entries, key)
		return cachedSecret{}, false
	}
	return entry, ok
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
	if apierrors.IsNotFound(err) && name != resources.CASecret(cluster.Name) {
		return recordKeyFromBefore(ctx, secrets, cluster, object)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s, for the key of records: %w", cluster.Namespace, name, err)
	}
	return backupplan.KeyOf(resources.RecordSecret(secret.Data), cluster.Namespace, cluster.Name), nil
}

// recordKeyFromBefore is the key of a cluster from when it had a CA: TLS was turned off since, and its CA stays.
func recordKeyFromBefore(ctx context.Context, secrets SecretReader, cluster types.NamespacedName,
	object *v1alpha1.EtcdCluster) (backupplan.Key, error) {
	name := resources.CASecret(cluster.Name)
	secret, err := secrets.GetLeft(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s, for the key of records: %w", cluster.Namespace, name, err)
	case !resources.IsDataOf(secret, object.UID):
		return nil, nil
	}
	return backupplan.KeyOf(resources.RecordSecret(secret.Data), cluster.Namespace, cluster.Name), nil
}
