package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestARemovalNamesWhatTakesTheMembersPlace(t *testing.T) {
	dead := patient(settledWorld(3).edit(1, deadFor(6*time.Minute)))
	lost := settledWorld(3).edit(1, wiped)
	keeping := func(o scene) scene { return desire(o, func(d *facts.Desired) { d.KeepVolumes = 24 * time.Hour }) }
	marked := func(r *facts.Replica) { r.Volume.RemovedFor = facts.CauseDisk }
	podless := lost.with(starting(3)).edit(3, noPod)
	podless.Refused = []facts.Note{{Rule: "first-pod", Reason: "QuotaExceeded"}}
	next := changes.NewVolume{Name: "demo-3", Bytes: 8 << 30, Settings: settings}
	inPod := changes.NewVolume{Name: "demo-3", Settings: settings}
	for name, row := range map[string]struct {
		world scene
		want  changes.NewVolume
		frees bool
	}{
		"one that is dead":               {dead, next, true},
		"one that lost its data":         {lost, next, true},
		"one whose volume is kept":       {keeping(lost).edit(1, marked), next, false},
		"one whose data was in its Pod":  {inMemory(settledWorld(3)).edit(1, noPod), inPod, true},
		"one too many":                   {lost.sized(2), changes.NewVolume{}, true},
		"one whose successor is there":   {lost.with(starting(3)).edit(3, tied("no node")), changes.NewVolume{}, true},
		"one whose successor has no Pod": {podless, next, true},
		"one that never got its volume":  {settledWorld(3).edit(1, unmade).ofClass("b"), next, true},
		"one beside larger volumes": {lost.edit(0, volumeOf(9<<30)),
			changes.NewVolume{Name: "demo-3", Bytes: 9 << 30, Settings: settings}, true},
		"one beside a learner that the size asks for as well": {
			settledWorld(4).sized(5).edit(1, wiped).with(starting(4)).edit(4, tied("no node")),
			changes.NewVolume{Name: "demo-5", Bytes: 8 << 30, Settings: settings}, true},
	} {
		d := Decide(row.world.Observation)
		c, isRemoval := d.Change.(changes.RemoveMember)
		if !isRemoval || c.Successor != row.want || c.Frees != row.frees {
			t.Errorf("%s: %s by %s: %+v", name, d.Verdict, d.Rule, d.Change)
		}
	}
}
