package main

// plugin are bugs of the kubectl plugin.
var plugin = []mutant{
	{
		Name: "a status that an operator left behind passes for the state of now",
		From: "case silence >= goneAfter:",
		To:   "case silence < 0:",
		Test: "TestThePageOfEachState",
	},
	{
		Name: "an operator that was shut down counts as running for minutes",
		From: "case isReleased && silence >= goneAfterRelease:",
		To:   "case isReleased && silence < 0:",
		Test: "TestAnOperatorThatGaveItsLeaseBackIsGoneAsSoonAsNoOtherReplicaTakesIt",
	},
	{
		Name: "status of a cluster that is not available succeeds",
		From: "if !p.Available {",
		To:   "if !p.Available && len(p.Members) == 0 {",
		Test: "TestThePageOfEachState",
	},
	{
		Name: "a backup of an earlier cluster of the name is this cluster's last one",
		From: "return !b.CreationTimestamp.Before(&c.CreationTimestamp) ||",
		To:   "return true || !b.CreationTimestamp.Before(&c.CreationTimestamp) ||",
		Test: "TestThePageOfEachState",
	},
	{
		Name: "a policy that refuses a backup is told as a missing right",
		From: "if found == nil {\n\t\treturn \"\", \"\"\n\t}\n\treturn found[1]",
		To:   "if found == nil {\n\t\treturn \"use\", \"it\"\n\t}\n\treturn found[1]",
		Test: "TestTheRefusalOfAPolicyIsPassedOn",
	},
	{
		Name: "a report has the environment as annotations repeat it",
		From: "return redactedJSON(v)",
		To:   "return v",
		Test: "TestAReportHasWhatIsOfTheClusterAndNoSecret",
	},
	{
		Name: "a report writes over a file",
		From: "os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // as its user asks",
		To:   "os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600) //nolint:gosec // as its user asks",
		Test: "TestAReportNeverWritesOverAFile",
	},
	{
		Name: "a report has no bound",
		From: "if b.size+len(text) > mostOfAll {",
		To:   "if len(text) > mostOfAll {",
		Test: "TestAReportIsBounded",
	},
	{
		Name: "a backup that failed ends its wait as a success",
		From: "	if isTrue(conditions, v1alpha1.BackupFailed) {\n\t\tfailed",
		To:   "	if isTrue(conditions, v1alpha1.BackupFailed) && out == nil {\n\t\tfailed",
		Test: "TestWaitingForABackupTellsItsStagesAndItsEnd",
	},
	{
		Name: "a backup goes by one of several schedules",
		From: "case len(names) == 1:",
		To:   "case len(names) > 0:",
		Test: "TestABackupAsksWhereToGo",
	},
	{
		Name: "a restart is asked for by the annotation of another tool",
		From: "s.askByTime(ctx, name, v1alpha1.AnnotationRestartedAt)",
		To:   "s.askByTime(ctx, name, \"kubectl.kubernetes.io/restartedAt\")",
		Test: "TestARestartIsTheAnnotationThatTheOperatorReads",
	},
}
