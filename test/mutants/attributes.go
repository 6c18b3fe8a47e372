package main

import "strings"

// modifyRow is the name of a test of one row of volumes that get another VolumeAttributesClass.
func modifyRow(name string) string {
	return "TestVolumesGetTheVolumeAttributesClassOfTheSpecOneAtATime/" + strings.ReplaceAll(name, " ", "_")
}

// attributes are bugs of VolumeAttributesClasses.
var attributes = []mutant{
	{
		Name: "a second volume is changed beside one that the driver refuses", Peer: "",
		From: "if busy := modifying(o); busy.Volume != nil {",
		To:   "if busy := modifying(o); busy.Volume != nil && false {",
		Test: modifyRow("the next one waits for the first"),
	},
	{
		Name: "a volume is changed while another member is away", Peer: "",
		From: "!grows.Volume.IsInfeasible() || !servesWithout(o, next) {",
		To:   "!grows.Volume.IsInfeasible() {",
		Test: modifyRow("none is changed while another member is not well"),
	},
	{
		Name: "a class that a volume has not got is never taken back", Peer: "",
		From: "case v.IsModifying() && has.For != \"\" && has.Asked == has.For:",
		To:   "case false:",
		Test: modifyRow("so does a spec that names none"),
	},
	{
		Name: "a class that a person asked for is taken back", Peer: "",
		From: "case v.IsModifying() && has.For != \"\" && has.Asked == has.For:",
		To:   "case v.IsModifying():",
		Test: modifyRow("what a person asks for there is theirs"),
	},
	{
		Name: "the guard lets a class be taken from a volume that has one", Peer: "",
		From: "case c.Class == \"\" && r.Volume.Attributes.Has != \"\":",
		To:   "case false:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/no_class_is_taken_from_a_volume",
	},
	{
		Name: "the guard lets two volumes be changed at a time", Peer: "",
		From: "return other.VolumeRef() != c.Volume && other.Volume.IsModifying() &&",
		To:   "return false && other.Volume.IsModifying() &&",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/one_volume_is_changed_at_a_time",
	},
}
