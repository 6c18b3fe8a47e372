package observe

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// KeeperOf names the install that looks after a cluster, as a pass over the cluster itself finds it; own where nothing
// names another one. Data is asked only where the peer Service says nothing, and no person either.
func KeeperOf(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster, own string) (string, error) {
	service, err := Find[corev1.Service](ctx, reader, cluster.Namespace, resources.PeerService(cluster.Name))
	if err != nil {
		return "", err
	}
	g := gathered{peerService: service}
	seen := facts.Observation{
		Cluster:   facts.Identity{Operator: own},
		Desired:   facts.Desired{Operator: cluster.Annotations[v1alpha1.AnnotationOperator]},
		ClaimedBy: g.claim(ownershipOf(cluster)),
	}
	if seen.ClaimedBy == "" && seen.Desired.Operator == "" {
		if err := g.readData(ctx, reader, cluster); err != nil {
			return "", err
		}
		seen.DataClaim = g.dataClaim(cluster)
	}
	return seen.Keeper(), nil
}

// readData reads what may say which install looks after a cluster.
func (g *gathered) readData(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster) error {
	var group errgroup.Group
	found := readLabelled(ctx, &group, reader, cluster)
	if err := group.Wait(); err != nil {
		return err
	}
	g.sortAll(ownershipOf(cluster), found)
	return nil
}
