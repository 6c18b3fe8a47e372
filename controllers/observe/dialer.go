package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

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
	config, generation, err := d.credentials(ctx, cluster)
	if err != nil {
		return nil, err
	}
	clients := make(map[string]etcd.Client, len(pods))
	inUse := make([]etcd.Key, 0, len(pods))
	var errs []error
	for _, pod := range pods {
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

// NoDialer dials no member. To look at a cluster that does not exist yet must close no connection: PodDialer knows
// clusters by their names, and one of the same name may serve.
type NoDialer struct{}

// Dial returns no client.
func (NoDialer) Dial(context.Context, *v1alpha1.EtcdCluster, []corev1.Pod) (map[string]etcd.Client, error) {
	return nil, nil
}

// Distrust does nothing: nothing was trusted.
func (NoDialer) Distrust(*v1alpha1.EtcdCluster) {}

func (d *PodDialer) credentials(ctx context.Context, cluster *v1alpha1.EtcdCluster) (*tls.Config, string, error) {
	if !cluster.Spec.IsTLS() {
		return nil, "", nil
	}
	return clientTLS(ctx, d.secrets, cluster)
}

// Distrust makes the next Dial read the operator's certificates of the cluster anew.
func (d *PodDialer) Distrust(cluster *v1alpha1.EtcdCluster) {
	d.secrets.Forget(operatorSecret(cluster))
}

// Forget closes every connection to a cluster.
func (d *PodDialer) Forget(cluster types.NamespacedName) error {
	return d.pool.Retain(cluster.String())
}
