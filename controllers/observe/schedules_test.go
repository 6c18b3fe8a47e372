package observe_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestOnlySchedulesThatBackThisClusterUpAreSeenWithIt(t *testing.T) {
	w := newBornWorld(t)
	schedule := func(name, cluster string, isSuspended bool) *v1alpha1.EtcdBackupSchedule {
		return &v1alpha1.EtcdBackupSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: name},
			Spec: v1alpha1.EtcdBackupScheduleSpec{Schedule: "0 3 * * *", Suspend: &isSuspended,
				ClusterRef: v1alpha1.ClusterReference{Name: cluster}},
		}
	}
	ofAnother, elsewhere := schedule("of-another", "other", false), schedule("elsewhere", "demo", false)
	elsewhere.Namespace = "another"
	leaving := schedule("leaving", "demo", false)
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: w.now}, []string{"example.com/keep"}
	w.put(schedule("weekly", "demo", false))
	w.put(schedule("nightly", "demo", false))
	w.put(schedule("resting", "demo", true))
	for _, s := range []*v1alpha1.EtcdBackupSchedule{ofAnother, elsewhere, leaving} {
		w.put(s)
	}
	seen := w.look().Schedules
	if len(seen) != 2 || seen[0].Name != "nightly" || seen[1].Name != "weekly" || seen[0].UpToDate {
		t.Errorf("%+v", seen)
	}
}
