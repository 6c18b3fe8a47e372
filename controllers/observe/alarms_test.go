package observe

import (
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAlarmsAreReadFromWhatAMemberCallsErrors(t *testing.T) {
	got := alarms([]string{
		"etcdserver: no leader", "memberID:10276657743932975437 alarm:NOSPACE ", "memberID:1  alarm:CORRUPT",
		"alarm:CORRUPT ", "memberID:3", "alarm:NONE", "a key that says alarm:NOSPACE",
	})
	want := []facts.Alarm{{Name: "NOSPACE", Member: 10276657743932975437}, {Name: "CORRUPT", Member: 1},
		{Name: "CORRUPT"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
