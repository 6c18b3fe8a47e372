package main

// returns are bugs of whoever takes over what an earlier cluster left.
var returns = []mutant{
	{
		Name: "data that two clusters left is made one", Peer: "",
		From: `return "it is of more than one earlier cluster"`,
		To:   `return ""`,
		Test: row("not when it was left by two objects"),
	},
	{
		Name: "members of two cluster IDs are made one cluster", Peer: "gardener/etcd-druid#1022",
		From: `return "its volumes are of different etcd clusters"`,
		To:   `return ""`,
		Test: row("not when it is of two clusters"),
	},
	{
		Name: "members of two incarnations are made one cluster", Peer: "gardener/etcd-backup-restore#1037",
		From: `return "its volumes are of different incarnations of the cluster"`,
		To:   `return ""`,
		Test: row("not when it is of two incarnations"),
	},
	{
		Name: "data is taken over while Pods still run on it", Peer: "",
		From: "if p := takenBy(object); p != nil && !isRetained(o, object) {",
		To:   "if p := takenBy(object); p != nil && isRetained(o, object) {",
		Test: row("not while Pods of the earlier cluster are leaving"),
	},
	{
		Name: "a cluster with TLS is resumed without", Peer: "gardener/etcd-druid#420",
		From: "case slices.ContainsFunc(volumes, func(v facts.Retained) bool { return v.TLS && !o.Desired.TLS }):",
		To:   "case slices.ContainsFunc(volumes, func(v facts.Retained) bool { return v.TLS && o.Desired.TLS && false }):",
		Test: row("not without the certificates that its members had"),
	},
	{
		Name: "a resumed cluster looks for its data where a new one would put it", Peer: "coreos/etcd-operator#2110",
		From: `bootstrap.Incarnation = incarnation
	bootstrap.Restore`,
		To:   "bootstrap.Restore",
		Test: "TestAClusterThatIsResumedGoesOnWithTheIncarnationOfItsVolumes",
	},
	{
		Name: "what lies beside a living cluster stops it when its record is lost", Peer: "",
		From: "return len(o.Retained) > 0 && !o.Bootstrap.Exists() && !slices.ContainsFunc(o.Members, o.IsBootstrappedHere)",
		To:   "return len(o.Retained) > 0 && !o.Bootstrap.Exists()",
		Test: row("not even when its bootstrap record is lost"),
	},
}
