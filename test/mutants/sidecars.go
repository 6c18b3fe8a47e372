package main

// sidecars are bugs of containers beside etcd: each would let one cost a member, or its clients.
var sidecars = []mutant{
	{
		Name: "a sidecar that is not ready makes its member not ready",
		From: "slices.ContainsFunc(nativeSidecars(pod), isUnready))",
		To:   "len(nativeSidecars(pod)) < 0)",
		Test: "TestSidecar",
	},
	{
		Name: "nothing says that etcd waits for a sidecar",
		From: "if !p.Started {\n\t\tfillStartsAfter",
		To:   "if p.Started {\n\t\tfillStartsAfter",
		Test: "TestSidecar",
	},
	{
		Name: "what a webhook adds counts as a sidecar",
		From: "if slices.Contains(names, c.Name) {",
		To:   "if slices.Contains(names, c.Name) || true {",
		Test: "TestWhatAWebhookAddsIsNoSidecarAndChangesNoSettings",
	},
	{
		Name: "clients do not reach a member whose sidecar is not ready",
		From: "g.services(cluster, ours, current.LeadsByRole(began)),",
		To:   "g.services(cluster, ours, false),",
		Test: "TestClientsReachAMemberWhoseSidecarIsNotReady",
	},
	{
		Name: "a member that a sidecar keeps from starting is not told",
		From: `return IsUnheard(r) && r.Pod.StartsAfter != ""`,
		To:   `return false && r.Pod.StartsAfter != ""`,
		Test: "TestEverySignIsTheFirstToFitInSomeRow",
	},
	{
		Name: "a member is replaced for a sidecar that does not start",
		From: "means(Stopped, facts.CauseSettings, Correct).by(ByKubelet).toldBy(wordOfKubernetes).saying(behindOther),",
		To:   "means(Lost, facts.CauseNode, Replace).certainly().by(ByKubelet).toldBy(wordOfKubernetes).saying(behindOther),",
		Test: "TestNoMemberIsReplacedForItsSidecarHoweverLongItLasts",
	},
	{
		Name: "a roll goes on although the sidecar of the member before crashes",
		From: "if other.Name != r.Name && isTriedInVain(o.Observation, other) {",
		To:   "if other.Name == r.Name && isTriedInVain(o.Observation, other) {",
		Test: row("a roll stops at the first member whose sidecar crashes with the new settings"),
	},
	{
		Name: "a member whose sidecar crashes is not restarted first",
		From: "case r.Pod.HeldUnready:\n\t\treturn 2",
		To:   "case r.Pod.HeldUnready:\n\t\treturn 4",
		Test: row("the member whose sidecar crashes is restarted first, also when others have begun"),
	},
	{
		Name: "the budget holds back what would cure the members that it counts as missing",
		From: "return (r.Pod.HeldUnready || o.Budget.MinAvailable == 1) && len(ready) < o.Budget.MinAvailable",
		To:   "return r.Pod.HeldUnready && len(ready) < 0",
		Test: "TestARollPassesTheBudgetOnlyWhereSidecarsKeepMoreMembersFromBeingReadyThanItSpares",
	},
	{
		Name: "a Pod is evicted although the budget refuses it",
		From: "case c.PastBudget:",
		To:   "case c.PastBudget && false:",
		Test: "TestPastTheBudgetAPodIsDeletedAndNoOtherOfItsName",
	},
	{
		Name: "the client Service never leads by role",
		From: "return i.ensureClientService(ctx, object)",
		To:   "return i.ensureClientService(ctx, facts.Object{State: object.State})",
		Test: "TestTheClientServiceLeadsByRoleOnlyAsLongAsItIsAskedTo",
	},
	{
		Name: "by role, clients stay with a member that serves nothing",
		From: "(r.Pod.Ready || o.LeadsByRole(now))",
		To:   "r.Pod.Ready",
		Test: row("by role, clients are led away from a member that its kubelet does not call ready either"),
	},
	{
		Name: "by role, clients stay with a member that is being stopped",
		From: "r.Pod.Terminating && !o.LeadsByRole(o.Now) {",
		To:   "r.Pod.Terminating {",
		Test: row("by role, clients are led away from a member that is being stopped"),
	},
	{
		Name: "clients are led to a voter that only starts",
		From: "return facts.RoleCounted\n\t}\n\treturn \"\"\n}",
		To:   "return facts.RoleCounted\n\t}\n\treturn facts.RoleVoter\n}",
		Test: "TestAVoterThatStartsLeadsNoClientBeforeItServes",
	},
	{
		Name: "a Secret that does not exist keeps etcd from starting",
		From: "source.Secret.Optional = new(true)",
		To:   "source.Secret.Optional = new(false)",
		Test: "TestNothingThatASidecarLacksKeepsEtcdFromStarting",
	},
	{
		Name: "a sidecar is not held to Pod Security restricted",
		From: "security := containerSecurity()",
		To:   "security := &corev1.SecurityContext{}",
		Test: "TestEveryPodPassesPodSecurityRestricted",
	},
	{
		Name: "a change of a sidecar restarts nothing",
		From: "	in.Sidecars = sidecars\n",
		To:   "	in.Sidecars = sidecars[:0:0]\n",
		Test: "TestEveryFieldOfASidecarNeedsARestart",
	},
	{
		Name: "a Pod whose sidecar is not ready is counted as ready",
		From: "return !s.Ready }",
		To:   "return s.Ready && false }",
		Test: "TestSidecarsAreCountedWhileTheSpecOrAPodHasSome",
	},
	{
		Name: "two sidecars of one port are admitted",
		From: "if seen[port] {",
		To:   "if seen[port] && false {",
		Test: "TestWhatIsWrongIsRefusedWithASentence/one_port_of_two_sidecars",
	},
}
