package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// withGrowth is the cluster with the quota and the size of volumes that its members are to have. With
// spec.maintenance.autoGrow the quota is what they have already, where it is more than the spec names, or more where
// keys fill them. So how far it has grown is written down with the members and nowhere else, and a spec that names more
// is followed. It is never above the limit.
//
// A quota that has grown asks for volumes with room for it. Where volumes have no room for a step more, they grow
// first, unless that would move members.
func withGrowth(c *v1alpha1.EtcdCluster, current facts.Incarnation, known facts.History) *v1alpha1.EtcdCluster {
	if c.Spec.IsEphemeral() { // nothing says how much room there is
		return c
	}
	named, limit, size := c.Spec.QuotaOrDefault(), c.Spec.QuotaLimit(), c.Spec.StorageSizeOrDefault()
	has := max(named.Value(), quotaOf(current))
	needed := min(current.QuotaForKeys(known, c.Spec.CompactsOnNoSpace()), limit.Value())
	quota := min(max(has, current.QuotaWithRoom(needed)), limit.Value())
	holds := quota
	if quota <= has && !c.Spec.ExpandsByMove() {
		holds = max(quota, needed)
	}
	isQuotaGrown := quota > named.Value()
	isVolumeGrown := holds > named.Value() && facts.VolumeFor(holds) > size.Value()
	if !isQuotaGrown && !isVolumeGrown {
		return c
	}
	c = c.DeepCopy()
	if isQuotaGrown {
		if c.Spec.Etcd == nil {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{}
		}
		c.Spec.Etcd.QuotaBackendBytes = resource.NewQuantity(quota, resource.BinarySI)
	}
	if isVolumeGrown {
		if c.Spec.Storage == nil {
			c.Spec.Storage = &v1alpha1.StorageSpec{}
		}
		c.Spec.Storage.Size = resource.NewQuantity(facts.VolumeFor(holds), resource.BinarySI)
	}
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

// grownFrom is what the spec names, where members are to have more: the quota, and the size of volumes. Else zero.
func grownFrom(named, grown *v1alpha1.EtcdCluster) (quotaBytes, volumeBytes int64) {
	was, quota := named.Spec.QuotaOrDefault(), grown.Spec.QuotaOrDefault()
	if quota.Cmp(was) > 0 {
		quotaBytes = was.Value()
	}
	if from := resources.StorageBytes(named); resources.StorageBytes(grown) > from {
		volumeBytes = from
	}
	return quotaBytes, volumeBytes
}

// desiredOfGrown is what a cluster asks for whose quota or volumes may have grown, with what its spec names beside it.
func desiredOfGrown(named, grown *v1alpha1.EtcdCluster, fault string, restore facts.WantedBackup,
	now time.Time) facts.Desired {
	d := desiredOf(grown, fault, restore, now)
	d.GrownFrom, d.StorageFrom = grownFrom(named, grown)
	return d
}
