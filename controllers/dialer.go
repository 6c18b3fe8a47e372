package controllers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// MemberDialer dials members by their Pods' addresses and keeps the connections between passes.
type MemberDialer struct {
	pool    *etcd.Pool
	secrets *SecretCache
}

// NewMemberDialer makes a dialler that takes the operator's certificates from Secrets.
func NewMemberDialer(dialer etcd.Dialer, secrets *SecretCache) *MemberDialer {
	return &MemberDialer{pool: etcd.NewPool(dialer), secrets: secrets}
}

// Dial returns one client for each Pod, by name, and closes the connections to all other Pods of the cluster. A Pod is
// dialled by its address under its DNS name, so that nothing waits for DNS.
func (d *MemberDialer) Dial(ctx context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) (map[string]etcd.Client, error) {
	if len(pods) == 0 {
		return nil, d.Forget(keyOf(cluster))
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
			Cluster: keyOf(cluster).String(), PodUID: string(pod.UID),
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
	errs = append(errs, d.pool.Retain(keyOf(cluster).String(), inUse...))
	return clients, errors.Join(errs...)
}

func (d *MemberDialer) credentials(ctx context.Context, cluster *v1alpha1.EtcdCluster) (*tls.Config, string, error) {
	if !cluster.Spec.IsTLS() {
		return nil, "", nil
	}
	return clientTLS(ctx, d.secrets, cluster)
}

// Distrust makes the next Dial read the operator's certificates of the cluster anew.
func (d *MemberDialer) Distrust(cluster *v1alpha1.EtcdCluster) {
	d.secrets.Forget(operatorSecret(cluster))
}

// Forget closes every connection to a cluster.
func (d *MemberDialer) Forget(cluster types.NamespacedName) error {
	return d.pool.Retain(cluster.String())
}

func keyOf(cluster *v1alpha1.EtcdCluster) types.NamespacedName {
	return types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
}
