package main

import (
	"slices"
	"strings"
	"testing"
)

func TestTheFloorHasTheQuotaThatOursHas(t *testing.T) {
	for name, row := range map[string]struct {
		like shape
		want string
	}{
		"none is asked for":        {shape{database: 1 << 30}, ""},
		"it is asked for":          {shape{quota: smallQuota}, "--quota-backend-bytes=67108864"},
		"the database needs it":    {shape{database: 4 << 30}, "--quota-backend-bytes=8589934592"},
		"what is asked for counts": {shape{database: 4 << 30, quota: smallQuota}, "--quota-backend-bytes=67108864"},
	} {
		quotas := slices.DeleteFunc(floorArgs(row.like, "/data"), func(arg string) bool { return !strings.HasPrefix(arg, "--quota-") })
		if got := strings.Join(quotas, " "); got != row.want {
			t.Errorf("%s: %q, not %q", name, got, row.want)
		}
		etcd := manifest(row.like).Spec.Etcd
		if hasQuota := etcd != nil && etcd.QuotaBackendBytes != nil; hasQuota != (row.want != "") {
			t.Errorf("%s: ours asks for one: %v", name, hasQuota)
		}
	}
}

func TestOneDefragmentationThatHoldsClientsBackMissesTheTarget(t *testing.T) {
	f := gapOfDefrag("1 GiB")
	f.Floor = []sample{{Value: 0.05}, {Value: 0.06}, {Value: 0.4}}
	f.Ours = []sample{{Value: 0.05}, {Value: 0.15}}
	if !f.isHit() {
		t.Errorf("gaps as by hand: %g of %g", f.value(), f.target())
	}
	f.Ours = append(f.Ours, sample{Value: 0.2})
	if f.isHit() {
		t.Errorf("one longer gap: %g of %g", f.value(), f.target())
	}
}
