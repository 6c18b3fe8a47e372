package main

const clusterPackage = "./controllers/cluster"

// passes are bugs of a pass over a cluster: when it may change etcd, what it believes, what it tells, and how fast it goes on.
var passes = []mutant{
	{
		Name: "etcd is changed by a process that does not ask for its Lease", Peer: "",
		File:    "controllers/apply/members.go",
		From:    "\tif s.Leads == nil {",
		To:      "\tif s.Leads == nil || s.Live != nil {",
		Package: applyPackage, Test: "TestEtcdIsChangedOnlyByTheProcessThatLeads",
	},
	{
		Name: "the Lease is asked once for all alarms", Peer: "",
		File:    "controllers/apply/members.go",
		From:    "\tfor _, alarm := range c.Alarms {\n\t\tif err := s.stillLeads(ctx); err != nil {",
		To:      "\tfor n, alarm := range c.Alarms {\n\t\tif err := s.stillLeads(ctx); err != nil && n == 0 {",
		Package: applyPackage, Test: "TestEtcdIsChangedOnlyByTheProcessThatLeads",
	},
	{
		Name: "a Lease that another process holds counts", Peer: "",
		File:    "controllers/cluster/looklease.go",
		From:    "*spec.HolderIdentity != lease.Identity",
		To:      "*spec.HolderIdentity == \"\"",
		Package: clusterPackage, Test: "TestAProcessLeadsWhileTheLeaseNamesItAndLasts/another_process_holds_it",
	},
	{
		Name: "a Lease that may end during a call counts", Peer: "",
		File:    "controllers/cluster/looklease.go",
		From:    "lease.Now().Add(leaseMargin).After(end)",
		To:      "lease.Now().After(end)",
		Package: clusterPackage,
		Test:    "TestAProcessLeadsWhileTheLeaseNamesItAndLasts/a_call_that_changes_etcd_may_outlast_it",
	},
	{
		Name: "a first look that finds no quorum is told", Peer: "",
		File:    "controllers/cluster/publish.go",
		From:    "status); later > 0 {",
		To:      "status); later > time.Hour {",
		Package: clusterPackage, Test: "TestAHandOverOfTheLeaderDoesNotMakeTheClusterUnavailable",
	},
	{
		Name: "a lost quorum is doubted for ever", Peer: "",
		File:    "controllers/cluster/publish.go",
		From:    "return r.doubts.Rest(key, r.Now(), doubtInterval)",
		To:      "return doubtInterval",
		Package: clusterPackage, Test: "TestAQuorumThatIsLostIsToldBySecondLook",
	},
	{
		Name: "two looks within a moment count as two", Peer: "",
		File:    "controllers/cluster/publish.go",
		From:    "return r.doubts.Rest(key, r.Now(), doubtInterval)",
		To:      "return 0",
		Package: clusterPackage, Test: "TestAQuorumThatIsLostIsToldBySecondLook",
	},
	{
		Name: "a Secret that a Pod waits for is believed", Peer: "",
		File:    "controllers/cluster/reconcile.go",
		From:    "now.Sub(pod.Created) > mountPatience",
		To:      "now.Sub(pod.Created) > time.Hour",
		Package: clusterPackage, Test: "TestAMembersSecretThatIsGoneIsMadeAgainWhileItsPodWaitsForIt",
	},
	{
		Name: "a Secret that the writer missed is believed", Peer: "",
		File:    "controllers/cluster/apply.go",
		From:    "made.Reason == apply.LaterMissing",
		To:      "made.Reason == apply.LaterBusy",
		Package: clusterPackage, Test: "TestAMembersSecretThatIsGoneIsMadeAgainBeforeItsPodIsStarted",
	},
	{
		Name: "changes that take turns are not braked", Peer: "",
		File:    "controllers/cluster/brake.go",
		From:    "boundOf(o) - 1); slow > 0 {",
		To:      "boundOf(o) - 1); slow > time.Hour {",
		Package: clusterPackage, Test: "TestEveryLivelockIsBraked",
	},
	{
		Name: "a creation with a roll and a restore is braked", Peer: "",
		File:    "controllers/cluster/brake.go",
		From:    "\teffectsOfCluster = 50\n\teffectsOfMember  = 30",
		To:      "\teffectsOfCluster = 20\n\teffectsOfMember  = 3",
		Package: clusterPackage, Test: "TestACreationARollAndARestoreInARowAreNotBraked",
	},
	{
		Name: "a cluster at rest stays braked", Peer: "",
		File:    "controllers/cluster/brake.go",
		From:    "case verdict == plan.Settled:",
		To:      "case verdict == plan.Refuse:",
		Package: clusterPackage, Test: "TestAClusterThatIsBrakedSaysSoUntilItIsAtRest",
	},
	{
		Name: "a change that moves nothing starves the rules after it", Peer: "",
		File:    "controllers/cluster/decide.go",
		From:    "return c.vain == nil && ",
		To:      "return c.vain != nil && ",
		Package: clusterPackage, Test: "TestAChangeThatTheAPIServerDropsKeepsNoOtherRuleFromActing",
	},
	{
		Name: "a change that moves nothing is never made again", Peer: "",
		File:    "controllers/cluster/decide.go",
		From:    "made := c.try(ctx, c.vain.seen, c.vain.decision)",
		To:      "made := attempt{recheck: lastBrake}",
		Package: clusterPackage, Test: "TestAChangeThatTheAPIServerDropsIsToldOnceAndTriedMoreAndMoreSlowly",
	},
	{
		Name: "a Pod that Kubernetes took and that vanished takes other settings", Peer: "",
		File: "controllers/plan/pods.go",
		From: `return slices.ContainsFunc(o.Refused, func(n facts.Note) bool {
		return n.Rule == rule &&
			n.Reason != facts.ReasonNoEffect
	})`,
		To:      "return slices.ContainsFunc(o.Refused, func(n facts.Note) bool { return n.Rule == rule })",
		Package: planPackage, Test: row("a Pod that Kubernetes took and that is not there takes none"),
	},
}
