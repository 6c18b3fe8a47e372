package scheduleplan

import "time"

// Fault is what keeps a schedule from doing what a field of its spec asks for, until the field is put right.
type Fault struct{ Field, Value, Message string }

// Faults are those of the times of a schedule.
func Faults(s Schedule, now time.Time) []Fault {
	v := viewOf(Observation{Now: now, Schedule: s})
	var faults []Fault
	for _, rule := range []func(view) *Decision{cannotBeRead, neverFires} {
		if d := rule(v); d != nil {
			faults = append(faults, s.fault("spec.schedule", s.Expression, d.Reason, d.Message))
			break
		}
	}
	isTold := len(faults) > 0 && faults[0].Field == fieldTimeZone
	if s.TestExpression != "" && v.testWrong != nil && !isTold {
		faults = append(faults, s.fault(fieldTest, s.TestExpression, v.testWrong.reason, v.testWrong.message))
	}
	return faults
}

const (
	fieldTimeZone = "spec.timeZone"
	fieldTest     = "spec.testRestore.schedule"
)

// fault is one of a field with times, or of their zone.
func (s Schedule) fault(field, value, reason, message string) Fault {
	if reason == ReasonTimeZoneUnknown {
		field, value = fieldTimeZone, s.TimeZone
	}
	return Fault{Field: field, Value: value, Message: message}
}
