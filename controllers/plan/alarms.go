package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Alarms that etcd raises. They are part of its data: a backup brings them along, under the IDs of members that are gone.
const (
	AlarmNoSpace = "NOSPACE" // a member's database reached its quota: no key can be written
	AlarmCorrupt = "CORRUPT" // members hold different data: reads are answered, and nothing can be written
)

// Alarm is an alarm with the member that it was raised for; zero when etcd does not know which one it is.
type Alarm struct {
	Name   string
	Member etcdutil.ID
}

// roomPercent is how full a database may be for an alarm to be taken back: etcd raises it again at its quota.
const roomPercent = 80

// alarms takes back the alarm that space ran out once every member has room again: etcd itself never does. All else that is
// raised asks for a person.
func alarms(o view) *proposal {
	raised := o.raised()
	full := filterAlarms(raised, AlarmNoSpace)
	switch corrupt := filterAlarms(raised, AlarmCorrupt); {
	case len(full) > 0 && o.hasRoom():
		return act(DisarmAlarms{Alarms: full}, ReasonDisarm, "Every member has room again; the alarm %s is taken back.", AlarmNoSpace)
	case len(corrupt) > 0 && o.isCured(corrupt):
		return act(DisarmAlarms{Alarms: corrupt}, ReasonDisarm, "The member that %s was raised for is gone, and all copies are the same; the alarm is taken back.", AlarmCorrupt)
	case len(corrupt) > 0:
		return refuse(ReasonAlarm, "etcd raised %s for %s: reads are answered, and writes are refused. Compare what the members hold, or restore an older backup; "+
			"once the data is right, etcdctl alarm disarm ends it.", AlarmCorrupt, o.accused(corrupt[0])).byHuman().yielding()
	case len(full) > 0:
		return refuse(ReasonAlarm, "etcd raised %s for %s and takes no more keys: %s. Raise spec.etcd.quotaBackendBytes, or delete keys, compact and defragment; "+
			"the alarm is taken back once every member has less than %d %% of its quota.", AlarmNoSpace, o.accused(full[0]), o.fullest(), roomPercent).byHuman().yielding()
	}
	return nil
}

// raised are all alarms that a member speaks of, each once.
func (o Incarnation) raised() []Alarm {
	var all []Alarm
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil {
			all = append(all, r.Answer.Alarms...)
		}
	}
	slices.SortFunc(all, func(a, b Alarm) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Member, b.Member)) })
	return slices.Compact(all)
}

func filterAlarms(all []Alarm, name string) []Alarm {
	return slices.DeleteFunc(slices.Clone(all), func(a Alarm) bool { return a.Name != name })
}

// hasRoom reports whether every member answers, runs with the quota of the spec, and is well below it.
func (o view) hasRoom() bool {
	return o.Membership.Known && !slices.ContainsFunc(o.Members, func(r Replica) bool {
		return r.Member != nil && (r.Answer == nil || r.Pod == nil || r.Pod.Choices != o.Desired.Choices || r.Answer.DBSize*100 >= o.Desired.QuotaBytes*roomPercent)
	})
}

// accused names whom an alarm was raised for.
func (o Incarnation) accused(a Alarm) string {
	for _, r := range o.Members {
		if r.Member != nil && r.Member.ID == a.Member {
			return r.Name
		}
	}
	if !o.Birth.Origin.IsZero() && a.Member != 0 {
		return fmt.Sprintf("the member %s of the cluster that the backup was taken from", a.Member)
	}
	if a.Member == 0 {
		return "some member"
	}
	return fmt.Sprintf("the former member %s", a.Member)
}

// fullest says how large the largest database is.
func (o view) fullest() string {
	var largest Replica
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil && (largest.Answer == nil || r.Answer.DBSize > largest.Answer.DBSize) {
			largest = r
		}
	}
	return fmt.Sprintf("the database of %s has %dMi of %dMi", largest.Name, largest.Answer.DBSize>>20, o.Desired.QuotaBytes>>20)
}

// isCured reports that the corrupt member was removed, and that all that is left is the same. What a backup brought along says
// nothing of that: each member was restored from the same data.
func (o Incarnation) isCured(corrupt []Alarm) bool {
	isListed := func(a Alarm) bool {
		return a.Member == 0 || slices.ContainsFunc(o.Membership.Members, func(m etcdutil.Member) bool { return m.ID == a.Member })
	}
	return o.Birth.Origin.IsZero() && o.haveEqualCopies() && len(o.Voters()) > 1 && !slices.ContainsFunc(corrupt, isListed)
}

// guardDisarm takes back only what space that ran out had raised, and only where there is room.
func guardDisarm(o view, c DisarmAlarms) string {
	if len(c.Alarms) > 0 && c.Alarms[0].Name == AlarmCorrupt {
		return guardDisarmCorrupt(o, c)
	}
	for _, a := range c.Alarms {
		if a.Name != AlarmNoSpace || !slices.Contains(o.raised(), a) {
			return fmt.Sprintf("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.hasRoom() {
		return "not every member is known to have room."
	}
	return ""
}

// guardDisarmCorrupt takes back what was raised for members that are gone, once every voter said that it holds the same.
func guardDisarmCorrupt(o view, c DisarmAlarms) string {
	for _, a := range c.Alarms {
		isListed := slices.ContainsFunc(o.Membership.Members, func(m etcdutil.Member) bool { return m.ID == a.Member })
		if a.Name != AlarmCorrupt || a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {
			return fmt.Sprintf("the alarm %s of %s is not the operator's to take back.", a.Name, a.Member)
		}
	}
	if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {
		return "not every voter is known to hold the same data."
	}
	return ""
}
