package observe

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
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

// LeaseName is what the replicas of each install elect their leader by, in the install's namespace.
const LeaseName = "manager.etcdsteward.dev"

// An install for one namespace may not read the Lease of another.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=manager.etcdsteward.dev,verbs=get

// keepingOf reads the Lease of the install that looks after a cluster, where that is another one. The API server dates
// the last renewal by its own clock: that of the other install's machine may be wrong.
func (o *Observer) keepingOf(ctx context.Context, seen facts.Observation) facts.Lease {
	if !seen.IsAnothers() {
		return facts.Lease{}
	}
	namespace, _, _ := strings.Cut(seen.Keeper(), "/")
	lease, err := Find[coordinationv1.Lease](ctx, cmp.Or(o.Live, o.Reader), namespace, LeaseName)
	switch {
	case err != nil:
		return facts.Lease{Why: err.Error()}
	case lease == nil:
		return facts.Lease{Known: true}
	}
	return facts.Lease{Known: true, Renewed: renewed(lease)}
}

func renewed(lease *coordinationv1.Lease) time.Time {
	written := lastWritten(lease.ManagedFields, "")
	if at := lease.Spec.RenewTime; written.IsZero() && at != nil {
		return at.Time
	}
	return written
}

// deniedFor is how long a right that the operator lacks is not asked for again. Rights come with an install, and rarely
// after it.
const deniedFor = 5 * time.Minute

// denials are the kinds that the API server did not let the operator read, and until when that is believed. An install
// for one namespace has no rights on nodes, and must not ask for them in each look.
type denials struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (d *denials) isDenied(kind string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.until[kind])
}

func (d *denials) add(kind string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = map[string]time.Time{}
	}
	d.until[kind] = now.Add(deniedFor)
}
