package facts

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
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
	Member etcdutil.ID
}

// Remedy is what a person can do about it.
func (a Alarm) Remedy() string {
	switch a.Name {
	case AlarmNoSpace:
		return "Raise spec.etcd.quotaBackendBytes, or delete keys, compact and defragment"
	case AlarmCorrupt:
		return "Compare what the members hold, or restore an older backup"
	default:
		return "Find its cause in etcd's log, and end it with etcdctl alarm disarm"
	}
}

// Raised are all alarms that a member speaks of, each once.
func (o Incarnation) Raised() []Alarm {
	var all []Alarm
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil {
			all = append(all, r.Answer.Alarms...)
		}
	}
	slices.SortFunc(all, func(a, b Alarm) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Member, b.Member))
	})
	return slices.Compact(all)
}
