package main

// CAs are bugs by which certificates are issued that members do not trust.
var cas = []mutant{
	{
		Name: "another CA is believed by its label alone", Peer: "",
		From: "if v.held >= others {",
		To:   "if v.held >= 0 {",
		Test: "TestAnotherCAChangesNothingUntilTheOneThatMembersTrustIsBack",
	},
	{
		Name: "the CA that most members trust is not believed when it is put back", Peer: "",
		From: "if v.held >= others {",
		To:   "if others == 0 {",
		Test: "TestWhatMembersTrustIsTheCAThatIsUsed/the_one_that_two_of_three_have_is_put_back",
	},
	{
		Name: "another CA is told, and what is due is issued from it", Peer: "",
		From: "case issues && ca.State == facts.ObjectCurrent && ca.Trusted != \"\" && ca.Trusted != ca.Holds:",
		To:   "case issues && ca.State == facts.ObjectForeign:",
		Test: guardRow("certificates of a new member from another CA"),
	},
	{
		Name: "a CA is made anew under first members that trust one", Peer: "",
		From: "(ca.Trusted != \"\" || o.IsAlive() || o.HasSwitchedOver())",
		To:   "(o.IsAlive() || o.HasSwitchedOver())",
		Test: guardRow("a new CA under first members that trust one"),
	},
	{
		Name: "first members wait for a CA that is made anew beside the one that they trust", Peer: "",
		From: "(isLived || object.Trusted != \"\")",
		To:   "isLived",
		Test: row("while first members look for each other, no CA is made in the place of the one that they trust"),
	},
	{
		Name: "a CA that came after the look signs", Peer: "",
		From: "if !slices.ContainsFunc(s.view.Objects, isSeen) {",
		To:   "if len(s.view.Objects) == 0 && !slices.ContainsFunc(s.view.Objects, isSeen) {",
		Test: "TestNothingIsSignedByACAThatCameAfterTheLook",
	},
	{
		Name: "a CA that was put back is seen when what is remembered of it runs out", Peer: "",
		From: "(isInTheWay || object.IsAnother()) {",
		To:   "isInTheWay {",
		Test: "TestAnotherCAChangesNothingUntilTheOneThatMembersTrustIsBack",
	},
}
