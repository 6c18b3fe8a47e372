package etcdutil

import (
	"regexp"
	"slices"
	"strconv"
)

// Alarms that etcd raises. They are part of its data: a backup brings them along, under the IDs of members that are
// gone.
const (
	AlarmNoSpace = "NOSPACE" // a member's database reached its quota: no key can be written
	AlarmCorrupt = "CORRUPT" // members hold different data: reads are answered, and nothing can be written
)

// Alarm is an alarm with the member that it was raised for; zero when etcd does not know which one it is.
type Alarm struct {
	Name   string
	Member ID
}

// alarmText is how Status words an alarm, the member's ID in decimal (etcd-io/etcd:api/etcdserverpb/rpc.proto
// AlarmMember; how many spaces are between the fields is up to the library that prints it).
var alarmText = regexp.MustCompile(`^(?:memberID:([0-9]+)\s+)?alarm:([A-Z]+)`)

// ParseAlarms reads the alarms among what a member's Status calls errors. Every member speaks of the alarms of all.
func ParseAlarms(errs []string) []Alarm {
	var found []Alarm
	for _, text := range errs {
		parts := alarmText.FindStringSubmatch(text)
		if parts == nil || parts[2] == "NONE" {
			continue
		}
		id, _ := strconv.ParseUint(parts[1], 10, 64) // none: etcd does not know whom to accuse
		found = append(found, Alarm{Name: parts[2], Member: ID(id)})
	}
	return found
}

// IsCalledCorrupt reports an alarm that may mean this member. Of one without a member any may be meant.
func IsCalledCorrupt(alarms []Alarm, member ID) bool {
	return slices.ContainsFunc(alarms, func(a Alarm) bool {
		return a.Name == AlarmCorrupt && (a.Member == 0 || a.Member == member)
	})
}
