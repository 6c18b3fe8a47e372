package main

// compared are bugs of the comparison of what starts from data.
var compared = []mutant{
	{
		Name: "etcd compares when it starts, and members that start together wait for each other", Peer: "",
		From: "v1alpha1.AnnotationInitialCompare: doesNotCompare,",
		To:   "v1alpha1.AnnotationInitialCompare: compares,",
		Test: "TestNoPodComparesByItself",
	},
	{
		Name: "what was compared once is not compared when it starts again", Peer: "",
		From: "pod.Annotations[v1alpha1.AnnotationCompared] != p.Process)",
		To:   "pod.Annotations[v1alpha1.AnnotationCompared] == \"\")",
		Test: "TestAProcessIsComparedOnceAndTheNextOneAgain/it_started_again_since",
	},
	{
		Name: "a replica that does not lead stops writes to hash", Peer: "",
		From: "if o.AsksNoHashes || !plan.AsksForHashes(seen) {",
		To:   "if !plan.AsksForHashes(seen) {",
		Test: "TestOnlyTheReplicaThatLeadsAsksForHashes",
	},
	{
		Name: "all voters hash at once, and no one writes", Peer: "",
		From: "if !slices.ContainsFunc(asked, saysSo) {",
		To:   "if slices.ContainsFunc(asked, saysSo) {",
		Test: "TestVotersAreHashedOneAfterTheOtherAtOneRevisionAndInTheTimeThatTheirSizeTakes",
	},
	{
		Name: "a member is removed for history that its compaction has yet to take away", Peer: "",
		From: ".CopiesDiffer() && s.holdNoKeys(ctx, asked) {",
		To:   ".CopiesDiffer() && false {",
		Test: "TestHashesThatDifferSayNothingWhereEachMemberSaysThatThereIsNoKey/none_has_a_key",
	},
	{
		Name: "a copy that lost all keys is believed, and stands", Peer: "",
		From: "return err == nil && hasSome",
		To:   "return err == nil && hasSome && false",
		Test: "TestHashesThatDifferSayNothingWhereEachMemberSaysThatThereIsNoKey/one_has_a_key",
	},
	{
		Name: "what a process remembers of a compaction is held against one that started since", Peer: "",
		From: "if areOfTwoCompactions(asked) {",
		To:   "if false {",
		Test: "TestHashesOfTwoCompactionsAreAskedForAnewAtTheNewestRevision",
	},
	{
		Name: "clients are led on to a member that started beside a quorum", Peer: "",
		From: "return isUncompared(r) && r.Pod.Role == facts.RoleVoter && o.HasQuorum() && isQuorumLedTo(o)",
		To:   "return false",
		Test: row("clients are led away from a member that started beside a quorum"),
	},
	{
		Name: "a whole cluster that starts loses its clients", Peer: "",
		From: "v.Pod.Role == facts.RoleVoter && !v.Pod.Uncompared",
		To:   "v.Pod.Role == facts.RoleVoter",
		Test: row("where all started clients are led on meanwhile"),
	},
	{
		Name: "a member whose copy differs is called compared once its time is over", Peer: "",
		From: "return h.comparesWith(own) && h != own",
		To:   "return h.comparesWith(own) && h != h",
		Test: row("and not where copies differ"),
	},
	{
		Name: "a cluster that takes too long to be read never serves", Peer: "",
		From: "return r.Pod.HadStartTime(o.Now) && !isToLeaveUncompared(o.Incarnation, r)",
		To:   "return o.IsGone(r)",
		Test: row("what takes too long to be read serves as it is"),
	},
	{
		Name: "members of a paused cluster hash in each look", Peer: "",
		From: "if o.Desired.Paused || o.Desired.Deleting ||",
		To:   "if o.Desired.Deleting ||",
		Test: "TestHashesAreAskedOnlyWhereACopyHasToBeCompared",
	},
	{
		Name: "a first process that started again is taken for one that began empty", Peer: "",
		From: "return r.Pod.Flags == FlagsBootstrap && r.Pod.Exit == nil && isFirst",
		To:   "return r.Pod.Flags == FlagsBootstrap && isFirst",
		Test: "TestWhatIsSealedFirstIsCalledComparedOnlyWhereItBeganEmpty",
	},
	{
		Name: "a first member's later Pod is taken for one that found nothing", Peer: "",
		From: "r.Pod.Created.Sub(r.Volume.Created) < madeTogether",
		To:   "true",
		Test: "TestWhatIsSealedFirstIsCalledComparedOnlyWhereItBeganEmpty",
	},
	{
		Name: "clients are led to what a new member copied, before it is compared", Peer: "",
		From: "isFirst := r.Volume == nil",
		To:   "if r.Pod.Flags == FlagsJoin {\n\t\treturn true\n\t}\n\tisFirst := r.Volume == nil",
		Test: guardRow("one that joined, and copied"),
	},
	{
		Name: "a learner votes that copied what the leader alone holds, and good copies are the fewer", Peer: "",
		From: "case !isCopiedFromMajority(o, r):",
		To:   "case false:",
		Test: row("a learner votes only once the leader's copy is that of a majority"),
	},
	{
		Name: "a copy that differs is removed while another member starts, and two are away", Peer: "",
		From: "if p := startersFirst(o, r); p != nil {",
		To:   "if p := startersFirst(o, r); false {",
		Test: row("not while another voter starts"),
	},
	{
		Name: "a copy that differs stays for as long as another member does not start", Peer: "",
		From: "r.Name != leaving.Name && judge.IsUnheard(r) && isStarting(o, r)",
		To:   "r.Name != leaving.Name && judge.IsUnheard(r)",
		Test: row("but after the time of a start"),
	},
	{
		Name: "the guard gives such a learner its vote", Peer: "",
		From: "(leader.Answer == nil || !isOfMajority(o, leader)) {",
		To:   "leader.Answer == nil {",
		Test: guardRow("a vote for a copy of what only the leader holds"),
	},
	{
		Name: "a learner waits for hashes that are asked of no voter", Peer: "",
		From: "r.IsLearner() && mayVote(o.Current, r)",
		To:   "false",
		Test: "TestHashesAreAskedOnlyWhereACopyHasToBeCompared",
	},
	{
		Name: "the guard believes a copy that no other member has", Peer: "",
		From: "return n > 1 && 2*n > len(o.Voters())",
		To:   "return n > 0",
		Test: guardRow("a copy that only one of three has said to hold"),
	},
	{
		Name: "the guard does not see that hashes differ", Peer: "",
		From: "if showDifference(countHashes(o)) {",
		To:   "if false {",
		Test: guardRow("what takes too long to be read, and differs"),
	},
	{
		Name: "the guard leads clients to what was not compared", Peer: "",
		From: "case role == facts.RoleVoter && r.Pod.Uncompared:",
		To:   "case false:",
		Test: guardRow("a label before that"),
	},
}
