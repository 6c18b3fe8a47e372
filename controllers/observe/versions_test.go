package observe

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestTheVersionThatAClusterSaysRightAfterItsBirthIsNone(t *testing.T) {
	runs := etcdutil.Version{Major: 3, Minor: 6, Patch: 16}
	for minor, isSaid := range map[int]bool{0: false, 4: false, 5: true, 6: true} {
		cluster := etcdutil.Version{Major: 3, Minor: minor}
		if got := agreed(cluster, runs); got.IsZero() == isSaid {
			t.Errorf("a member of %s in a cluster of %s: %s", runs, cluster, got)
		}
	}
}
