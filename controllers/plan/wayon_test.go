package plan

import (
	"regexp"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// wayOn is what a person can do about a refusal: a field, a command, a page, or an object to put back or to delete.
var wayOn = regexp.MustCompile(`spec\.[a-z]|kubectl|etcdctl|docs/|EtcdRestore|annotat|[Pp]ut (.* )?back|[Dd]elete|[Gg]rant|[Rr]aise|disarm|--[a-z]`)

// A refusal that only a person can end names what that person can do.
func TestNoRefusalIsADeadEnd(t *testing.T) {
	reasons := map[string]int{}
	for _, row := range allRows() {
		d := Decide(row.world.Observation)
		isFixture := row.world.Desired.Fault != "" && d.Reason == facts.ReasonSpecRefused // admission says what is accepted
		if d.Verdict != Refuse || !d.NeedsHuman || isFixture {
			continue
		}
		reasons[d.Reason]++
		if !wayOn.MatchString(d.Message) {
			t.Errorf("%s: %s names no way on: %s", row.name, d.Reason, d.Message)
		}
	}
	if len(reasons) < 10 {
		t.Errorf("only %d reasons were met: %v", len(reasons), reasons)
	}
}
