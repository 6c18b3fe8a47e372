package main

import "strings"

// placeRow is the name of a test of one row of the table of successors that no node takes.
func placeRow(name string) string {
	return "TestWhereNoNodeTakesASuccessor/" + strings.ReplaceAll(name, " ", "_")
}

// placeGuardRow is one of what the guard says to that.
func placeGuardRow(name string) string {
	return "TestTheGuardLetsADoomedMemberGoBeforeItsSuccessorVotesOnlyWhileAllOthersServe/" +
		strings.ReplaceAll(name, " ", "_")
}

// places are bugs of what goes on where no node takes the successor of a member.
var places = []mutant{
	{
		Name: "a doomed member waits for ever for a successor that its Pod keeps away", Peer: "elastic/cloud-on-k8s#2425",
		From: "return cmp.Or(d.InTheWay, d.leavesFirst(o))",
		To:   "return d.leavesFirst(o)",
		Test: placeRow("then its vote"),
	},
	{
		Name: "a doomed member goes as soon as no node takes its successor", Peer: "",
		From: "return since.Add(PlaceDeadline)",
		To:   "return since",
		Test: placeRow("not before five minutes, and it is told when"),
	},
	{
		Name: "how long no node takes a Pod is read from the API server's clock alone", Peer: "",
		From: "o.IsPast(p.PlaceUntil())",
		To:   "o.Now.After(p.PlaceUntil())",
		Test: placeRow("nor by one clock alone"),
	},
	{
		Name: "how long no node takes a Pod is counted from its creation", Peer: "",
		From: "if p.UnplacedFrom.After(since) {",
		To:   "if false {",
		Test: placeRow("nor by the age of its Pod, where a scheduler came late"),
	},
	{
		Name: "since when no node takes a Pod is not read", Peer: "",
		From: "p.UnplacedFrom = said.LastTransitionTime.Time",
		To:   "_ = said.LastTransitionTime",
		Test: "TestPod/that_cannot_be_scheduled_says_why",
	},
	{
		Name: "a doomed member goes although its node may not take the successor", Peer: "",
		From: `strings.Contains(learner.Pod.Message, fmt.Sprintf(" %d %s", len(nodes), keptApart))`,
		To:   "strings.Contains(learner.Pod.Message, keptApart)",
		Test: placeRow("nor where fewer nodes have that reason: the one of the doomed member may have another"),
	},
	{
		Name: "a number of nodes is taken for its last digit", Peer: "",
		From: `fmt.Sprintf(" %d %s", len(nodes), keptApart)`,
		To:   `fmt.Sprintf("%d %s", len(nodes), keptApart)`,
		Test: placeRow("nor where more have it"),
	},
	{
		Name: "the first of several doomed members goes", Peer: "",
		From: "return len(o.Voters()) > 2 && servesWithout(o, r)",
		To:   "return len(o.Voters()) > 2",
		Test: placeRow("nor beside another doomed one"),
	},
	{
		Name: "a doomed member of two goes first", Peer: "",
		From: "return len(o.Voters()) > 2 && servesWithout(o, r)",
		To:   "return servesWithout(o, r)",
		Test: placeRow("nor in a cluster of two"),
	},
	{
		Name: "other settings wait for ever for a successor that no node takes", Peer: "kubernetes/kubernetes#116891",
		From: "d.Unplaced.Member != nil && (!isCrowdedOut(d.Unplaced) || isResizable(o, r))",
		To:   "d.Unplaced.Member != nil && false",
		Test: placeRow("other settings are not held back for it"),
	},
	{
		Name: "a member is restarted beside a doomed one whose successor may still come", Peer: "",
		From: "d.Unplaced.Member != nil && (!isCrowdedOut(d.Unplaced) || isResizable(o, r))",
		To:   "(d.Unplaced.Member != nil || r.IsVoter())",
		Test: placeRow("but for five minutes they are"),
	},
	{
		Name: "the successor of a doomed member takes the room of one that is restarted", Peer: "",
		From: "(!isCrowdedOut(d.Unplaced) || isResizable(o, r))",
		To:   "true",
		Test: placeRow("and where it would take the room of the one that is restarted"),
	},
	{
		Name: "members that run on get no other amounts beside a doomed one", Peer: "",
		From: "(!isCrowdedOut(d.Unplaced) || isResizable(o, r))",
		To:   "!isCrowdedOut(d.Unplaced)",
		Test: placeRow("but other amounts come to members that run on"),
	},
	{
		Name: "a member is restarted beside a doomed one that does not serve", Peer: "",
		From: "whyNotInPlace(o, r) == \"\" && other.IsDoomed() && o.IsServing(other)",
		To:   "whyNotInPlace(o, r) == \"\" && other.IsDoomed()",
		Test: placeRow("and as long as the doomed member does not serve"),
	},
	{
		Name: "the guard lets a doomed member go beside one that does not serve", Peer: "",
		From: "return !other.IsDoomed() && o.IsServing(other) })",
		To:   "return !other.IsDoomed() && other.IsHealthy(o.Membership) })",
		Test: placeGuardRow("one does not serve"),
	},
	{
		Name: "the guard lets a doomed member go beside another", Peer: "",
		From: "return !other.IsDoomed() && o.IsServing(other) })",
		To:   "return o.IsServing(other) })",
		Test: placeGuardRow("another one is doomed as well"),
	},
	{
		Name: "the guard lets a doomed member go while the others are a quorum", Peer: "",
		From: "if len(stay) < 2 || len(stay) < len(o.Voters())-1 {",
		To:   "if len(stay) < 2 {",
		Test: placeGuardRow("one of five does not answer"),
	},
	{
		Name: "the guard lets a doomed member of two go", Peer: "",
		From: "if len(stay) < 2 || len(stay) < len(o.Voters())-1 {",
		To:   "if len(stay) < len(o.Voters())-1 {",
		Test: placeGuardRow("one would be left"),
	},
	{
		Name: "a doomed member goes by the words of a scheduler that is not known", Peer: "",
		From: "return !learner.Pod.OtherScheduler &&",
		To:   "return true &&",
		Test: "TestWhereNoNodeTakesASuccessor/nor_by_the_words_of_a_scheduler_that_is_not_Kubernetes'_own",
	},
	{
		Name: "a doomed member goes from a node that does not get free", Peer: "",
		From: "if nodes[r.Pod.Node] {",
		To:   "if false {",
		Test: "TestWhereNoNodeTakesASuccessor/nor_where_two_members_share_a_node:_it_does_not_get_free",
	},
	{
		Name: "a successor may land beside a member that stays, since it counts the one that leaves", Peer: "",
		From: ", Leaving: o.due.leavingBeside(o)}, true",
		To:   "}, true",
		Test: "TestAMemberThatLeavesKeepsItsSuccessorFromNoNode",
	},
	{
		Name: "the operator's preference is mixed with the affinity of the spec", Peer: "",
		From: "len(in.TopologySpreadConstraints) > 0 || saysOfPods(user)",
		To:   "false",
		Test: "TestMembersPreferNodesOfTheirOwnUnlessTheSpecSaysWhichPodsTheyKeepApartFrom",
	},
	{
		Name: "a learner that a rule of spread keeps away takes the room of a member that is restarted", Peer: "",
		From: `tainted, unwilling, unselected, "didn't`,
		To:   `"topology spread", tainted, unwilling, unselected, "didn't`,
		Test: "TestWhereNoNodeTakesASuccessor/so_does_what_a_rule_of_spread_keeps_apart",
	},
	{
		Name: "what another scheduler says of a learner is taken for Kubernetes' own words", Peer: "",
		From: "return learner.Pod.OtherScheduler || len(reasons) == 0 ||",
		To:   "return len(reasons) == 0 ||",
		Test: "TestWhereNoNodeTakesASuccessor/and_what_another_scheduler_says",
	},
}
