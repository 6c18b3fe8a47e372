package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// desiredOf is what the spec asks for. A version that is none is part of the fault that the spec is refused with.
func desiredOf(cluster *v1alpha1.EtcdCluster, fault string) plan.Desired {
	inputs := resources.Inputs(cluster)
	version, err := etcdutil.ParseVersion(inputs.Version)
	if err != nil && fault == "" {
		fault = err.Error()
	}
	quota := cluster.Spec.QuotaOrDefault()
	return plan.Desired{
		Size:         int(cluster.Spec.Size),
		Choices:      plan.Choices{Version: version, Inputs: inputs.Canonical()},
		StorageBytes: resources.StorageBytes(cluster),
		QuotaBytes:   quota.Value(),
		TLS:          cluster.Spec.IsTLS(),
		Ephemeral:    cluster.Spec.IsEphemeral(),
		Retain:       retains(cluster),
		HasBudget:    cluster.Spec.HasBudget(),
		ReplaceAfter: cluster.Spec.ReplaceAfterOrDefault(),
		Paused:       cluster.Spec.Paused,
		Deleting:     cluster.DeletionTimestamp != nil,
		Fault:        fault,
	}
}

func retains(cluster *v1alpha1.EtcdCluster) bool {
	return cluster.Spec.DeletionPolicyOrDefault() == v1alpha1.DeletionRetain
}

// isReleasePending says that the owner of some data is not as deletionPolicy wants it. Data on its way out, and what has
// no right to it, is left alone.
func isReleasePending(cluster *v1alpha1.EtcdCluster, volumes []corev1.PersistentVolumeClaim, authorities []*corev1.Secret) bool {
	retain := retains(cluster)
	for _, volume := range volumes {
		if volume.DeletionTimestamp == nil && !resources.FollowsPolicy(&volume, cluster.UID, retain) {
			return true
		}
	}
	for _, authority := range authorities {
		if !resources.FollowsPolicy(authority, cluster.UID, retain) {
			return true
		}
	}
	return false
}
