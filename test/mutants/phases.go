package main

// phases are bugs of which rule is asked when, and on how many members a rule acts at a time.
var phases = []mutant{
	{
		Name: "every rule is asked while the spec is refused", Peer: "",
		From: `{ return o.Desired.Fault == "" && !isEnding(o) }`,
		To:   "{ return !isEnding(o) }",
		Test: row("a refused spec adds no member"),
	},
	{
		Name: "a cluster grows to a size that is refused", Peer: "",
		From: "{isFollowing, size},",
		To:   "{isLiving, size},",
		Test: row("a refused spec adds no member"),
	},
	{
		Name: "a cluster shrinks to a size that is refused", Peer: "",
		From: "	{isFollowing, size},\n	{isLiving, harmless},",
		To:   "	{isLiving, size},\n	{isLiving, harmless},",
		Test: row("and removes none"),
	},
	{
		Name: "members are restarted with settings that are refused", Peer: "",
		From: "{isFollowing, follow},",
		To:   "{isLiving, follow},",
		Test: row("and restarts none"),
	},
	{
		Name: "a learner is abandoned for a size that is refused", Peer: "",
		From: `case len(o.due.Lasting) >= o.Desired.Size && o.Desired.Fault == "":`,
		To:   "case len(o.due.Lasting) >= o.Desired.Size:",
		Test: row("and abandons no learner for its size"),
	},
	{
		Name: "a cluster grows although a restore is about to end its incarnation", Peer: "",
		From: `{ return o.Desired.Fault == "" && !isEnding(o) }`,
		To:   `{ return o.Desired.Fault == "" }`,
		Test: row("but the cluster does not grow"),
	},
	{
		Name: "a restore that waits for a person keeps lost members from being made up for", Peer: "",
		From: "return o.IsPreparing() && isApproved",
		To:   "return o.IsPreparing() || isApproved",
		Test: row("unless it waits for a person: then lost members are made up for"),
	},
	{
		Name: "an ephemeral member is followed by one to which no step leads", Peer: "",
		From: "isHeld := d.HeldBy != \"\" || len(o.Crowded(o.Desired.Settings)) > 0 || awaitsRoom(o)",
		To:   "isHeld := len(o.Crowded(o.Desired.Settings)) > 0",
		Test: row("no ephemeral member is followed by one to which no step leads"),
	},
	{
		Name: "clients are led away from a member while too few others answer", Peer: "",
		From: "return len(ledTo(o)) >= etcdutil.Quorum(len(o.Voters()))",
		To:   "return len(ledTo(o)) >= 0",
		Test: row("clients are led away from no member while too few others answer"),
	},
	{
		Name: "the guard lets clients be led away while no quorum answers", Peer: "",
		From: "case ledTo(o, r.Name) >= etcdutil.Quorum(len(o.Voters())):",
		To:   "case o.Membership.Known, ledTo(o, r.Name) >= etcdutil.Quorum(len(o.Voters())):",
		Test: guardRow("a member that clients are led away from while no quorum answers"),
	},
	{
		Name: "clients are led on to a member that lost its leader", Peer: "",
		From: "return r.Answer == nil || r.Answer.Leader == 0 }",
		To:   "return r.Answer == nil }",
		Test: row("clients are led away from one that knows no leader beside a quorum"),
	},
	{
		Name: "a member that stops answering is not looked at before the next look is due", Peer: "",
		From: "answered <- heardFrom(status, err == nil)",
		To:   "answered <- heard{serves: err != nil || serves(status)}",
		Test: "TestAMemberThatStopsAnsweringBetweenTwoLooksIsLookedAtWithinSeconds",
	},
	{
		Name: "many members are asked as often as few", Peer: "",
		From: "if p.limit.Wait(ctx) != nil {",
		To:   "if ctx.Err() != nil {",
		Test: "TestPingsCostTheSameFromAThousandMembersOn",
	},
	{
		Name: "a look waits long for a member that is silent while the others serve", Peer: "",
		From: "if o.Pinger.isAlone(cluster, pod.Name) {",
		To:   "if false {",
		Test: "TestALookWaitsShortForASilentMemberWhileMostOthersServe",
	},
	{
		Name: "a look waits short for members that are silent together", Peer: "",
		From: "return 2*serving > all",
		To:   "return all > 0",
		Test: "TestALookWaitsShortForASilentMemberWhileMostOthersServe",
	},
	{
		Name: "a look that began before a member was doubted waits as long as ever", Peer: "",
		From: "cancel(errDoubted)",
		To:   "_ = errDoubted",
		Test: "TestALookThatBeganBeforeAMemberWasDoubtedEndsSoonAfter",
	},
	{
		Name: "a member is doubted because the operator itself was held up", Peer: "",
		From: "if !wasHeldUp(p.now().Sub(began), patience) {",
		To:   "if !wasHeldUp(p.now().Sub(began), patience) || true {",
		Test: "TestAMemberIsNotDoubtedWhileTheOperatorItselfIsHeldUp",
	},
	{
		Name: "a member that is always slow is looked at again and again", Peer: "",
		From: "max(2*known.slowest, pingPatience)",
		To:   "max(0*known.slowest, pingPatience)",
		Test: "TestAMemberThatIsSlowIsLookedAtOnceAndThenWaitedForLonger",
	},
	{
		Name: "a leader's renewal is as new as the read that found it", Peer: "",
		From: "since := now.Add(slices.Min(l.lags) - lag)",
		To:   "since := now.Add(0 * slices.Min(l.lags))",
		Test: "TestALeaderIsSilentForAsLongAsItDidNotRenewTheLease",
	},
	{
		Name: "a leader whose clock was put right is called silent", Peer: "",
		From: "if since.Before(l.read) {",
		To:   "if false {",
		Test: "TestALeaderWhoseClockIsPutRightIsNoLongerSilentThanSinceTheReadBefore",
	},
	{
		Name: "a replica that stands by does not ask again for the leader after its look", Peer: "",
		From: "if err == nil && !r.Leadership.mayAct(ctx) {",
		To:   "if false {",
		Test: "TestAReplicaThatStandsByLeadsClientsAwayOnceTheLeaderIsNotHeard",
	},
	{
		Name: "clients are led away at the first look", Peer: "",
		From: `if c.leadsAway() {
		return Traits{}`,
		To: `if false {
		return Traits{}`,
		Test: "TestClientsAreLedAwayOnlyAfterASecondLook",
	},
	{
		Name: "clients are led to a member that does not answer", Peer: "",
		From: "servesNothing(r) || isToLoseClients(o, r)",
		To:   "isToLoseClients(o, r)",
		Test: row("a member that does not answer gets no label"),
	},
	{
		Name: "clients are led to the member that is about to be removed", Peer: "",
		From: "followsSpec(o) && o.due.Leave.Name == r.Name",
		To:   "followsSpec(o) && o.due.Leave.Name == r.Name && false",
		Test: row("but not to the one that is about to be removed"),
	},
	{
		Name: "a member that serves again waits for a person to make room", Peer: "",
		From: "func labelRole(o pass) *proposal {",
		To:   "func labelRole(o pass) *proposal {\n\tif alarms(o) != nil {\n\t\treturn nil\n\t}",
		Test: row("also while a person has to make room"),
	},
	{
		Name: "a vote that was added by hand does not count for drains", Peer: "",
		From: "return etcdutil.Quorum(voters + len(o.Membership.VotingStrangers()))",
		To:   "return etcdutil.Quorum(voters)",
		Test: row("a drain counts the vote that was added by hand"),
	},
	{
		Name: "a learner on a dead node is waited for", Peer: "",
		From: "return (r.Pod.Started || o.Judge(r).Cause == facts.CauseNode) &&",
		To:   "return r.Pod.Started &&",
		Test: row("a learner whose node died before it started is given up, in its time"),
	},
	{
		Name: "a name that another object has is promised again and again", Peer: "",
		From: "o.Bootstrap.Names, o.Bootstrap.Next.Names, takenNames(o.Observation))",
		To:   "o.Bootstrap.Names, o.Bootstrap.Next.Names)",
		Test: row("and passes over a name that something of an earlier cluster has"),
	},
	{
		Name: "a dead member on a volume that is going is waited for", Peer: "",
		From: "return r.IsDoomed() && IsUnheard(r)",
		To:   "return r.IsDoomed() && IsUnheard(r) && false",
		Test: row("also while its volume is being deleted, and no successor can join beside it"),
	},
	{
		Name: "a label of a Pod that is not ready may not be taken", Peer: "",
		From: "case r.Pod.Ready && servesNobody(o, r):",
		To:   "case servesNobody(o, r):",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "the disruption budget follows the voters of another cluster", Peer: "",
		From: `if !o.HasQuorum() {
		return nil
	}
	voters, has :=`,
		To: `if !o.Membership.Known {
		return nil
	}
	voters, has :=`,
		Test: row("the budget does not follow the voters of another cluster"),
	},
	{
		Name: "a first member is evicted and never made anew", Peer: "",
		From: "if r.Pod.Running && r.Pod.Ready && o.IsAlive() {",
		To:   "if r.Pod.Running && r.Pod.Ready {",
		Test: row("a first member that its kubelet calls ready is deleted and not evicted: no " +
			"list says who votes"),
	},
	{
		Name: "settings that may not work are taken by two members at once", Peer: "",
		From: `if o.IsAlive() {
		takers = takers[:1]`,
		To: `if !o.IsAlive() {
		takers = takers[:1]`,
		Test: row("of two members that cannot start one takes the settings of the spec"),
	},
	{
		Name: "two members that run are made anew at once", Peer: "",
		From: "if r.Pod.Running && o.IsAlive() {",
		To:   "if r.Pod.Running && !o.IsAlive() {",
		Test: row("of two members that run and never answered one is made anew"),
	},
	{
		Name: "leadership goes to a copy in doubt", Peer: "",
		From: `func guardHeir(o facts.View, taker facts.Replica) Veto {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {`,
		To: `func guardHeir(o facts.View, taker facts.Replica) Veto {
	if taker.Answer != nil {`,
		Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
}
