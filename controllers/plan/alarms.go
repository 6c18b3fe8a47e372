package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// alarms takes back the alarm that space ran out once every member has room again: etcd itself never does. All else
// that is raised asks for a person.
func alarms(o judge.View) *proposal {
	raised := o.Raised()
	full := filterAlarms(raised, facts.AlarmNoSpace)
	switch corrupt := filterAlarms(raised, facts.AlarmCorrupt); {
	case len(full) > 0 && o.HasRoom():
		return act(changes.DisarmAlarms{Alarms: full}, facts.ReasonDisarm,
			"Every member has room again; the alarm %s is taken back.", facts.AlarmNoSpace)
	case len(corrupt) > 0 && isCured(o.Incarnation, corrupt):
		return act(changes.DisarmAlarms{Alarms: corrupt}, facts.ReasonDisarm,
			"The member that %s was raised for is gone, and all copies are the same; the alarm is taken back.",
			facts.AlarmCorrupt)
	case len(corrupt) > 0:
		return refuse(facts.ReasonAlarm, "etcd raised %s for %s: reads are answered, and writes are refused. %s; "+
			"once the data is right, etcdctl alarm disarm ends it.%s", facts.AlarmCorrupt,
			accused(o.Incarnation, corrupt[0]), facts.RemedyOf(corrupt[0]), restartsMeanwhile).byHuman().yielding()
	case len(full) > 0:
		return refuse(facts.ReasonAlarm, "etcd raised %s for %s and takes no more keys: %s. %s; the "+
			"alarm is taken back once every member has less than %d %% of its quota.%s", facts.AlarmNoSpace,
			accused(o.Incarnation, full[0]), fullest(o), facts.RemedyOf(full[0]), facts.RoomPercent,
			restartsMeanwhile).byHuman().yielding()
	}
	return nil
}

// restartsMeanwhile says what becomes of a change of the spec while an alarm stands: see isHeldByAlarm.
const restartsMeanwhile = " Until then the operator restarts a member for the spec only to raise the quota."

func filterAlarms(all []facts.Alarm, name string) []facts.Alarm {
	return slices.DeleteFunc(slices.Clone(all), func(a facts.Alarm) bool { return a.Name != name })
}

// accused names whom an alarm was raised for.
func accused(o facts.Incarnation, a facts.Alarm) string {
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

// fullest says how large the database is that takes most of its quota.
func fullest(o judge.View) string {
	var fullest facts.Replica
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil && (fullest.Answer == nil || share(r) > share(fullest)) {
			fullest = r
		}
	}
	return fmt.Sprintf("the database of %s has %dMi of %dMi", fullest.Name, fullest.Answer.DBSize>>20,
		fullest.RunsWith().QuotaBytes>>20)
}

// share is how much of its quota a database takes.
func share(r facts.Replica) float64 {
	return float64(r.Answer.DBSize) / float64(max(r.RunsWith().QuotaBytes, 1))
}

// isCured reports that the corrupt member was removed, and that all that is left is the same. What a backup brought
// along says nothing of that: each member was restored from the same data.
func isCured(o facts.Incarnation, corrupt []facts.Alarm) bool {
	isListed := func(a facts.Alarm) bool {
		return a.Member == 0 || slices.ContainsFunc(o.Membership.Members,
			func(m etcdutil.Member) bool { return m.ID == a.Member })
	}
	return o.Birth.Origin.IsZero() && haveEqualCopies(o) && len(o.Voters()) > 1 &&
		!slices.ContainsFunc(corrupt, isListed)
}
