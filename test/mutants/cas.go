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
		From: "(ca.Trusted != \"\" || mayTrust)",
		To:   "mayTrust",
		Test: guardRow("a new CA under first members that trust one"),
	},
	{
		Name: "first members wait for a CA that is made anew beside the one that they trust", Peer: "",
		From: "(isLived || object.Trusted != \"\")",
		To:   "isLived",
		Test: row("while first members look for each other, no CA is made in the place of the one that they trust"),
	},
	{
		Name: "the next CA signs before a member was restarted with trust in it", Peer: "",
		From: "case turn == TurnSwap && !r.Pod.Settings.Trusts(ca.Port, ca.CAs[1]):",
		To:   "case turn == TurnSwap && r.Pod.Settings.IsZero():",
		Test: guardRow("a CA that signs before a member trusts it"),
	},
	{
		Name: "the next CA signs while a member's Secret does not name it", Peer: "",
		From: "case !isFresh:",
		To:   "case !isFresh && turn != TurnSwap:",
		Test: guardRow("a CA that signs while a member's Secret does not name it"),
	},
	{
		Name: "the next CA signs while nothing says what a member trusts", Peer: "",
		From: "	case !isRunning:\n		return Waiting{Why: r.Name + \" does not run\", isDown: true}",
		To:   "	case r.Pod == nil && !isRunning:",
		Test: guardRow("a CA that signs while nothing says what a member trusts"),
	},
	{
		Name: "clients get no time to read the next CA before members show it", Peer: "",
		From: "isNews := turn == TurnNarrow || turn == TurnSwap && ca.isWidening()",
		To:   "isNews := turn == TurnNarrow",
		Test: guardRow("a CA that signs before clients had the time to trust it"),
	},
	{
		Name: "members distrust a CA of which clients may still show certificates", Peer: "",
		From: "isNews := turn == TurnNarrow || turn == TurnSwap && ca.isWidening()",
		To:   "isNews := turn == TurnSwap && ca.isWidening()",
		Test: guardRow("no trust in what clients may still show"),
	},
	{
		Name: "members distrust a CA of which another may still show its certificate", Peer: "",
		From: "case turn == TurnNarrow && o.Now.Sub(r.Secret.Made) < settledFor:",
		To:   "case turn == TurnNarrow && o.Now.Before(r.Secret.Made):",
		Test: guardRow("no trust in what a member may still show"),
	},
	{
		Name: "clients distrust a CA of which a member may still be", Peer: "",
		From: "case turn == TurnForget && r.Pod.Settings.Trusts(ca.Port, ca.CAs[1]):",
		To:   "case turn == TurnForget && r.Pod.Settings.IsZero():",
		Test: guardRow("no trust of clients in what a member trusts"),
	},
	{
		Name: "a member that does not say whom it trusts is told what the others read", Peer: "",
		From: "settings.IsZero() || o.IsRollingCA() || o.IsTurningTLS() {",
		To:   "settings.IsZero() || o.IsTurningTLS() {",
		Test: "TestNextOneSentencePerRule/and_one_that_does_not_say_whom_it_trusts",
	},
	{
		Name: "a member is said to trust what its Secret did not name when it started", Peer: "",
		From: "case o.nameOnly(ca, wanted):",
		To:   "case len(wanted) > 0:",
		Test: "TestTrustIsAListOfCAsAndMembersFollowItOnceTheirSecretsSaySo",
	},
	{
		Name: "members are restarted for other CAs while theirs is lost", Peer: "",
		From: "if ca.State != ObjectCurrent || ca.IsAnother() || ca.CAs[0].Print == \"\" {",
		To:   "if ca.CAs[0].Print == \"\" {",
		Test: "TestWhatMembersReadStaysWhileTheirCAIsLost",
	},
	{
		Name: "backups are not proven any more once a CA was rolled", Peer: "",
		From: "if len(data[resources.KeyRecords]) == 0 {\n\t\tsum",
		To:   "if len(data[resources.KeyRecords]) > 0 {\n\t\tsum",
		Test: "TestACAIsReplacedInFourTurnsOfWhichEachIsOneWrite",
	},
	{
		Name: "the key of a CA that is retired stays", Peer: "",
		From: "		delete(data, resources.KeyOtherKey)\n",
		To:   "",
		Test: "TestACAIsReplacedInFourTurnsOfWhichEachIsOneWrite",
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
	}, {
		Name: "a CA is made over the one that a person gives", Peer: "",
		From: "case comes && (c.From != from.Secret || c.Next != from.Print):",
		To:   "case comes && c.From != \"\" && (c.From != from.Secret || c.Next != from.Print):",
		Test: guardRow("a CA that is made over the one of a person"),
	},
	{
		Name: "a CA of a person is taken that cannot be used", Peer: "",
		From: "case comes && from.Fault != \"\":",
		To:   "case comes && from.IsAbsent:",
		Test: guardRow("a CA of a person that cannot be used"),
	},
	{
		Name: "a CA signs that the spec does not want any more", Peer: "",
		From: "case c.Turn == facts.TurnSwap && (from.Fault != \"\" || !ca.IsOfSource(ca.CAs[1])):",
		To:   "case c.Turn == facts.TurnSwap && from.Fault != \"\":",
		Test: guardRow("a CA that signs though the spec does not want it"),
	},
	{
		Name: "another CA comes as a renewed certificate, with no time for those who are to trust it", Peer: "",
		From: "case c.Turn == facts.TurnRenew && ca.CAs[0].Identity != from.Identity:",
		To:   "case c.Turn == facts.TurnRenew && from.Identity == \"\":",
		Test: guardRow("another CA in the name of a renewed certificate"),
	},
	{
		Name: "one CA signs for clients and for peers", Peer: "",
		From: "isWanted := ca.Port == facts.ForPeers && other.Source.Identity == wanted",
		To:   "isWanted := ca.Port == facts.ForPeers && other.Source.Secret == ca.Source.Secret",
		Test: "TestWhatASecretOffersForACAIsSeenWithWhatIsWrongWithIt/one_CA_for_clients_and_peers",
	},
	{
		Name: "a certificate is written that the CA forbids", Peer: "",
		From: "		err = a.verify(pair.Cert, l.usages(), now)\n",
		To:   "		_ = a.verify(pair.Cert, l.usages(), now)\n",
		Test: "TestNoCertificateIsIssuedThatThoseWhoTrustTheCAWouldRefuse",
	},
}
