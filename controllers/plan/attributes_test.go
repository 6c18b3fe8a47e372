package plan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// ofAttributes are members on volumes that were given one VolumeAttributesClass, in a cluster whose spec asks for another.
func ofAttributes(o scene, has, asked string) scene {
	for i := range o.Current.Members {
		o = o.edit(i, havingClass(has))
	}
	return desire(o, func(d *facts.Desired) { d.Attributes = asked })
}

func havingClass(class string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Volume.Attributes = facts.Attributes{Asked: class, Has: class, For: class}
	}
}

// askingFor is a volume whose claim names another class than it has.
func askingFor(class string, state facts.AttributesState, message string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		a := &r.Volume.Attributes
		a.Asked, a.For, a.State, a.Message = class, class, state, message
	}
}

func attributesRows() []row {
	three := ofAttributes(bound(settledWorld(3), 8<<30), "slow", "fast")
	none := ofAttributes(bound(settledWorld(3), 8<<30), "", "fast")
	other := facts.Settings{Version: settings.Version, Inputs: "other", QuotaBytes: settings.QuotaBytes}
	refused := three.edit(2, askingFor("fast", facts.AttributesInfeasible, "no such speed"))
	unknown := none.edit(2, askingFor("fast", facts.AttributesNotBegun, ""))
	asks := func(o scene, class string) scene { return desire(o, func(d *facts.Desired) { d.Attributes = class }) }
	withLog := func(r *facts.Replica) {
		r.Volume.WAL = facts.WAL{Bytes: 4 << 30}
		r.Volume.Half = facts.Half{VolumeRef: facts.VolumeRef{Name: r.Name + "-wal", UID: "log-" + r.Name}, Bytes: 4 << 30,
			Capacity: 4 << 30}
	}
	logs := desire(bound(settledWorld(3), 8<<30).edit(0, withLog).edit(1, withLog).edit(2, withLog),
		func(d *facts.Desired) { d.WAL = facts.WAL{Bytes: 4 << 30, Attributes: "fast"} })
	return []row{
		{"another class is asked of one claim", three, Act, "modify-volume", "", "ModifyVolume",
			"Ask for the VolumeAttributesClass fast on the volume of demo-2"},
		{"also of one that has none", none, Act, "modify-volume", "", "ModifyVolume", "demo-2"},
		{"it waits for no window", closed(three), Act, "modify-volume", "", "ModifyVolume", "demo-2"},
		{"the next one waits for the first", three.edit(2, askingFor("fast", facts.AttributesUnderWay, "")), Wait,
			"modify-volume", facts.ReasonModify, "", "The storage works on the VolumeAttributesClass \"fast\" for the volume of demo-2"},
		{"then it follows", three.edit(2, havingClass("fast")), Act, "modify-volume", "", "ModifyVolume", "demo-1"},
		{"the leader comes last", three.ledBy(2), Act, "modify-volume", "", "ModifyVolume", "demo-1"},
		{"none is changed while another member is not well", three.edit(0, unready), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-0"},
		{"none is changed while one grows", desire(three.edit(2, growingTo(20<<30, facts.GrowthUnderWay)),
			func(d *facts.Desired) { d.StorageBytes = 20 << 30 }), Wait, "expand-volume", facts.ReasonExpand, "", "grows"},
		{"all that have it are settled", ofAttributes(bound(settledWorld(3), 8<<30), "fast", "fast"), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"where the spec names none, volumes keep what they have", asks(three, ""), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"what a person asks for there is theirs", asks(none, "").edit(1, func(r *facts.Replica) {
			r.Volume.Attributes = facts.Attributes{Asked: "mine", State: facts.AttributesInfeasible}
		}), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"what the driver refuses is told in its words", refused, Refuse, "modify-volume", facts.ReasonModify, "",
			"no such speed. The volume stays as it is, and no other one is tried. Name another class in " +
				"spec.storage.volumeAttributesClassName, or put it back to slow."},
		{"and holds no other settings back", desire(refused, func(d *facts.Desired) { d.Settings = other }), Act, "roll",
			"", "WriteSettings", ""},
		{"a class that is put back heals it", asks(refused, "slow"), Act, "modify-volume", "", "ModifyVolume",
			"Ask for the VolumeAttributesClass slow on the volume of demo-2"},
		{"so does another one", asks(refused, "faster"), Act, "modify-volume", "", "ModifyVolume",
			"Ask for the VolumeAttributesClass faster on the volume of demo-2"},
		{"so does a spec that names none", asks(refused, ""), Act, "modify-volume", "", "ModifyVolume",
			"Ask for the VolumeAttributesClass slow on the volume of demo-2: spec.storage.volumeAttributesClassName asks for none"},
		{"a class that is not there is told", three.edit(2, askingFor("fast", facts.AttributesPending, "")), Refuse,
			"modify-volume", facts.ReasonModify, "", "there is no such class, or it is for another driver."},
		{"a driver that does not begin is told", unknown, Wait, "modify-volume", facts.ReasonModify, "",
			"nothing has begun with it yet"},
		{"and a spec that names none takes it back", asks(unknown, ""), Act, "modify-volume", "", "ModifyVolume",
			"Ask for no VolumeAttributesClass on the volume of demo-2"},
		{"the log has its own", logs, Act, "modify-volume", "", "ModifyVolume",
			"Ask for the VolumeAttributesClass fast on the volume of the write-ahead log of demo-2"},
		{"a refusal holds no other settings back",
			desire(rejecting(three, "modify-volume"), func(d *facts.Desired) { d.Settings = other }), Act, "roll", "",
			"WriteSettings", ""},
	}
}

func TestVolumesGetTheVolumeAttributesClassOfTheSpecOneAtATime(t *testing.T) {
	for _, row := range attributesRows() {
		t.Run(row.name, row.check)
	}
}

// guardedAttributes are rows of volumes that get another class.
func guardedAttributes() []guardRow {
	three := ofAttributes(bound(settledWorld(3), 8<<30), "slow", "fast")
	ref := facts.VolumeRef{Name: "demo-2", UID: "volume-demo-2"}
	modify := changes.ModifyVolume{Volume: ref, Class: "fast"}
	return []guardRow{
		{"no class is taken from a volume", three, modify, three, changes.ModifyVolume{Volume: ref},
			"none can be taken from a volume"},
		{"one volume is changed at a time", three, modify, three.edit(1, askingFor("fast", facts.AttributesUnderWay, "")),
			modify, "one is at a time"},
		{"only the member's own volume is changed", three, modify, three,
			changes.ModifyVolume{Volume: facts.VolumeRef{Name: "demo-2", UID: "another"}, Class: "fast"}, "another one by now"},
		{"no volume is changed beside members that are away", three, modify, three.edit(0, silent).edit(1, silent), modify,
			"no quorum"},
	}
}
