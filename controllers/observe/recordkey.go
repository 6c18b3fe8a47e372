package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

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
