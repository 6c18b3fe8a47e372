package plan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestANewMemberGetsASmallerVolumeThanThoseThatTheSpecWantsSmaller(t *testing.T) {
	o := desire(settledWorld(3), func(d *facts.Desired) { d.StorageBytes = 6 << 30 })
	for i := range 3 {
		o = o.edit(i, func(r *facts.Replica) { r.Volume.AskedBytes = 8 << 30 })
	}
	d := Decide(o.Observation)
	if made, isMade := d.Change.(changes.PrepareMember); !isMade || made.Volume.Bytes != 6<<30 {
		t.Errorf("%+v: %s", d.Change, d.Message)
	}
}

func TestANewMemberGetsAVolumeAsLargeAsTheOthersWhereAQuotaHasNoRoomInThatOfTheSpec(t *testing.T) {
	o := desire(settledWorld(2), func(d *facts.Desired) { d.Size, d.StorageBytes, d.Settings.QuotaBytes = 3, 8<<30, 6<<30 })
	for i := range 2 {
		o = o.edit(i, func(r *facts.Replica) { r.Volume.Bytes, r.Volume.AskedBytes = 20<<30, 20<<30 })
	}
	d := Decide(o.Observation)
	if made, isMade := d.Change.(changes.PrepareMember); !isMade || made.Volume.Bytes != 20<<30 {
		t.Errorf("%+v: %s", d.Change, d.Message)
	}
}

// Where a StorageClass cannot expand volumes, replacing members one after the other is the only way to larger ones.
func TestANewMemberGetsTheVolumeOfTheSpecButNoneSmallerThanThoseOfTheOthers(t *testing.T) {
	for _, row := range []struct {
		name        string
		has, wanted int64
		want        int64
	}{
		{"the spec asks for more", 8 << 30, 20 << 30, 20 << 30},
		{"the spec asks for less", 8 << 30, 4 << 30, 8 << 30},
	} {
		o := desire(settledWorld(2), func(d *facts.Desired) { d.Size, d.StorageBytes = 3, row.wanted })
		for i := range 2 {
			o = o.edit(i, func(r *facts.Replica) { r.Volume.Bytes = row.has })
		}
		d := Decide(o.Observation)
		if made, isMade := d.Change.(changes.PrepareMember); !isMade || made.Volume.Bytes != row.want {
			t.Errorf("%s: %+v, not %d: %s", row.name, d.Change, row.want, d.Message)
		}
	}
}
