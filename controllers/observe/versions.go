package observe

import (
	"context"
	"sync"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// versionPatience bounds what all members together take to say of which version their cluster is.
const versionPatience = 2 * time.Second

// desired is what members are to run next, once they were asked where they are on the way to what the spec asks for.
func (s survey) desired(ctx context.Context, cluster *v1alpha1.EtcdCluster, asked facts.Desired,
	current facts.Incarnation) facts.Desired {
	s.addVersions(ctx, asked.Target, current.Members)
	return atStop(cluster, asked, current.Progress())
}

// addVersions asks every member that answers for the version of its cluster, while any of them may be on its way to
// another one. A settled cluster is not asked: it takes a connection of its own.
func (s survey) addVersions(ctx context.Context, target etcdutil.Version, replicas []facts.Replica) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	var group sync.WaitGroup
	for _, r := range replicas {
		client, isAsked := s.clients[r.Name]
		if r.Answer == nil || !isAsked || isAtRest(r, target) {
			continue
		}
		group.Go(func() {
			if text, err := client.ClusterVersion(ctx); err == nil {
				r.Answer.Versions.Cluster = agreed(parsed(text), r.Answer.Version)
			}
		})
	}
	group.Wait()
}

// isAtRest reports a member that runs the minor of the spec, in a cluster of that version, by what is written down.
func isAtRest(r facts.Replica, target etcdutil.Version) bool {
	return r.Answer.Version.SameMinor(target) && r.Record().ClusterVersion.SameMinor(target) &&
		r.Answer.Versions.Downgrade.IsZero()
}

// agreed is the version of a cluster, which is at most one minor below what its member runs. A cluster that was just
// born says 3.0 for a moment, of which nothing follows (etcd-io/etcd:server/etcdserver/version/monitor.go).
func agreed(cluster, runs etcdutil.Version) etcdutil.Version {
	if cluster.Minor+1 < runs.Minor {
		return etcdutil.Version{}
	}
	return cluster
}

// parsed is a version that a member says, or zero where it says none.
func parsed(text string) etcdutil.Version {
	v, err := etcdutil.ParseVersion(text)
	if err != nil {
		return etcdutil.Version{}
	}
	return v
}
