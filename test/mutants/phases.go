package main

// phases are bugs of which rule is asked when, and on how many members a rule acts at a time.
var phases = []mutant{
	{
		Name: "every rule is asked while the spec is refused", Peer: "",
		File:    "controllers/plan/phases.go",
		From:    `{ return o.Desired.Fault == "" && !isEnding(o) }`,
		To:      "{ return !isEnding(o) }",
		Package: planPackage, Test: row("a refused spec adds no member"),
	},
	{
		Name: "a cluster grows to a size that is refused", Peer: "",
		File:    "controllers/plan/phases.go",
		From:    `{"grow", "One learner at a time, under a name that was never used.", grow, givesWay, ofSpec},`,
		To:      `{"grow", "One learner at a time, under a name that was never used.", grow, givesWay, always},`,
		Package: planPackage, Test: row("a refused spec adds no member"),
	},
	{
		Name: "a cluster shrinks to a size that is refused", Peer: "",
		File:    "controllers/plan/phases.go",
		From:    `{"shrink", "Unhealthy members first; the leader hands over before it goes.", shrink, holds, ofSpec},`,
		To:      `{"shrink", "Unhealthy members first; the leader hands over before it goes.", shrink, holds, always},`,
		Package: planPackage, Test: row("and removes none"),
	},
	{
		Name: "members are restarted with settings that are refused", Peer: "",
		File:    "controllers/plan/phases.go",
		From:    "roll, givesWay, ofSpec}",
		To:      "roll, givesWay, always}",
		Package: planPackage, Test: row("and restarts none"),
	},
	{
		Name: "a learner is abandoned for a size that is refused", Peer: "",
		File:    "controllers/plan/learner.go",
		From:    `case len(lastingVoters(o)) >= o.Desired.Size && o.Desired.Fault == "":`,
		To:      "case len(lastingVoters(o)) >= o.Desired.Size:",
		Package: planPackage, Test: row("and abandons no learner for its size"),
	},
	{
		Name: "a cluster grows although a restore is about to end its incarnation", Peer: "",
		File:    "controllers/plan/phases.go",
		From:    `{ return o.Desired.Fault == "" && !isEnding(o) }`,
		To:      `{ return o.Desired.Fault == "" }`,
		Package: planPackage, Test: row("but the cluster does not grow"),
	},
	{
		Name: "a restore that waits for a person keeps lost members from being made up for", Peer: "",
		File:    "controllers/plan/phases.go",
		From:    "return o.IsPreparing() && isAwaited",
		To:      "return o.IsPreparing() || isAwaited",
		Package: planPackage, Test: row("unless it waits for a person: then lost members are made up for"),
	},
	{
		Name: "an ephemeral member is followed by one to which no step leads", Peer: "",
		File:    "controllers/plan/rollout.go",
		From:    "if unsupported(o) != nil || len(o.Crowded(o.Desired.Choices)) > 0 {\n\t\treturn nil",
		To:      "if len(o.Crowded(o.Desired.Choices)) > 0 {\n\t\treturn nil",
		Package: planPackage, Test: row("no ephemeral member is followed by one to which no step leads"),
	},
	{
		Name: "clients are led away from a member while too few others answer", Peer: "",
		File:    "controllers/plan/blind.go",
		From:    "return len(led) >= etcdutil.Quorum(len(o.Voters()))",
		To:      "return len(led) >= 0",
		Package: planPackage, Test: row("clients are led away from no member while too few others answer"),
	},
	{
		Name: "the guard lets clients be led away while no quorum answers", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "ledTo(o, r.Name) < etcdutil.Quorum(len(o.Voters())):",
		To:      "!o.Membership.Known:",
		Package: planPackage, Test: guardRow("a member that clients are led away from while no quorum answers"),
	},
	{
		Name: "clients are led on to a member that lost its leader", Peer: "",
		File:    "controllers/plan/blind.go",
		From:    "return r.Answer == nil || r.Answer.Leader == 0 }",
		To:      "return r.Answer == nil }",
		Package: planPackage, Test: row("clients are led away from one that knows no leader beside a quorum"),
	},
	{
		Name: "a member that stops answering is not looked at before the next look is due", Peer: "",
		File:    "controllers/observe/pinger.go",
		From:    "p.hear(m, was, err == nil && serves(status))",
		To:      "p.hear(m, was, err != nil || serves(status))",
		Package: "./controllers/observe", Test: "TestAMemberThatStopsAnsweringBetweenTwoLooksIsLookedAtWithinSeconds",
	},
	{
		Name: "many members are asked as often as few", Peer: "",
		File:    "controllers/observe/pinger.go",
		From:    "if p.limit.Wait(ctx) != nil {",
		To:      "if ctx.Err() != nil {",
		Package: "./controllers/observe", Test: "TestPingsCostTheSameFromAThousandMembersOn",
	},
	{
		Name: "clients are led away at the first look", Peer: "",
		File: "controllers/plan/changes/traits.go",
		From: `if c.Role == "" {
		return Traits{}`,
		To: `if false {
		return Traits{}`,
		Package: planPackage, Test: "TestClientsAreLedAwayOnlyAfterASecondLook",
	},
	{
		Name: "clients are led to a member that does not answer", Peer: "",
		File:    "controllers/plan/membership.go",
		From:    "servesNothing(r) || isToLoseClients(o, r)",
		To:      "isToLoseClients(o, r)",
		Package: planPackage, Test: row("a member that does not answer gets no label"),
	},
	{
		Name: "clients are led to the member that is about to be removed", Peer: "",
		File:    "controllers/plan/membership.go",
		From:    "isTooMany && followsSpec(o) && leaving.Name == r.Name",
		To:      "isTooMany && followsSpec(o) && leaving.Name == r.Name && false",
		Package: planPackage, Test: row("but not to the one that is about to be removed"),
	},
	{
		Name: "a member that serves again waits for a person to make room", Peer: "",
		File:    "controllers/plan/membership.go",
		From:    "func labelRole(o judge.View) *proposal {",
		To:      "func labelRole(o judge.View) *proposal {\n\tif alarms(o) != nil {\n\t\treturn nil\n\t}",
		Package: planPackage, Test: row("also while a person has to make room"),
	},
	{
		Name: "a vote that was added by hand does not count for drains", Peer: "",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "return etcdutil.Quorum(voters + len(o.Membership.VotingStrangers()))",
		To:      "return etcdutil.Quorum(voters)",
		Package: planPackage, Test: row("a drain counts the vote that was added by hand"),
	},
	{
		Name: "a learner on a dead node is waited for", Peer: "",
		File:    "controllers/plan/learner.go",
		From:    "return (r.Pod.Started || o.Judge(r).Cause == facts.CauseNode) &&",
		To:      "return r.Pod.Started &&",
		Package: planPackage, Test: row("a learner whose node died before it started is given up, in its time"),
	},
	{
		Name: "a name that another object has is promised again and again", Peer: "",
		File:    "controllers/plan/size.go",
		From:    "o.Birth.Names, o.Birth.Next.Names, takenNames(o.Observation))",
		To:      "o.Birth.Names, o.Birth.Next.Names)",
		Package: planPackage, Test: row("and passes over a name that something of an earlier cluster has"),
	},
	{
		Name: "a dead member on a volume that is going is waited for", Peer: "",
		File:    "controllers/plan/judge/seen.go",
		From:    "return r.IsDoomed() && IsUnheard(r)",
		To:      "return r.IsDoomed() && IsUnheard(r) && false",
		Package: planPackage, Test: row("also while its volume is being deleted, and no successor can join beside it"),
	},
	{
		Name: "a label of a Pod that is not ready may not be taken", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    `c.Role == "" && r.Pod.Ready && servesNobody`,
		To:      `c.Role == "" && servesNobody`,
		Package: planPackage, Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "the disruption budget follows the voters of another cluster", Peer: "",
		File: "controllers/plan/scaffold.go",
		From: "if !o.HasQuorum() || o.Budget.State == facts.ObjectForeign || o.Budget.State == " +
			"facts.ObjectTerminating {",
		To: "if !o.Membership.Known || o.Budget.State == facts.ObjectForeign || o.Budget.State == " +
			"facts.ObjectTerminating {",
		Package: planPackage, Test: row("the budget does not follow the voters of another cluster"),
	},
	{
		Name: "a first member is evicted and never made anew", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "if r.Pod.Running && r.Pod.Ready && o.IsAlive() {",
		To:      "if r.Pod.Running && r.Pod.Ready {",
		Package: planPackage, Test: row("a first member that its kubelet calls ready is deleted and not evicted: no " +
			"list says who votes"),
	},
	{
		Name: "settings that may not work are taken by two members at once", Peer: "",
		File: "controllers/plan/pods.go",
		From: `if o.IsAlive() {
		takers = takers[:1]`,
		To: `if !o.IsAlive() {
		takers = takers[:1]`,
		Package: planPackage, Test: row("of two members that cannot start one takes the settings of the spec"),
	},
	{
		Name: "two members that run are made anew at once", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "if r.Pod.Running && o.IsAlive() {",
		To:      "if r.Pod.Running && !o.IsAlive() {",
		Package: planPackage, Test: row("of two members that run and never answered one is made anew"),
	},
	{
		Name: "leadership goes to a copy in doubt", Peer: "",
		File: "controllers/plan/guard/corruption.go",
		From: `func guardHeir(o facts.View, taker facts.Replica) string {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {`,
		To: `func guardHeir(o facts.View, taker facts.Replica) string {
	if taker.Answer != nil {`,
		Package: planPackage, Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
}
