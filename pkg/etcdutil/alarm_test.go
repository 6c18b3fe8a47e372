package etcdutil

import (
	"slices"
	"testing"
)

func TestAlarmsAreReadFromWhatAMemberCallsErrors(t *testing.T) {
	got := ParseAlarms([]string{
		"etcdserver: no leader", "memberID:10276657743932975437 alarm:NOSPACE ", "memberID:1  alarm:CORRUPT",
		"alarm:CORRUPT ", "memberID:3", "alarm:NONE", "a key that says alarm:NOSPACE",
	})
	want := []Alarm{{Name: "NOSPACE", Member: 10276657743932975437}, {Name: "CORRUPT", Member: 1},
		{Name: "CORRUPT"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheAlarmCorruptMeansItsMemberAndEveryMemberWhereItNamesNone(t *testing.T) {
	for _, row := range []struct {
		alarms []Alarm
		want   bool
	}{
		{nil, false},
		{[]Alarm{{Name: AlarmNoSpace, Member: 7}}, false},
		{[]Alarm{{Name: AlarmCorrupt, Member: 8}}, false},
		{[]Alarm{{Name: AlarmCorrupt, Member: 8}, {Name: AlarmCorrupt, Member: 7}}, true},
		{[]Alarm{{Name: AlarmCorrupt}}, true},
	} {
		if got := IsCalledCorrupt(row.alarms, 7); got != row.want {
			t.Errorf("%v: %v", row.alarms, got)
		}
	}
}
