package main

// compared are bugs of the comparison of what starts from data.
var compared = []mutant{
	{
		Name: "etcd compares when it starts, and members that start together wait for each other", Peer: "",
		File:    "controllers/resources/flags.go",
		From:    "v1alpha1.AnnotationInitialCompare: doesNotCompare,",
		To:      "v1alpha1.AnnotationInitialCompare: compares,",
		Package: "./controllers/resources", Test: "TestNoPodComparesByItself",
	},
	{
		Name: "what was compared once is not compared when it starts again", Peer: "",
		File:    "controllers/observe/pods.go",
		From:    "pod.Annotations[v1alpha1.AnnotationCompared] != p.Process)",
		To:      "pod.Annotations[v1alpha1.AnnotationCompared] == \"\")",
		Package: "./controllers/observe", Test: "TestAProcessIsComparedOnceAndTheNextOneAgain/it_started_again_since",
	},
	{
		Name: "a replica that does not lead stops writes to hash", Peer: "",
		File:    "controllers/observe/observe.go",
		From:    "if !o.AsksNoHashes && plan.AsksForHashes(seen) {",
		To:      "if plan.AsksForHashes(seen) {",
		Package: "./controllers/observe", Test: "TestOnlyTheReplicaThatLeadsAsksForHashes",
	},
	{
		Name: "all voters hash at once, and no one writes", Peer: "",
		File: "controllers/observe/hashes.go",
		From: "			s.addHash(ctx, r, revision)",
		To: `			hashed := make(chan bool)
			go func() {
				s.addHash(ctx, r, revision)
				close(hashed)
			}()
			defer func() { <-hashed }()`,
		Package: "./controllers/observe",
		Test:    "TestVotersAreHashedOneAfterTheOtherAtOneRevisionAndInTheTimeThatTheirSizeTakes",
	},
	{
		Name: "clients are led on to a member that started beside a quorum", Peer: "",
		File:    "controllers/plan/compare.go",
		From:    "return isUncompared(r) && r.Pod.Role == facts.RoleVoter && o.HasQuorum() && isQuorumLedTo(o)",
		To:      "return false",
		Package: planPackage, Test: row("clients are led away from a member that started beside a quorum"),
	},
	{
		Name: "a whole cluster that starts loses its clients", Peer: "",
		File:    "controllers/plan/blind.go",
		From:    "v.Pod.Role == facts.RoleVoter && !v.Pod.Uncompared",
		To:      "v.Pod.Role == facts.RoleVoter",
		Package: planPackage, Test: row("where all started clients are led on meanwhile"),
	},
	{
		Name: "a member whose copy differs is called compared once its time is over", Peer: "",
		File:    "controllers/plan/facts/copies.go",
		From:    "return h.comparesWith(own) && h != own",
		To:      "return h.comparesWith(own) && h != h",
		Package: planPackage, Test: row("and not where copies differ"),
	},
	{
		Name: "a cluster that takes too long to be read never serves", Peer: "",
		File:    "controllers/plan/compare.go",
		From:    "return r.Pod.HadStartTime(o.Now) && !isToLeaveUncompared(o.Incarnation, r)",
		To:      "return o.IsGone(r)",
		Package: planPackage, Test: row("what takes too long to be read serves as it is"),
	},
	{
		Name: "members of a paused cluster hash in each look", Peer: "",
		File:    "controllers/plan/compare.go",
		From:    "if o.Desired.Paused || o.Desired.Deleting ||",
		To:      "if o.Desired.Deleting ||",
		Package: planPackage, Test: "TestHashesAreAskedOnlyWhereACopyHasToBeCompared",
	},
	{
		Name: "a first process that started again is taken for one that began empty", Peer: "",
		File:    "controllers/plan/blind.go",
		From:    "r.Pod.Flags == facts.FlagsJoin) && r.Pod.Exit == nil {",
		To:      "r.Pod.Flags == facts.FlagsJoin) {",
		Package: planPackage, Test: "TestWhatIsSealedFirstIsCalledComparedOnlyWhereItBeganEmpty",
	},
	{
		Name: "the guard believes a copy that no other member has", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "return n > 1 && 2*n > len(o.Voters())",
		To:      "return n > 0",
		Package: planPackage, Test: guardRow("a copy that only one of three has said to hold"),
	},
	{
		Name: "the guard does not see that hashes differ", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if showDifference(countHashes(o)) {",
		To:      "if false {",
		Package: planPackage, Test: guardRow("what takes too long to be read, and differs"),
	},
	{
		Name: "the guard leads clients to what was not compared", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "case role == facts.RoleVoter && r.Pod.Uncompared:",
		To:      "case false:",
		Package: planPackage, Test: guardRow("a label before that"),
	},
}
