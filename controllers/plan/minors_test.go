package plan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestANewMemberJoinsWithTheLowestMinorThatThereIs(t *testing.T) {
	mixed := settledWorld(3).edit(1, inNewer(choices.Version)).edit(2, inNewer(choices.Version))
	d := Decide(desire(mixed, func(d *facts.Desired) { d.Size, d.Choices = 5, newer }).Observation)
	made, isPrepared := d.Change.(changes.PrepareMember)
	if !isPrepared || made.Volume.Choices != choices {
		t.Errorf("%s: %s, from %+v", d.Rule, d.Message, made.Volume.Choices)
	}
}
