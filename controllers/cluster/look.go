package cluster

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// observer reads from the cache, unless the last decision proved that the cache is behind, or shows less than there is:
// of a name that is taken, for one, it shows nothing.
func (r *Reconciler) observer(key types.NamespacedName) *observe.Observer {
	if r.lagging.Forget(key) {
		return r.LiveObserver
	}
	return r.Observer
}

// find reads a cluster; nil when there is none.
func find(ctx context.Context, observer *observe.Observer, key types.NamespacedName) (*v1alpha1.EtcdCluster, error) {
	return observe.Find[v1alpha1.EtcdCluster](ctx, observer.Reader, key.Namespace, key.Name)
}

// look reads the whole world live, for the proof that a change is still right. What was refused in this pass still is.
// It is stale where this replica stands by, and the leader is heard after all.
func (r *Reconciler) look(seen *v1alpha1.EtcdCluster, refused []facts.Note) apply.Look {
	return func(ctx context.Context) (apply.Seen, error) {
		cluster, err := find(ctx, r.LiveObserver, client.ObjectKeyFromObject(seen))
		if err != nil {
			return apply.Seen{}, err
		}
		if cluster == nil || cluster.UID != seen.UID {
			return apply.Seen{}, apply.ErrStale
		}
		view, err := observeWith(ctx, r.LiveObserver, cluster)
		view.Refused = refused
		if err == nil && !r.Leadership.mayAct(ctx) {
			return apply.Seen{}, apply.ErrStale
		}
		return view, err
	}
}

// observeWith looks at a cluster, with what keeps its spec from being followed.
func observeWith(ctx context.Context, observer *observe.Observer, cluster *v1alpha1.EtcdCluster) (apply.Seen, error) {
	observation, clients, err := observer.Observe(ctx, cluster, admission.Message(admission.ValidateExisting(cluster)))
	if err == nil && !observation.Current.Bootstrap.Exists() && len(observation.Current.Members) == 0 {
		observation.Desired.Fault = admission.Message(admission.Validate(cluster))
	}
	return apply.Seen{Observation: observation, Clients: clients}, err
}

// backupsOf are the complete backups of a cluster, where something has to be said of them.
func (r *Reconciler) backupsOf(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	o facts.Observation) ([]report.Backup, error) {
	if !report.ShowsEvidence(o) {
		return nil, nil
	}
	var list v1alpha1.EtcdBackupList
	if err := r.Client.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackups of %s: %w", client.ObjectKeyFromObject(cluster), err)
	}
	key, err := observe.RecordKey(ctx, r.Secrets, client.ObjectKeyFromObject(cluster), cluster)
	if err != nil {
		return nil, err
	}
	var backups []report.Backup
	for i := range list.Items {
		b := &list.Items[i]
		record, err := backupplan.RecordOf(b)
		if err != nil || b.Spec.ClusterRef.Name != cluster.Name || record.Outcome == nil || !record.Outcome.Complete {
			continue
		}
		facts := record.Outcome.Facts
		backups = append(backups, report.Backup{
			Name: b.Name, ClusterID: facts.ClusterID, Revision: facts.Revision, StartedAt: facts.StartedAt,
			Proven: key.Proven(b) != nil,
		})
	}
	return backups, nil
}

// sourcesFrom finds what Pods are made from that read a backup which a cluster, or an EtcdRestore of it, names by its
// hash.
func sourcesFrom(
	reader client.Reader,
) func(context.Context, *v1alpha1.EtcdCluster, string) (apply.Source, error) {
	return func(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (apply.Source, error) {
		found, err := observe.Sources{Reader: reader}.OfHash(ctx, cluster, hash)
		if found == nil || err != nil {
			return apply.Source{}, err
		}
		source := apply.Source{Hash: hash, Store: found.Store, Key: found.Key, SHA256: found.SHA256}
		if found.LatestOf != nil {
			source.LatestOf = *found.LatestOf
		}
		return source, nil
	}
}

// isAnothers reports a cluster that another install looks after, or is asked to.
func (r *Reconciler) isAnothers(ctx context.Context, cluster *v1alpha1.EtcdCluster) (bool, error) {
	keeper, err := observe.KeeperOf(ctx, r.Client, cluster, r.Operator)
	return err == nil && keeper != r.Operator, err
}

// resized is the cluster that a Scale is of, as it is and with the size of the Scale; nil where there is none.
func (r *Reconciler) resized(ctx context.Context, scale *autoscalingv1.Scale) (before, now *v1alpha1.EtcdCluster,
	err error) {
	before, err = observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, scale.Namespace, scale.Name)
	if before == nil || err != nil {
		return nil, nil, err
	}
	now = before.DeepCopy()
	now.Spec.Size = scale.Spec.Replicas
	return before, now, nil
}

// isThere reports a cluster of this name. The API server then refuses a new one.
func (r *Reconciler) isThere(ctx context.Context, cluster *v1alpha1.EtcdCluster) (bool, error) {
	there, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Live, cluster.Namespace, cluster.Name)
	return there != nil, err
}

// lookAhead sees what the first pass over a cluster will see that does not exist yet. It is read live, Secrets as well:
// to refuse what was put right a moment ago would be worse than to wait for an answer.
func (r *Reconciler) lookAhead(ctx context.Context, cluster *v1alpha1.EtcdCluster) (facts.Observation, error) {
	live := r.LiveObserver
	view, err := observeWith(ctx, &observe.Observer{
		Reader: r.Live, Secrets: observe.NewSecretCache(r.Live, r.Now), Dial: observe.NoDialer{}, Now: r.Now,
		Own: r.Own, Operator: r.Operator, Platform: r.Platform.Platform, WantedBackup: live.WantedBackup,
		Requests: live.Requests,
	}, cluster)
	return view.Observation, err
}
