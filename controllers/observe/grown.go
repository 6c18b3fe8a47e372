package observe

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// withGrownQuota is the cluster with the quota that its members are to have. With spec.maintenance.autoGrow that is
// what they have already, where it is more than the spec names, or more where keys fill them. So how far it has grown
// is written down with the members and nowhere else, and a spec that names more is followed. It is never above the
// limit.
func withGrownQuota(c *v1alpha1.EtcdCluster, current facts.Incarnation, known facts.History) *v1alpha1.EtcdCluster {
	if c.Spec.IsEphemeral() { // nothing says how much room there is
		return c
	}
	limit := c.Spec.QuotaLimit()
	named := c.Spec.QuotaOrDefault()
	grown := min(max(named.Value(), quotaOf(current), current.QuotaForKeys(known, c.Spec.CompactsOnNoSpace())),
		limit.Value())
	if grown <= named.Value() {
		return c
	}
	c = c.DeepCopy()
	if c.Spec.Etcd == nil {
		c.Spec.Etcd = &v1alpha1.EtcdSpec{}
	}
	c.Spec.Etcd.QuotaBackendBytes = resource.NewQuantity(grown, resource.BinarySI)
	return c
}

// quotaOf is the largest quota that members have, or are to have. While nothing tells who is a member, all count that
// are there: those of a restore in place were made with what had grown before, and have no record before they serve.
func quotaOf(current facts.Incarnation) (largest int64) {
	for _, r := range current.Members {
		if r.Member != nil || !current.Membership.Known {
			largest = max(largest, r.Settings().QuotaBytes)
		}
	}
	return largest
}

// grownFrom is the quota that the spec names, where members are to have a larger one.
func grownFrom(named, grown *v1alpha1.EtcdCluster) int64 {
	if grown == named {
		return 0
	}
	quota := named.Spec.QuotaOrDefault()
	return quota.Value()
}
