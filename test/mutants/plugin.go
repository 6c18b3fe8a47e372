package main

// plugin are bugs of the kubectl plugin.
var plugin = []mutant{
	{
		Name:    "a status that an operator left behind passes for the state of now",
		File:    "cmd/kubectl-etcd-steward/operator.go",
		From:    "case silence >= goneAfter:",
		To:      "case silence < 0:",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestThePageOfEachState",
	},
	{
		Name:    "an operator that was shut down counts as running for minutes",
		File:    "cmd/kubectl-etcd-steward/operator.go",
		From:    "case isReleased && silence >= goneAfterRelease:",
		To:      "case isReleased && silence < 0:",
		Package: "./cmd/kubectl-etcd-steward",
		Test:    "TestAnOperatorThatGaveItsLeaseBackIsGoneAsSoonAsNoOtherReplicaTakesIt",
	},
	{
		Name:    "status of a cluster that is not available succeeds",
		File:    "cmd/kubectl-etcd-steward/status.go",
		From:    "if !isAvailable(in) {",
		To:      "if !isAvailable(in) && format != \"text\" {",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestThePageOfEachState",
	},
	{
		Name:    "a backup of an earlier cluster of the name is this cluster's last one",
		File:    "cmd/kubectl-etcd-steward/summary.go",
		From:    "return b.Spec.ClusterRef.Name == c.Name && (",
		To:      "return b.Spec.ClusterRef.Name == c.Name && (true ||",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestThePageOfEachState",
	},
	{
		Name:    "a policy that refuses a backup is told as a missing right",
		File:    "cmd/kubectl-etcd-steward/errors.go",
		From:    "errors.As(err, &status) && lackOf(status) != \"\":",
		To:      "errors.As(err, &status):",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestTheRefusalOfAPolicyIsPassedOn",
	},
	{
		Name:    "a report has the environment as annotations repeat it",
		File:    "cmd/kubectl-etcd-steward/kinds.go",
		From:    "return redactedJSON(v)",
		To:      "return v",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestAReportHasWhatIsOfTheClusterAndNoSecret",
	},
	{
		Name:    "a report writes over a file",
		File:    "cmd/kubectl-etcd-steward/report.go",
		From:    "os.O_WRONLY|os.O_CREATE|os.O_EXCL",
		To:      "os.O_WRONLY|os.O_CREATE",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestAReportNeverWritesOverAFile",
	},
	{
		Name:    "a report has no bound",
		File:    "cmd/kubectl-etcd-steward/bundle.go",
		From:    "if b.size+len(text) > mostOfAll {",
		To:      "if len(text) > mostOfAll {",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestAReportIsBounded",
	},
	{
		Name:    "a backup that failed ends its wait as a success",
		File:    "cmd/kubectl-etcd-steward/backup.go",
		From:    "	if isTrue(conditions, v1alpha1.BackupFailed) {\n\t\tfailed",
		To:      "	if isTrue(conditions, v1alpha1.BackupFailed) && out == nil {\n\t\tfailed",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestWaitingForABackupTellsItsStagesAndItsEnd",
	},
	{
		Name:    "a backup goes by one of several schedules",
		File:    "cmd/kubectl-etcd-steward/backup.go",
		From:    "case len(names) == 1:",
		To:      "case len(names) > 0:",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestABackupAsksWhereToGo",
	},
	{
		Name:    "a restart is asked for by the annotation of another tool",
		File:    "cmd/kubectl-etcd-steward/restart.go",
		From:    "c.Annotations[v1alpha1.AnnotationRestartedAt] = ",
		To:      "c.Annotations[\"kubectl.kubernetes.io/restartedAt\"] = ",
		Package: "./cmd/kubectl-etcd-steward", Test: "TestARestartIsTheAnnotationThatTheOperatorReads",
	},
}
