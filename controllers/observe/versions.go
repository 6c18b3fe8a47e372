package observe

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// versionPatience bounds what all members together take to say of which version their cluster is, or what else has to
// be known of them on the way to another one.
const versionPatience = 2 * time.Second

// desired is what members are to run next, once they were asked where they are on the way to what the spec asks for.
func (s survey) desired(ctx context.Context, cluster *v1alpha1.EtcdCluster, asked facts.Desired,
	current facts.Incarnation, schedules []facts.Schedule) facts.Desired {
	s.addVersions(ctx, asked.Target, current.Members)
	way := etcdutil.Path(current.Progress(), asked.Target)
	why := cmp.Or(withoutDigest(s.images.WithDigests(cluster).Spec.Image, way), current.WhyStay(asked, schedules))
	desired := atStop(cluster, asked, current.ProgressAt(s.began), why)
	if desired.Needs == etcdutil.NeedCover {
		s.addSnapshots(ctx, current.Members)
		desired = atStop(cluster, asked, current.ProgressAt(s.began), why)
	}
	if next := current.Birth.Next; !next.IsZero() {
		begins := etcdutil.Progress{Begins: next.Origin.Version}
		desired.NextChoices = atStop(cluster, asked, begins, facts.Hold{}).Choices
	}
	return desired
}

// addSnapshots asks every voter that answers how many snapshots of raft's state it wrote.
func (s survey) addSnapshots(ctx context.Context, replicas []facts.Replica) {
	s.eachAnswering(ctx, replicas, func(ctx context.Context, client etcd.Client, r facts.Replica) {
		if !r.IsVoter() {
			return
		}
		if saved, err := client.SnapshotsSaved(ctx); err == nil {
			r.Answer.Snapshots = &saved
		}
	})
}

// eachAnswering asks the members that answer something more, all at once. What one does not tell stays unknown.
func (s survey) eachAnswering(ctx context.Context, replicas []facts.Replica,
	ask func(context.Context, etcd.Client, facts.Replica)) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	var group sync.WaitGroup
	for _, r := range replicas {
		if client, isAsked := s.clients[r.Name]; isAsked && r.Answer != nil {
			group.Go(func() { ask(ctx, client, r) })
		}
	}
	group.Wait()
}

// addVersions asks every member that answers for the version of its cluster, while any of them may be on its way to
// another one. A settled cluster is not asked: it takes a connection of its own.
func (s survey) addVersions(ctx context.Context, target etcdutil.Version, replicas []facts.Replica) {
	s.eachAnswering(ctx, replicas, func(ctx context.Context, client etcd.Client, r facts.Replica) {
		if isAtRest(r, target) {
			return
		}
		if text, err := client.ClusterVersion(ctx); err == nil {
			r.Answer.Versions.Cluster = agreed(parsed(text), r.Answer.Version)
		}
	})
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
