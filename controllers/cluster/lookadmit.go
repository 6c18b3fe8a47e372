package cluster

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

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
		Own: r.Own, Operator: r.Operator, ClusterDomain: r.Domain, Images: r.Images, WantedBackup: live.WantedBackup,
		Requests: live.Requests,
	}, cluster)
	return view.Observation, err
}
