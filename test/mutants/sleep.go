package main

// sleep are bugs of a cluster whose size is 0.
var sleep = []mutant{
	{
		Name: "the guard lets a cluster sleep that its spec asks for", Peer: "",
		From: `func guardSleep(o facts.View) Veto {
	if !o.Desired.Sleep {`,
		To: `func guardSleep(o facts.View) Veto {
	if false {`,
		Test: guardRow("a cluster that sleeps although its spec asks for members"),
	},
	{
		Name: "the guard lets members stop before it is written down that they sleep", Peer: "",
		From: "if !o.Bootstrap.Asleep {\n\t\treturn quorumAtRisk(",
		To:   "if false {\n\t\treturn quorumAtRisk(",
		Test: guardRow("a member that stops before it is written down"),
	},
	{
		Name: "the guard lets a member stop whose data goes with its Pod", Peer: "",
		From: "return dataAtRisk(\"what %s holds is not written down on a volume that stays.\", r.Name)",
		To:   "return Veto{}",
		Test: guardRow("a member that stops with its data"),
	},
	{
		Name: "the guard calls a cluster awake that does not answer", Peer: "",
		From: "if o.Desired.Sleep || !o.HasQuorum() {",
		To:   "if o.Desired.Sleep {",
		Test: guardRow("a cluster that is awake without a quorum"),
	},
	{
		Name: "the guard lets a cluster sleep in the middle of a restore", Peer: "",
		From: "case !o.Bootstrap.Next.IsZero():\n\t\treturn incarnationAtRisk(\"a restore in place prepares another incarnation.\")",
		To:   "case false:",
		Test: guardRow("a cluster that sleeps in the middle of a restore"),
	},
	{
		Name: "members are started while the cluster sleeps", Peer: "",
		From: "func hasRecord(o pass) bool { return o.Bootstrap.Exists() && !o.IsAsleep() }",
		To:   "func hasRecord(o pass) bool { return o.Bootstrap.Exists() }",
		Test: row("then nothing is done any more"),
	},
	{
		Name: "a size of 0 shrinks the cluster", Peer: "",
		From: "o.Desired.Sleep, o.Desired.Size = true, size",
		To:   "o.Desired.Sleep, o.Desired.Size = true, 0",
		Test: row("a backup that reads ends first, and no member is one too many"),
	},
	{
		Name: "a size of 0 leaves a member without a successor", Peer: "",
		From: "size |= 1\n",
		To:   "",
		Test: row("the only one is succeeded first"),
	},
	{
		Name: "of three copies only one goes to sleep", Peer: "",
		From: "size = max(size, 3)",
		To:   "",
		Test: row("two of three are succeeded before they leave: as many copies sleep as there were"),
	},
	{
		Name: "a lost quorum sleeps, and no one is told", Peer: "",
		From: "case quorumState(o) == QuorumLost:\n\t\treturn \"too many members have lost their data\"",
		To:   "case false:",
		Test: row("a lost quorum does not hide in sleep"),
	},
	{
		Name: "a record that is written anew forgets that the cluster sleeps", Peer: "",
		From: "bootstrap.Asleep = o.Desired.Sleep && !slices.ContainsFunc(o.Members, facts.Replica.IsUp)",
		To:   "bootstrap.Asleep = false",
		Test: "TestALostRecordIsWrittenAnewAsleepOnlyWhereNothingRuns",
	},
	{
		Name: "a cluster that sleeps is called degraded, and alerts fire for that", Peer: "",
		From: "case isAsleep(in.Observation):\n\t\treturn asleep()",
		To:   "case false:",
		Test: "TestAClusterThatSleepsIsAtRestAndItsStatusIsWrittenOnce",
	},
	{
		Name: "backups of a cluster that sleeps are begun, and fail", Peer: "",
		From: "if !v.Cluster.Asleep {",
		To:   "if true {",
		Test: "TestNoBackupOfAClusterThatSleepsBeginsAndAfterwardsOneMakesUpForThose",
	},
	{
		Name: "a cluster that never served sleeps, and could not wake", Peer: "",
		From: "if b.Incarnation != incarnation || b.ClusterID == 0 || b.Void || !b.Next.IsZero() {",
		To:   "if b.Incarnation != incarnation || b.Void || !b.Next.IsZero() {",
		Test: "TestAnEditFindsTheRecordThatItsCallerSawOrChangesNothing",
	},
	{
		Name: "a quorum that is lost asleep is told only once the cluster wakes", Peer: "",
		From: "asleep, mayYield},\n\truleQuorumLost,\n}",
		To:   "asleep, mayYield},\n}",
		Test: row("a quorum that is lost asleep is told at once"),
	},
	{
		Name: "a cluster that is yet to fall asleep is called healthy without a member", Peer: "",
		From: "cmp.Or(o.Desired.Size, len(o.Current.Voters()))",
		To:   "cmp.Or(o.Desired.Size, 0)",
		Test: "TestAClusterThatIsYetToFallAsleepIsDegradedWhereAMemberIsAway",
	},
	{
		Name: "data in Pods counts as data that can sleep, and each successor makes the size larger by one", Peer: "",
		From: "return !r.IsDoomed() && !r.Ephemeral }))",
		To:   "return !r.IsDoomed() }))",
		Test: row("a member leaves its Pod once another one votes on a volume, and no further one is added"),
	},
	{
		Name: "data in Pods waits for a window before the cluster can sleep", Peer: "",
		From: "isAskedNow := isAskedToGo(o, r) || o.Desired.Sleep && r.Ephemeral",
		To:   "isAskedNow := isAskedToGo(o, r)",
		Test: row("they wait for no window"),
	},
	{
		Name: "a cluster that cannot sleep yet does not say that its data is in Pods", Peer: "",
		From: "case r.Pod != nil && r.Ephemeral:",
		To:   "case false:",
		Test: "TestAClusterThatIsToSleepSaysWhoseDataIsInItsPod",
	},
}
