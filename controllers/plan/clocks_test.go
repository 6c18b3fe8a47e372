package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// answeredAhead has an answer of the API server bear a time that is so far ahead of the operator's own clock, which is
// right.
func answeredAhead(o scene, by time.Duration) scene {
	o.Now, o.Ahead = o.Now.Add(by), by
	return o
}

// ownAhead has the operator's own clock be so far ahead of the API server's, which is right.
func ownAhead(o scene, by time.Duration) scene {
	o.Ahead = -by
	return o
}

// clockRows are clusters of which one clock says that a time is over, and the other one that it is not.
func clockRows() []row {
	const day = 25 * time.Hour
	kept, over := keeping(facts.CauseDisk, time.Hour), keeping(facts.CauseDisk, day)
	dead := patient(settledWorld(3).edit(1, deadFor(3*time.Minute)))
	late := patient(settledWorld(3).edit(1, deadFor(6*time.Minute)))
	return []row{
		{"a kept volume outlives an answer of the API server that is a day ahead", answeredAhead(kept, day), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"and a clock of the operator's that is", ownAhead(kept, day), Settled, RuleSettled, facts.ReasonSettled, "",
			""},
		{"one whose time is over by both is deleted", answeredAhead(over, time.Minute), Act, "collect",
			"", "DeleteVolumes", "demo-9"},
		{"a member that is silent is not replaced by one answer's time", answeredAhead(dead, day), Refuse,
			"member-health", facts.ReasonNotReady, "", "the clock of the operator's node is 25h0m0s behind"},
		{"nor by a clock of the operator's that is ahead", ownAhead(dead, day), Refuse, "member-health",
			facts.ReasonNotReady, "", "The operator replaces member demo-1 with a new one at"},
		{"one whose time is over by both is replaced", answeredAhead(late, 30*time.Second), Act, "replace",
			"", "RemoveMember", "demo-1"},
	}
}

func TestAnApprovalThatExpiredByEitherClockIsNone(t *testing.T) {
	o := requesting(settledWorld(3))
	for name, row := range map[string]struct {
		world scene
		want  Standing
	}{
		"an answer of the API server is of before it expired": {
			answeredAhead(scene{later(o, 72*time.Hour)}, -72*time.Hour), StandingStale},
		"the operator's clock is of before it expired": {ownAhead(scene{later(o, 72*time.Hour)}, -72*time.Hour),
			StandingStale},
		"both are a little apart": {ownAhead(o, time.Second), StandingApproved},
	} {
		_, isApproved := current(row.world.Observation).ApprovedNow(o.Requests[0].ID)
		if got := StandingOf(row.world.Observation, o.Requests[0]); got != row.want ||
			isApproved != (row.want == StandingApproved) {
			t.Errorf("%s: it is %s, approved %v", name, got, isApproved)
		}
	}
}

// later is the same world after so long.
func later(o scene, by time.Duration) facts.Observation {
	o.Now = o.Now.Add(by)
	return o.Observation
}
