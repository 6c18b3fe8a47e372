package main

// network are bugs of who may connect to members and to the operator.
var network = []mutant{
	{
		Name: "a list of no readers of metrics lets everybody read them", Peer: "",
		From: "if len(spec.Metrics) > 0 {", To: "if true {",
		Test: "TestTheNetworkPolicyLetsInWhatTheClusterLivesByAndWhoIsAskedForAndNoOther",
	},
	{
		Name: "the operator is shut out of the clusters that it looks after", Peer: "",
		From: "{members, tasksWithMembers(c), operatorIn(operator)}", To: "{members, tasksWithMembers(c)}",
		Test: "TestTheNetworkPolicyLetsInWhatTheClusterLivesByAndWhoIsAskedForAndNoOther",
	},
	{
		Name: "a network policy stays after the spec asks for none", Peer: "",
		From: "if !isWanted && policy.State != facts.ObjectDrifted {", To: "if !isWanted {",
		Test: "TestObject/a_NetworkPolicy_that_the_spec_asks_for_no_more_has_drifted",
	},
	{
		Name: "metrics are served over HTTP/2", Peer: "",
		From: `[]string{"http/1.1"}`, To: `[]string{"h2", "http/1.1"}`,
		Test: "TestWhoTrustsTheCAReadsMetricsOverHTTP1AndWhoDoesNotRefuses",
	},
	{
		Name: "a replica that lost the race for the CA of metrics has no certificate", Peer: "",
		From: "secret, err = s.makeCA(ctx, now); apierrors.IsAlreadyExists(err) {",
		To:   "secret, err = s.makeCA(ctx, now); false {",
		Test: "TestOfTwoReplicasThatMakeTheCATheFirstWins",
	},
}
