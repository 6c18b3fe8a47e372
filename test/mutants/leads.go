package main

// leads are bugs of how a person has one member lead.
var leads = []mutant{
	{
		Name: "a request to lead that was left behind pulls leadership back for ever", Peer: "",
		From: "|| at.After(now) || now.Sub(at) > LeadFor {",
		To:   "|| at.After(now) {",
		Test: "TestARequestToLeadCountsForTenMinutesFromItsTime",
	},
	{
		Name: "a member that is restarted next is asked to lead, and hands over again", Peer: "",
		From: "case slices.Contains(soon, r.Name) ||",
		To:   "case slices.Contains(soon[1:], r.Name) ||",
		Test: row("nor one that is restarted next"),
	},
	{
		Name: "a member that does not serve gets leadership since a person named it", Peer: "",
		From: "case !isWell(o.Incarnation, r):\n\t\treturn \"does not serve\"",
		To:   "case false:\n\t\treturn \"does not serve\"",
		Test: "TestWhatKeepsAMemberFromLeadershipIsToldBesideAllElse",
	},
	{
		Name: "who asked is not told what holds a request up, where something graver is wrong", Peer: "",
		From: "(note.Overdue || note.NeedsHuman || note.IsAnswer) {",
		To:   "(note.Overdue || note.NeedsHuman) {",
		Test: "TestWhatHoldsARequestUpIsToldBesideWhatIsGraver",
	},
}
