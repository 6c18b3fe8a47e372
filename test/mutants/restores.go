package main

// restores are bugs of births that begin with a backup.
var restores = []mutant{
	{
		Name: "a cluster that is to begin with a backup is born empty", Peer: "",
		File:    "controllers/plan/guard/restore.go",
		From:    `case origin.Hash != o.Desired.Restore.Hash || o.Desired.Restore.Fault != "":`,
		To:      `case !origin.IsZero() && origin.Hash != o.Desired.Restore.Hash || o.Desired.Restore.Fault != "":`,
		Package: planPackage, Test: "TestABirthBeginsWithWhatTheSpecAsksForOrNotAtAll",
	},
	{
		Name: "nobody looks at the backup before the birth", Peer: "",
		File:    "controllers/plan/restore.go",
		From:    "if o.Desired.Restore.IsZero() || !isToBegin(o) {",
		To:      "if o.Desired.Restore.IsZero() || isToBegin(o) {",
		Package: planPackage, Test: row("a backup is looked at before anything is made of it"),
	},
	{
		Name: "a backup that nobody found is begun with", Peer: "",
		File:    "controllers/plan/guard/restore.go",
		From:    "case p == nil || !p.HasSucceeded() || p.Found != origin:",
		To:      "case p != nil && !p.HasSucceeded():",
		Package: planPackage, Test: "TestABirthBeginsWithWhatTheSpecAsksForOrNotAtAll",
	},
	{
		Name: "members start while others are still to be restored", Peer: "",
		File:    "controllers/plan/bootstrap.go",
		From:    "if r.Pod == nil && isReadyToStart(o) {",
		To:      "if r.Pod == nil && o.IsFilled(r) {",
		Package: planPackage, Test: row("who is restored waits for the others"),
	},
	{
		Name: "members start before it is written down that their data lies there", Peer: "",
		File: "controllers/plan/bootstrap.go",
		From: `return o.Birth.Origin.IsZero() ||
		!slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool {
			return isToRestore(o.Incarnation, r) ||
				r.Restoring != nil
		})`,
		To: "return o.Birth.Origin.IsZero() || !slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool " +
			"{ return r.Restoring != nil && !r.Restoring.HasSucceeded() })",
		Package: planPackage, Test: "TestNothingOfARestoreIsLostOrStartsEmptyInEverySmallWorld",
	},
	{
		Name: "a first member starts empty before its volume is restored", Peer: "",
		File:    "controllers/plan/guard/restore.go",
		From:    "case !o.IsFilled(r):",
		To:      "case !o.IsFilled(r) && r.Volume == nil:",
		Package: planPackage, Test: "TestAFirstMemberStartsOnlyWithTheDataThatItsClusterBeginsWith",
	},
	{
		Name: "restored members start as at birth: an emptied volume is an empty cluster", Peer: "rancher/k3k#836",
		File: "controllers/plan/bootstrap.go",
		From: `if r.IsRestored() {
		return changes.Start{Name: r.Name, Flags: facts.FlagsRestored, Choices: birthChoices(o.Observation, r)}`,
		To: `if r.IsRestored() {
		return changes.Start{Name: r.Name, Flags: facts.FlagsBirth, Choices: birthChoices(o.Observation, r)}`,
		Package: planPackage, Test: "TestAMemberOfAClusterThatBeginsWithABackupNeverStartsEmpty",
	},
	{
		Name: "what was restored in another incarnation counts", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "isOfThisIncarnation := r.IsRestored() && r.Volume.Incarnation == o.Birth.Incarnation && !o.Birth.Void",
		To:      "isOfThisIncarnation := r.IsRestored() && !o.Birth.Void",
		Package: planPackage, Test: "TestAFirstMemberStartsOnlyWithTheDataThatItsClusterBeginsWith",
	},
	{
		Name: "a member that was restored never compares its data", Peer: "",
		File:    "controllers/plan/blind.go",
		From:    "return r.IsRecorded() && r.IsUp() && !r.Pod.HasEnded() && r.Pod.Flags != facts.FlagsSealed",
		To:      "return r.IsRecorded() && r.IsUp() && !r.Pod.HasEnded() && !r.Pod.Flags.NeedData()",
		Package: planPackage, Test: "TestARestoredMemberIsSealedOnceItIsRecordedAndComparesItsDataFromThenOn",
	},
	{
		Name: "a restore that did not end is called done", Peer: "",
		File:    "controllers/plan/restore.go",
		From:    "case pod.HasSucceeded() && !r.IsRestored():",
		To:      "case !pod.HasFailed() && !r.IsRestored():",
		Package: planPackage, Test: row("restores are waited for"),
	},
	{
		Name: "a restored birth that answers is given up for another wish", Peer: "",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "func HasWrites(r Replica) bool { return r.Answer != nil && r.Answer.Revision > 1 }",
		To:      "func HasWrites(r Replica) bool { return r.Answer != nil && r.Answer.Revision > 1 && !r.IsRestored() }",
		Package: planPackage, Test: row("a restored birth that answers is never voided"),
	},
	{
		Name: "a wish that changes gives up a birth that a quorum has started", Peer: "",
		File:    "controllers/plan/void.go",
		From:    "if len(started(o)) >= etcdutil.Quorum(len(o.Birth.Names)) {",
		To:      "if len(started(o)) >= etcdutil.Quorum(len(o.Birth.Names)) && o.IsAlive() {",
		Package: planPackage, Test: row("not when a quorum has started"),
	},
	{
		Name: "volumes go while restore Pods still write to them", Peer: "",
		File:    "controllers/plan/void.go",
		From:    "for _, step := range []func(judge.View) *proposal{voidPods, voidRestores, voidVolumes} {",
		To:      "for _, step := range []func(judge.View) *proposal{voidPods, voidVolumes, voidRestores} {",
		Package: planPackage, Test: row("restore Pods of a birth that was given up go before its volumes"),
	},
	{
		Name: "a backup is restored with the tools of another minor version", Peer: "",
		File:    "controllers/plan/birth.go",
		From:    "if origin := o.Birth.Origin; !origin.IsZero() && !origin.Version.SameMinor(c.Version) {",
		To:      "if origin := o.Birth.Origin; !origin.IsZero() && origin.Version.IsZero() {",
		Package: planPackage, Test: row("one of another minor version as well"),
	},
	{
		Name: "a backup with authentication on is begun with where there are no certificates", Peer: "",
		File:    "controllers/plan/facts/restore.go",
		From:    "case origin.AuthEnabled && !o.Desired.TLS:",
		To:      "case origin.AuthEnabled && !o.Desired.TLS && o.IsAlive():",
		Package: planPackage, Test: row("and nowhere else"),
	},
	{
		Name: "a backup that is none is looked at for ever", Peer: "",
		File:    "controllers/plan/task.go",
		From:    "return !isFinal(t) && now.Sub(t.Finished) >= min(max(tried/4, leastRest), longestRest)",
		To:      "return now.Sub(t.Finished) >= min(max(tried/4, leastRest), longestRest)",
		Package: planPackage, Test: row("what stays as it is is not looked at again"),
	},
	{
		Name: "a store that does not answer is not asked again", Peer: "",
		File:    "controllers/plan/task.go",
		From:    "func isFinal(t facts.Task) bool { return slices.Contains(final, t.Reason) }",
		To:      `func isFinal(t facts.Task) bool { return t.Failure != "" }`,
		Package: planPackage, Test: row("a store that does not answer is asked again"),
	},
	{
		Name: "a restore that waits for a Secret does not say for which", Peer: "",
		File:    "controllers/observe/tasks.go",
		From:    "task := taskOf(pod, told{})\n\tstartsNothing := pod.Spec.NodeName != \"\" && ",
		To:      "task := taskOf(pod, told{})\n\tstartsNothing := pod.Spec.NodeName == \"\" && ",
		Package: "./controllers/observe",
		Test:    "TestAPodOfARestoreThatDoesNotStartIsAskedWhyAndOneThatFetchesHowFarItIs",
	},
	{
		Name:    "the alarm that space ran out is taken back while there is none",
		Peer:    "gardener/etcd-backup-restore#531",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if !o.HasRoom() {",
		To:      "if !o.Membership.Known {",
		Package: planPackage, Test: "TestNoAlarmIsTakenBackButThatOfSpaceWhereThereIsRoom",
	},
	{
		Name: "an alarm of a member that is gone is never taken back", Peer: "etcd-io/etcd-operator#474",
		File:    "controllers/plan/facts/alarms.go",
		From:    "all = append(all, r.Answer.Alarms...)",
		To:      "all = append(all, Filter(r.Answer.Alarms, func(a Alarm) bool { return a.Name == AlarmCorrupt })...)",
		Package: planPackage, Test: row("an alarm of space is taken back where there is room"),
	},
	{
		Name: "a cluster whose authentication keeps the operator out does not say so", Peer: "",
		File:    "controllers/observe/membership.go",
		From:    "denied || etcd.IsAuth(err)",
		To:      "denied",
		Package: "./controllers/observe", Test: "TestMembership",
	},
}
