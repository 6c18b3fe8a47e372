package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// leading is the same world, where a person asked a minute ago that this member leads.
func (o scene) leading(name string) scene {
	return desire(o, func(d *facts.Desired) { d.Lead = facts.Lead{Name: name, Until: now.Add(facts.LeadFor)} })
}

func leadRows() []row {
	asked := settledWorld(3).leading("demo-1")
	return []row{
		{"the member that a person names gets leadership", asked, Act, "move-leader", "", "MoveLeader",
			"Move leadership from demo-0 to demo-1: the annotation etcdsteward.dev/move-leader names demo-1."},
		{"at any time, since nothing stops for it", closed(asked), Act, "move-leader", "", "MoveLeader", "to demo-1"},
		{"also while the spec is refused", refusing(asked), Act, "move-leader", "", "MoveLeader", "to demo-1"},
		{"before members are restarted, the new leader last", wanting(asked, other), Act, "move-leader", "", "MoveLeader",
			"to demo-1"},
		{"the one that leads keeps it", asked.ledBy(1), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"the only member leads anyway", settledWorld(1).leading("demo-0"), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a name that no member has holds nothing up", settledWorld(3).leading("demo-7"), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"one whose successor joins does not get it", asked.edit(1, askedToGo), Act, "grow", "", "PrepareMember", "demo-1"},
		{"nor one that is restarted next", wanting(settledWorld(3), other).leading("demo-2"), Act, "roll", "", "WriteSettings",
			"demo-2"},
	}
}

func TestWhatKeepsAMemberFromLeadershipIsToldBesideAllElse(t *testing.T) {
	asked := settledWorld(3).leading("demo-1")
	for says, o := range map[string]scene{
		"demo-3, which has no vote yet":                                        settledWorld(3).with(learner(3)).promising(3).sized(4).edit(3, behind).leading("demo-3"),
		"demo-1, which does not serve":                                         asked.edit(1, unready),
		"demo-2, which does not serve":                                         settledWorld(3).leading("demo-2").edit(2, behind),
		"demo-1, which can take over only while the member that leads answers": asked.edit(0, unanswered).edit(0, unlabelled),
		"demo-2, which is about to stop":                                       wanting(settledWorld(3), other).leading("demo-2"),
	} {
		d := Decide(o.Observation)
		isTold := func(n facts.Note) bool { return n.Rule == "move-leader" && strings.Contains(n.Message, says) }
		if !slices.ContainsFunc(d.Trace.Yielded(), isTold) {
			t.Errorf("%s is not told:\n%s", says, d.Trace)
		}
	}
}
