package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestATraceHasEachRuleThatWasAskedInTurnAndEndsWithTheOneThatDecided(t *testing.T) {
	for _, r := range allRows() {
		d := Decide(r.world.Observation)
		asked := rulesFor(current(r.world.Observation))
		if len(d.Trace) == 0 || len(d.Trace) > len(asked) {
			t.Fatalf("%s: %d of %d rules stand in it:\n%s", r.name, len(d.Trace), len(asked), d.Trace)
		}
		for i, said := range d.Trace {
			if said.Rule != asked[i].name || said.Ends && i < len(d.Trace)-1 {
				t.Errorf("%s: as number %d %s stands there instead of %s, or it goes on:\n%s", r.name, i, said.Rule,
					asked[i].name, d.Trace)
			}
		}
		last := d.Trace[len(d.Trace)-1]
		hasAll := len(d.Trace) == len(asked)
		if last.Ends && (last.Rule != d.Rule || last.Verdict != d.Verdict) || !last.Ends && !hasAll {
			t.Errorf("%s: %s by %s comes after\n%s", r.name, d.Verdict, d.Rule, d.Trace)
		}
	}
}

func TestATraceSaysWhatARuleWantedAndWhatHeldItBack(t *testing.T) {
	refusing := settledWorld(3).edit(2, noData)
	refusing.Refused = []facts.Note{{Rule: "budget", Reason: "QuotaExceeded", Message: "exceeded quota: ten."}}
	onlyOneHealthy := settledWorld(3).edit(1, silent).edit(2, unlabelled).edit(2, silent).sized(1)
	moving := filledWorld(requesting(settledWorld(3))).next(4, func(r *facts.Replica) { r.Pod = voter(4).Pod }).
		edit(1, noPod)
	for _, row := range []struct {
		name  string
		world scene
		lines []string // the beginnings of all
	}{
		{"nothing has to be done", settledWorld(3), []string{"nothing to say: other-operator, deletion-policy, "}},
		{"Kubernetes refused one change in this pass, and another one is made", refusing,
			[]string{"budget: Wait QuotaExceeded, and yields: exceeded quota: ten.", "replace: Act ",
				"nothing to say: "}},
		{"the guard vetoes the change of a rule that holds, which ends the walk", onlyOneHealthy, []string{
			"shrink: Refuse QuorumAtRisk: Cannot remove member demo-2: without demo-2 only 1 healthy of 2 voters would " +
				"be left, which is no quorum. Why it is due: spec.size is 1, the cluster has 3.", "nothing to say: "}},
		{"or of one that gives way, which does not", moving, []string{
			"restore-switch-over: Refuse DataAtRisk, and yields: ", "pods: Act StartPods: ", "nothing to say: "}},
	} {
		lines := strings.Split(Decide(row.world.Observation).Trace.String(), "\n")
		if !slices.EqualFunc(lines, row.lines, strings.HasPrefix) {
			t.Errorf("%s: it says\n%s", row.name, strings.Join(lines, "\n"))
		}
	}
}
