package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// filled is a cluster of one member with a quota and a volume of so many Mi, of which keys use so many.
func filled(quota, volume, inUse int64) facts.Incarnation {
	r := facts.Replica{Name: "demo-0", Member: &etcdutil.Member{ID: 1},
		Volume: &facts.Volume{Bytes: volume << 20, Settings: facts.Settings{Inputs: "a", QuotaBytes: quota << 20}},
		Pod:    &facts.Pod{Settings: facts.Settings{Inputs: "a", QuotaBytes: quota << 20}},
		Answer: &facts.Answer{ID: 1, ClusterID: 7, Leader: 1, Revision: 100, DBSize: inUse << 20, DBSizeInUse: inUse << 20,
			Alarms: []facts.Alarm{{Name: facts.AlarmNoSpace, Member: 1}}}}
	return facts.Incarnation{Members: []facts.Replica{r},
		Membership: facts.Membership{Known: true, ClusterID: 7, Leader: 1, Members: []etcdutil.Member{*r.Member}}}
}

// room is what a volume must have for a quota of so many Mi.
func room(quota int64) int64 { return 2*quota + 1024 }

func TestTheQuotaGrowsOnlyWhereKeysFillItAndVolumesGrowFirstWhereTheyHaveNoRoom(t *testing.T) {
	all, some := facts.History{Compacted: new(int64(100)), IsSteady: true}, facts.History{Compacted: new(int64(50))}
	aged := facts.History{Compacted: new(int64(90)), Reached: 90, IsFullSince: true, IsSteady: true}
	well := filled(2048, 8192, 2000)
	well.Members[0].Answer.Alarms = nil
	unlisted := filled(4096, 20480, 100)
	unlisted.Membership, unlisted.Members[0].Member, unlisted.Members[0].Answer = facts.Membership{}, nil, nil
	unlisted.Members[0].Volume.Record = record.Member{ClusterID: 7, MemberID: 1}
	fresh := filled(4096, 20480, 100) // its member has not started yet
	fresh.Membership, fresh.Members[0].Member, fresh.Members[0].Answer, fresh.Members[0].Pod = facts.Membership{}, nil, nil, nil
	corrupt := filled(2048, 8192, 2000)
	corrupt.Members[0].Answer.Alarms = []facts.Alarm{{Name: facts.AlarmNoSpace}, {Name: facts.AlarmCorrupt}}
	for name, row := range map[string]struct {
		spec        string
		limit       string
		current     facts.Incarnation
		known       facts.History
		keepsAll    bool
		wantInMebis int64
		volume      int64 // that members are to have; that of the spec where it is not more
	}{
		"keys fill it":                                   {"2Gi", "8Gi", filled(2048, 20480, 1900), all, false, 4096, room(4096)},
		"no further than the limit":                      {"2Gi", "3Gi", filled(2048, 20480, 1900), all, false, 3072, 0},
		"no further than the volume has room":            {"2Gi", "8Gi", filled(2048, 7168, 1900), all, false, 3072, 0},
		"not while history is left":                      {"2Gi", "8Gi", filled(2048, 20480, 1900), some, false, 2048, 0},
		"but where all that is left came with the alarm": {"2Gi", "8Gi", filled(2048, 20480, 1900), aged, false, 4096, room(4096)},
		"nor while it is being compacted": {"2Gi", "8Gi", filled(2048, 20480, 1900),
			facts.History{Compacted: new(int64(100))}, false, 2048, 0},
		"what it has grown to stays where the list is unknown": {"2Gi", "8Gi", unlisted, all, false, 4096, room(4096)},
		"what was restored in place goes on with it":           {"2Gi", "8Gi", fresh, all, false, 4096, room(4096)},
		"nor while nothing is known of it":                     {"2Gi", "8Gi", filled(2048, 20480, 1900), facts.History{}, false, 2048, 0},
		"at once where history is never compacted":             {"2Gi", "8Gi", filled(2048, 20480, 1900), some, true, 4096, room(4096)},
		"not where it is not full":                             {"2Gi", "8Gi", well, all, false, 2048, 0},
		"nor where copies may differ":                          {"2Gi", "8Gi", corrupt, all, false, 2048, 0},
		"nor where no limit allows it":                         {"2Gi", "", filled(2048, 20480, 1900), all, false, 2048, 0},
		"what it has grown to stays":                           {"2Gi", "8Gi", filled(4096, 20480, 100), all, false, 4096, room(4096)},
		"not above a limit that was lowered":                   {"2Gi", "3Gi", filled(4096, 20480, 100), all, false, 3072, 0},
		"nor once no limit allows it any more":                 {"2Gi", "", filled(4096, 20480, 100), all, false, 2048, 0},
		"where volumes have no room for a step more they grow first": {"2Gi", "8Gi", filled(3072, 7168, 2900), all, false, 3072,
			room(6144)},
		"as far as the limit needs":           {"2Gi", "4Gi", filled(3072, 7168, 2900), all, false, 3072, room(4096)},
		"not while they have room for a step": {"2Gi", "8Gi", filled(2048, 9216, 2000), all, false, 4096, room(4096)},
		"a spec that names more is followed":  {"6Gi", "4Gi", filled(4096, 20480, 100), all, false, 6144, 0},
	} {
		quota := resource.MustParse(row.spec)
		c := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{Etcd: &v1alpha1.EtcdSpec{QuotaBackendBytes: &quota},
			Maintenance: &v1alpha1.MaintenanceSpec{CompactOnNoSpace: new(!row.keepsAll)}}}
		if row.limit != "" {
			c.Spec.Maintenance.AutoGrow = &v1alpha1.AutoGrowSpec{Limit: resource.MustParse(row.limit)}
		}
		grown := withGrowth(c, row.current, row.known)
		got := grown.Spec.QuotaOrDefault()
		from, volumeFrom := grownFrom(c, grown)
		if from != 0 && from != quota.Value() || (from != 0) != (got.Cmp(quota) > 0) {
			t.Errorf("%s: it is said to have grown from %d", name, from)
		}
		volume, usual := grown.Spec.StorageSizeOrDefault(), int64(8<<30)
		if want := max(row.volume<<20, usual); volume.Value() != want || (volumeFrom != 0) != (want > usual) {
			t.Errorf("%s: volumes of %dMi, from %d, want %dMi", name, volume.Value()>>20, volumeFrom, want>>20)
		}
		if got.Value()>>20 != row.wantInMebis || c.Spec.Etcd.QuotaBackendBytes.String() != row.spec {
			t.Errorf("%s: %s, want %dMi; the spec names %s", name, got.String(), row.wantInMebis,
				c.Spec.Etcd.QuotaBackendBytes)
		}
	}
}
