package facts

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Alarms that etcd raises.
const (
	AlarmNoSpace = etcdutil.AlarmNoSpace
	AlarmCorrupt = etcdutil.AlarmCorrupt
)

// Alarm is an alarm with the member that it was raised for.
type Alarm = etcdutil.Alarm

// RemedyOf is what a person can do about an alarm.
func RemedyOf(a Alarm) string {
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
