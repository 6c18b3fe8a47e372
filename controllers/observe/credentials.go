package observe

import (
	"context"
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

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
