package facts

import "time"

// Lead is the member that a person wants to lead, and until when that counts; the zero value is none.
type Lead struct {
	Name  string
	Until time.Time
}

// LeadFor is how long after its time a request to lead counts. One that is left behind must not pull leadership back
// for ever.
const LeadFor = 10 * time.Minute

// LeadNow is a request to lead where it counts now, else none. A time to come asks for nothing yet.
func LeadNow(name string, at, now time.Time) Lead {
	if name == "" || at.After(now) || now.Sub(at) > LeadFor {
		return Lead{}
	}
	return Lead{Name: name, Until: at.Add(LeadFor)}
}
