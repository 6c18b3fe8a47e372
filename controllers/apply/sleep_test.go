package apply

import (
	"errors"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// isAsleep is what the record of the cluster says.
func (w *world) isAsleep(t *testing.T) bool {
	t.Helper()
	b, err := record.DecodeBootstrap(w.service(t, resources.PeerService("demo")).Annotations[v1alpha1.AnnotationBootstrap])
	if err != nil {
		t.Fatal(err)
	}
	return b.Asleep
}

func TestThatAClusterSleepsIsWrittenIntoItsRecordAndTakenBack(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	if err := w.do(t, bootstrapped(), changes.FallAsleep{}); !errors.Is(err, ErrStale) {
		t.Errorf("a cluster without an identity falls asleep: %v", err)
	}
	w.mustDo(t, bootstrapped(), changes.RecordBootstrap{ClusterID: 0xc1})
	for range 2 {
		w.mustDo(t, bootstrapped(), changes.FallAsleep{})
		if !w.isAsleep(t) {
			t.Error("it is not written down")
		}
	}
	for range 2 {
		w.mustDo(t, bootstrapped(), changes.WakeUp{})
		if w.isAsleep(t) {
			t.Error("it is not taken back")
		}
	}
}
