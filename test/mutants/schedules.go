package main

// schedules are bugs of what is done beside making backups.
var schedules = []mutant{
	{
		Name: "the backups of a schedule do not get what the cluster passes on", Peer: "",
		From: "resources.DressingOf(cluster, b).Put(b)",
		To:   "_ = resources.DressingOf(cluster, b)",
		Test: "TestTheBackupsOfAScheduleHaveTheMetadataThatTheClusterPassesOn",
	},
	{
		Name: "an empty store, such as a volume that is not mounted, makes EtcdBackups go", Peer: "",
		From: "if err != nil || said.Kept == 0 || said.Newest == nil {",
		To:   "if err != nil {",
		Test: "TestNoEtcdBackupIsDeletedOnTheWordOfAnEmptyStore",
	},
	{
		Name: "EtcdBackups of another store go by the word of this one", Peer: "",
		From: "if _, ok := v.timeOf(run); ok && run.State == RunComplete && run.SameStore && run.Name != newest &&",
		To:   "if _, ok := v.timeOf(run); ok && run.State == RunComplete && run.Name != newest &&",
		Test: "TestOnlyWhatLiesInTheStoreOfNowIsAskedFor",
	},
	{
		Name: "what is being restored is pruned beside it", Peer: "",
		From: "return !v.isBusy() && ",
		To:   "return ",
		Test: "TestInAnyOrderOfEventsRetentionAndTestRestoresComeToTheSameEnd",
	},
	{
		Name: "what came of pruning is written down before the EtcdBackups are gone", Peer: "",
		From: "job != nil && deletePruned(v) == nil {",
		To:   "job != nil {",
		Test: "TestEtcdBackupsThatMayNotBeDeletedYetAreNotForgotten",
	},
	{
		Name: "retention that fails is tried in a loop", Peer: "",
		From: "!at.After(v.Pruned.At) || ",
		To:   "!at.After(v.Pruned.For) || ",
		Test: "TestRetentionThatFailsIsSaidAndKeepsNoBackupFromBeingMade",
	},
	{
		Name: "a test restore that failed counts as proof", Peer: "",
		From: "if o.Tested.For.After(due) && !o.Tested.For.After(o.Now) {\n\t\tdue = o.Tested.For",
		To:   "if o.Tested.At.After(due) {\n\t\tdue = o.Tested.At",
		Test: "TestATestRestoreIsMadeWhenItIsTimeAndTellsWhatIsProven",
	},
	{
		Name: "a Job that the platform refuses keeps backups from being made", Peer: "",
		From: "if d.Change != nil || d.Ignored {",
		To: "if chores := v.chores(); len(chores) > 0 && !d.Ignored {\n\t\td.Change, d.Chores = nil, " +
			"chores\n\t\treturn d\n\t}\n\tif d.Change != nil || d.Ignored {",
		Test: "TestAChoreThatIsRefusedKeepsNoBackupFromBeingMade",
	},
	{
		Name: "a run whose EtcdBackup retention deleted is made again", Peer: "",
		From: "for _, t := range []time.Time{o.latest(), o.recorded()} {\n\t\tif t.After(considered) {",
		To:   "for _, t := range []time.Time{o.latest()} {\n\t\tif t.After(considered) {",
		Test: "TestInAnyOrderOfEventsNoRunIsMadeTwiceOrBesideAnotherAndTheNewestIsMadeUpFor",
	},
	{
		Name: "whoever forbids to touch a Job that ended has the last word on the backup", Peer: "",
		From: "if decision.Outcome != nil {\n\t\treturn",
		To:   "if decision.Outcome != nil && decision.Change == nil {\n\t\treturn",
		Test: "TestAJobThatMayNotBeTouchedKeepsNoBackupFromBeingToldAndIsLeftAloneForAWhile",
	},
	{
		Name: "backups are written beside a member's data", Peer: "",
		From: "if o.Backup.ClaimOf == \"\" {",
		To:   "if o.Backup.ClaimOf == \"\" || o.Cluster.Exists {",
		Test: "TestAMembersOwnVolumeIsNeverAStore",
	},
	{
		Name: "one look while the clock is behind marks good runs for good", Peer: "",
		From: "case since >= clockSlack:",
		To:   "case since >= 0:",
		Test: "TestAClockThatIsBehindForAMomentMarksNoRun",
	},
	{
		Name: "a run that was made while the clock ran ahead stands for the run of its time", Peer: "",
		From: "ok && !run.Ahead && fits(run)",
		To:   "ok && fits(run)",
		Test: "TestAClockThatRanADayAheadLeavesNoRunOut",
	},
	{
		Name: "a record of the future is believed once its time has come", Peer: "",
		From: "isAhead := v.Schedule.Recorded.Sub(v.Now) > clockSlack; !isAhead",
		To:   "isAhead := false; !isAhead",
		Test: "TestAClockThatRanADayAheadLeavesNoRunOut",
	},
	{
		Name: "a schedule that was created while the clock ran ahead waits for that time", Peer: "",
		From: "if created.Sub(o.Now) > clockSlack {",
		To:   "if false {",
		Test: "TestAScheduleThatWasCreatedWhileTheClockRanAheadWaitsForNothing",
	},
	{
		Name: "retention removes backups while test restores fail", Peer: "",
		From: "KeepAll: v.isProofMissing() || ",
		To:   "KeepAll: ",
		Test: "TestWhileTestRestoresFailNoBackupIsRemoved",
	},
	{
		Name: "retention removes what was last proven", Peer: "",
		From: "Held: v.lastProven(),",
		To:   "Held: nil,",
		Test: "TestWhatATestRestoreProvedLastStaysBesideNewerOnes",
	},
	{
		Name: "the Job of a paused retention gets the rules", Peer: "",
		From: "if !p.KeepAll {",
		To:   "if true {",
		Test: "TestWhileATestRestoreFailedTheJobOfRetentionGetsNoRule",
	},
	{
		Name: "what an EtcdRestore waits to restore is pruned", Peer: "",
		From: "if incarnations.cameOf(observe.RequestID(restore)) {",
		To:   "if true {",
		Test: "TestWhatIsToBeRestoredIsHeldUntilItIs",
	},
	{
		Name: "a backup takes one snapshot after the other for an image without etcdutl", Peer: "",
		From: "jobFinished, etcdutlMissing, jobOverdue",
		To:   "jobFinished, jobOverdue",
		Test: "TestNext/an_image_without_etcdutl_ends_the_backup_with_its_first_attempt",
	},
	{
		Name: "the Job of a backup that failed without etcdutl goes on", Peer: "",
		From: "o.Job.End == JobRuns && reason == ReasonEtcdutlMissing:",
		To:   "o.Job.End == JobRuns && reason == \"\":",
		Test: "TestNext/a_Job_that_would_try_an_image_without_etcdutl_again_is_ended",
	},
	{
		Name: "a damaged record keeps a schedule waiting for good", Peer: "",
		From: "if o.Now.Before(end) {",
		To:   "if !end.IsZero() {",
		Test: "TestARecordThatCannotBeReadStopsABackupAndIsSaid",
	},
	{
		Name: "a backup of an earlier cluster counts as one of this",
		From: "if !b.Time.Before(n.created) && ",
		To:   "if ",
		Test: "TestTheNewestProvenBackupOfThisVeryClusterIsSeen",
	},
	{
		Name: "a late schedule hides behind a proven backup",
		From: "isEnough := o.Proven != nil && isSaid; late",
		To:   "isEnough := o.Proven != nil; late",
		Test: "TestAClusterSaysHowItIsBackedUp",
	},
	{
		Name: "a status is written again for the zone of a proven backup's time", Peer: "",
		From: "old != nil && old.Time.Equal(&shown.Time)",
		To:   "old != nil && shown == nil",
		Test: "TestAProvenBackupIsNotWrittenAgainForTheZoneOfItsTime",
	},
}
