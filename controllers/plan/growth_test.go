package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// bound are members on volumes of 8Gi that are there, in a cluster whose spec asks for so much.
func bound(o scene, asked int64) scene {
	for i := range o.Current.Members {
		o = o.edit(i, func(r *facts.Replica) {
			r.Volume.Phase, r.Volume.Class, r.Volume.Bytes, r.Volume.AskedBytes = facts.VolumeBound, "a", 8<<30, 8<<30
			r.Volume.Capacity = 8 << 30
		})
	}
	return desire(o, func(d *facts.Desired) { d.StorageBytes = asked })
}

// growingTo is a volume whose claim asks for so much, and that has not got it.
func growingTo(bytes int64, state facts.GrowthState) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Volume.Bytes, r.Volume.AskedBytes = bytes, bytes
		r.Volume.Growth = facts.Growth{State: state, Since: now.Add(-time.Minute)}
		if state == facts.GrowthInfeasible {
			r.Volume.Growth.Message = "the pool has no room"
		}
	}
}

// grown is a volume that has got that.
func grown(bytes int64) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Bytes, r.Volume.AskedBytes, r.Volume.Capacity = bytes, bytes, bytes }
}

// growthRows are clusters whose spec asks for other sizes of volumes.
func growthRows() []row { return append(grownRows(), fullRows()...) }

func grownRows() []row {
	three := bound(settledWorld(3), 20<<30)
	other := facts.Settings{Version: settings.Version, Inputs: "other", QuotaBytes: settings.QuotaBytes}
	larger := other
	larger.QuotaBytes = 6 << 30
	cannot := three.edit(2, growingTo(20<<30, facts.GrowthInfeasible))
	byHand := func(r *facts.Replica) { r.Volume.Bytes, r.Volume.Capacity = 30<<30, 30<<30 }
	asleep := bound(withoutBudget(recordedAsleep(atRest())), 20<<30)
	notBegun := func(r *facts.Replica) { r.Volume.Growth.Since = time.Time{} }
	tooLong := func(r *facts.Replica) { r.Volume.Growth.Since = now.Add(-time.Hour) }
	forQuota := func(o scene) scene { return desire(o, func(d *facts.Desired) { d.StorageFrom = 8 << 30 }) }
	return []row{
		{"where a quota that grows needs the room it is asked for first", forQuota(raising(three, 100, noSpace)), Act,
			"expand-volume", "", "ExpandVolume", "a quota that grows by spec.maintenance.autoGrow needs the room"},
		{"and no person is asked meanwhile", forQuota(raising(three.edit(2, growingTo(20<<30,
			facts.GrowthUnderWay)), 100, noSpace)), Wait, "alarms", facts.ReasonAlarm, "", "makes volumes larger, one at a time."},
		{"unless it cannot be had", forQuota(raising(cannot, 100, noSpace)), Refuse, "alarms", facts.ReasonAlarm, "",
			"NOSPACE"},
		{"or Kubernetes refuses it", forQuota(rejecting(raising(three, 100, noSpace), "expand-volume")), Refuse, "alarms",
			facts.ReasonAlarm, "", "NOSPACE"},
		{"a larger size is asked of one claim", three, Act, "expand-volume", "", "ExpandVolume",
			"Expand the volume of demo-2 to 20Gi"},
		{"the next one waits for the first", three.edit(2, growingTo(20<<30, facts.GrowthUnderWay)), Wait, "expand-volume",
			facts.ReasonExpand, "", `The volume of demo-2, of StorageClass "a", grows from 8Gi to 20Gi`},
		{"then it follows", three.edit(2, grown(20<<30)), Act, "expand-volume", "", "ExpandVolume", "demo-1"},
		{"the leader comes last", three.ledBy(2), Act, "expand-volume", "", "ExpandVolume", "demo-1"},
		{"a member that is not well comes first", three.edit(1, unready), Act, "expand-volume", "", "ExpandVolume",
			"demo-1"},
		{"none grows while another member is not well", three.edit(1, grown(20<<30)).edit(1, unready), Refuse,
			"member-health", facts.ReasonNotReady, "", "demo-1"},
		{"all that grew is settled", three.edit(0, grown(20<<30)).edit(1, grown(20<<30)).edit(2, grown(20<<30)), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"one that a person made larger stays", bound(settledWorld(3), 8<<30).edit(1, byHand), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"nor is one told that grows beyond the spec for a person", bound(settledWorld(3), 8<<30).edit(1,
			growingTo(20<<30, facts.GrowthUnderWay)).edit(1, func(r *facts.Replica) { r.Volume.AskedBytes = 8 << 30 }),
			Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"it waits for no window", closed(three), Act, "expand-volume", "", "ExpandVolume", "demo-2"},
		{"a node that does not follow is told with what helps",
			three.edit(2, growingTo(20<<30, facts.GrowthAtNode)).edit(2, tooLong), Refuse, "expand-volume",
			facts.ReasonExpand, "", "kubectl etcd-steward fence demo-2 -n default, and start it again"},
		{"and a member that cannot be fenced sleeps for it",
			bound(settledWorld(1), 20<<30).edit(0, growingTo(20<<30, facts.GrowthAtNode)).edit(0, tooLong), Refuse,
			"expand-volume", facts.ReasonExpand, "", "kubectl etcd-steward hibernate demo -n default"},
		{"what has not begun is told", three.edit(2, growingTo(20<<30, facts.GrowthUnderWay)).edit(2, notBegun), Wait,
			"expand-volume", facts.ReasonExpand, "", "Nothing has begun with it yet."},
		{"a volume that grows keeps no other member from being replaced",
			three.edit(2, growingTo(20<<30, facts.GrowthUnderWay)).edit(1, wiped), Act, "replace", "", "RemoveMember", "demo-1"},
		{"what cannot be had is told with the words of Kubernetes", cannot, Refuse, "expand-volume",
			facts.ReasonExpand, "", "cannot grow to 20Gi: the pool has no room."},
		{"and holds no other settings back", desire(cannot, func(d *facts.Desired) { d.Settings = other }), Act, "roll",
			"", "WriteSettings", ""},
		{"a quota that needs the room waits for it", desire(cannot, func(d *facts.Desired) { d.Settings = larger }),
			Refuse, "expand-volume", facts.ReasonExpand, "", "the pool has no room"},
		{"a size that is put back takes back what cannot be had",
			desire(cannot, func(d *facts.Desired) { d.StorageBytes = 8 << 30 }), Act, "expand-volume", "", "ExpandVolume",
			"Expand the volume of demo-2 to 8193Mi"},
		{"a smaller one that can be had is asked for", desire(cannot, func(d *facts.Desired) { d.StorageBytes = 12 << 30 }),
			Act, "expand-volume", "", "ExpandVolume", "demo-2 to 12Gi"},
		{"where it cannot be had members can move", desire(cannot, func(d *facts.Desired) { d.ExpandsByMove = true }), Act,
			"grow", "", "PrepareMember", "its volume has 8Gi, and the spec asks for 20Gi"},
		{"a cluster that sleeps expands nothing", toSleep(asleep), Wait, "asleep", facts.ReasonAsleep, "", "To wake it"},
		{"who wakes it has members started first", asleep.edit(2, growingTo(20<<30, facts.GrowthUnderWay)), Act, "pods", "",
			"StartPods", "demo-0, demo-1, demo-2"},
		{"and no growth keeps it from falling asleep", toSleep(cannot), Act, "hibernate", "", "FallAsleep", ""},
		{"a refusal holds no other settings back",
			desire(rejecting(three, "expand-volume"), func(d *facts.Desired) { d.Settings = other }), Act, "roll", "",
			"WriteSettings", ""},
	}
}

// fullRows are clusters of members that stopped because their disks are full.
func fullRows() []row {
	full, underWay := exited(etcdutil.ExitDiskFull), growingTo(20<<30, facts.GrowthUnderWay)
	three := bound(settledWorld(3).edit(0, full).edit(1, full), 20<<30).blind()
	five := bound(settledWorld(5).edit(1, full).edit(2, full), 20<<30)
	return []row{
		{"where full disks took the quorum they grow first", three, Act, "expand-volume", "", "ExpandVolume",
			"Expand the volume of demo-1 to 20Gi"},
		{"one at a time, and it is told how far that is", three.edit(0, underWay), Refuse, "membership", facts.ReasonCrashing, "",
			"The volume of demo-0, of StorageClass \"a\", grows from 8Gi to 20Gi, since "},
		{"the next is tried where the first cannot", three.edit(1, growingTo(20<<30, facts.GrowthInfeasible)), Act,
			"expand-volume", "", "ExpandVolume", "demo-0"},
		{"the next follows once the first has room", three.edit(1, grown(20<<30)), Act, "expand-volume", "", "ExpandVolume",
			"demo-0"},
		{"what stopped for another reason does not grow", bound(settledWorld(3).edit(0,
			exited(etcdutil.ExitUnknown)).edit(1, exited(etcdutil.ExitUnknown)), 20<<30).blind(), Refuse, "membership",
			facts.ReasonCrashing, "", "demo-0"},
		{"nothing grows while the spec is refused", refusing(three), Refuse, "membership", facts.ReasonCrashing, "",
			"Raise spec.storage.size, and the operator expands its volume"},
		{"two full disks beside a quorum grow as well", five, Act, "expand-volume", "", "ExpandVolume", "demo-2"},
		{"and no other beside them", five.edit(2, underWay), Refuse, "member-health", facts.ReasonCrashing, "",
			"Its volume grows to 20Gi in its turn."},
	}
}

func TestVolumesGrowToTheSizeOfTheSpecOneAtATime(t *testing.T) {
	for _, row := range growthRows() {
		t.Run(row.name, row.check)
	}
}

// guardedGrowth are rows of volumes that grow.
func guardedGrowth() []guardRow {
	three := bound(settledWorld(3), 20<<30)
	ref := facts.VolumeRef{Name: "demo-2", UID: "volume-demo-2"}
	expand := changes.ExpandVolume{Volume: ref, Bytes: 20 << 30}
	return []guardRow{
		{"no volume shrinks", three, expand, three, changes.ExpandVolume{Volume: ref, Bytes: 7 << 30},
			"no volume shrinks"},
		{"one volume grows at a time", three, expand, three.edit(1, growingTo(20<<30, facts.GrowthUnderWay)), expand,
			"one does at a time"},
		{"only the member's own volume grows", three, expand, three,
			changes.ExpandVolume{Volume: facts.VolumeRef{Name: "demo-2", UID: "another"}, Bytes: 20 << 30},
			"another one by now"},
		{"no volume grows beside members that are away", three, expand, three.edit(0, silent).edit(1, silent), expand,
			"no quorum"},
	}
}

func TestAVolumeThatItsNodeHasYetToFollowIsNotSaidToHaveNotBegun(t *testing.T) {
	o := bound(settledWorld(3), 20<<30).edit(2, growingTo(20<<30, facts.GrowthAtNode)).
		edit(2, func(r *facts.Replica) { r.Volume.Growth.Since = time.Time{} })
	if d := Decide(o.Observation); d.Rule != "expand-volume" || !strings.HasSuffix(d.Message, "unfence demo-2 -n default.") {
		t.Errorf("%s: %s", d.Rule, d.Message)
	}
}
