package main

// auth are bugs of who is let in once authentication is on.
var auth = []mutant{
	{
		Name: "the guard lets users get rights while authentication is on", Peer: "",
		From: "case !o.Auth.Known || o.Auth.On:\n\t\treturn accessAtRisk(\"users are made",
		To:   "case !o.Auth.Known:\n\t\treturn accessAtRisk(\"users are made",
		Test: guardRow("users get rights only where everyone has all of them"),
	},
	{
		Name: "the guard lets authentication be turned on before its users are there", Peer: "",
		From: "case !o.Auth.Known || !o.Auth.HasUsers:",
		To:   "case !o.Auth.Known:",
		Test: guardRow("authentication is turned on once its users are there"),
	},
	{
		Name: "the guard lets authentication be turned on where the operator has no certificate", Peer: "",
		From: "case !o.Desired.TLS || slices.ContainsFunc(o.Voters(), isWithoutCertificates):",
		To:   "case slices.ContainsFunc(o.Voters(), isWithoutCertificates):",
		Test: guardRow("where the operator has a certificate"),
	},
	{
		Name: "the guard lets authentication be turned on beside a member that lags", Peer: "",
		From: "case !o.Membership.Known || len(o.HealthyVoters()) < len(o.Voters()):\n\t\treturn accessAtRisk(",
		To:   "case !o.Membership.Known:\n\t\treturn accessAtRisk(",
		Test: guardRow("once every voter serves, and knows them"),
	},
	{
		Name: "the guard lets authentication be turned on before it is written down who asked for it", Peer: "",
		From: "case !o.Bootstrap.Auth:\n\t\treturn accessAtRisk(\"it is not written down",
		To:   "case false:\n\t\treturn accessAtRisk(\"it is not written down",
		Test: guardRow("once it is written down who asked for it"),
	},
	{
		Name: "the guard lets authentication be turned off that people turned on", Peer: "",
		From: "case !o.Bootstrap.Auth:\n\t\treturn accessAtRisk(\"people turned it on.\")",
		To:   "case false:\n\t\treturn accessAtRisk(\"people turned it on.\")",
		Test: guardRow("it is turned off where it was turned on for the spec"),
	},
	{
		Name: "the guard lets authentication be turned off where no spec says that it is off", Peer: "",
		From: "case o.Desired.Auth != facts.AuthOff:\n\t\treturn accessAtRisk(",
		To:   "case o.Desired.Auth == facts.AuthOn:\n\t\treturn accessAtRisk(",
		Test: guardRow("and not where it was taken out of the spec"),
	},
	{
		Name: "authentication is turned on before every voter was asked for the users", Peer: "",
		From: "_, err := voter.Authentication(ctx)",
		To:   "err := ctx.Err()",
		Test: "TestEveryVoterIsAskedBeforeAuthenticationIsTurnedOn",
	},
	{
		Name: "the user of clients loses the role that people gave it", Peer: "",
		From: "isFit := len(roles) > 0 && (user",
		To:   "isFit := slices.Contains(roles, client.RootRole) && (user",
		Test: "TestAUserOfClientsThatHasARoleStaysAsItIsAndRootGetsWhatItNeeds",
	},
	{
		Name: "etcd is asked for authentication although no spec speaks of it", Peer: "",
		From: "case o.AsksNoHashes || !seen.MustKnowAuth() ||",
		To:   "case o.AsksNoHashes ||",
		Test: "TestMembersAreAskedForAuthenticationOnlyWhereTheSpecOrTheRecordSpeaksOfIt",
	},
	{
		Name: "people are not told that authentication is on though the spec says off", Peer: "",
		From: "case o.Auth.On:\n\t\treturn refuse(facts.ReasonAuthByHand,",
		To:   "case false:\n\t\treturn refuse(facts.ReasonAuthByHand,",
		Test: row("they are told where the spec says that it is off, and it stays on"),
	},
}
