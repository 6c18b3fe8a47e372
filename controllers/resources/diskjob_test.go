package resources

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAJobThatMeasuresADiskIsBuiltAsItWasReviewed(t *testing.T) {
	d := DiskTest{Namespace: "prod", Name: "etcd-disk", Image: "ghcr.io/etcdsteward/etcd-steward:v1", Size: resource.MustParse("1Gi")}
	golden(t, "disk", BuildDiskJob(d))
	d.StorageClass, d.Node, d.PlatformIDs = "fast", "worker-1", true
	golden(t, "disk-of-a-node", BuildDiskJob(d))
}
