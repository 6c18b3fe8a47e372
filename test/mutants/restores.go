package main

// restores are bugs of bootstraps that begin with a backup.
var restores = []mutant{
	{
		Name: "a volume of before says which cluster was restored", Peer: "",
		From: "recorded := facts.Filter(o.BootstrapReplicas(), facts.Replica.IsRecorded)",
		To:   "recorded := facts.Filter(o.Members, facts.Replica.IsRecorded)",
		Test: "TestWhoIsNoFirstMemberDoesNotSayWhichClusterItIs",
	},
	{
		Name: "a volume of before may say which cluster was restored", Peer: "",
		From: "return slices.Contains(o.Bootstrap.Names, r.Name) && r.Record().ClusterID == c.ClusterID",
		To:   "return r.Record().ClusterID == c.ClusterID",
		Test: "TestWhoIsNoFirstMemberDoesNotSayWhichClusterItIs",
	},
	{
		Name: "a birth whose record was lost ends with the first member that is recorded", Peer: "",
		From: "return r.IsRecorded() || r.AwaitsRecord(incarnation)",
		To:   "return r.IsRecorded()",
		Test: "TestABootstrapFromABackupWhoseRecordWasLostGoesOn",
	},
	{
		Name: "a birth goes on with members that nothing was restored for", Peer: "",
		From: "(r.IsRecorded() || r.AwaitsRecord(c.Incarnation))",
		To:   "r.Volume != nil",
		Test: "TestABootstrapFromABackupWhoseRecordWasLostGoesOn",
	},
	{
		Name: "a member that needs a person is hidden behind one that is waited for", Peer: "",
		From: "if p != nil && (gravest == nil ||\n\t\t\tgravity(p.Verdict, p.NeedsHuman) > gravity(gravest.Verdict, gravest.NeedsHuman)) {",
		To:   "if p != nil && gravest == nil {",
		Test: row("of members that are not well the one that needs a person is told"),
	},
	{
		Name: "a cluster that is to begin with a backup is born empty", Peer: "",
		From: `case origin.Hash != o.Desired.Restore.Hash || o.Desired.Restore.Fault != "":`,
		To:   `case !origin.IsZero() && origin.Hash != o.Desired.Restore.Hash || o.Desired.Restore.Fault != "":`,
		Test: "TestABootstrapBeginsWithWhatTheSpecAsksForOrNotAtAll",
	},
	{
		Name: "a backup is begun with that is larger than the quota", Peer: "rancher/rke2#4771",
		From: "return o.Desired.WhyNoRoom(origin)",
		To:   `return ""`,
		Test: "TestNothingBeginsWithMoreThanItHasRoomFor",
	},
	{
		Name: "a member that a backup is restored for is given settings without room", Peer: "",
		From: `if !c.HasRoomFor(o.Bootstrap.Origin) {`,
		To:   "if c.IsZero() {",
		Test: "TestNothingBeginsWithMoreThanItHasRoomFor",
	},
	{
		Name: "nobody looks at the backup before the birth", Peer: "",
		From: "if o.Desired.Restore.IsZero() || !isToBegin(o) {",
		To:   "if o.Desired.Restore.IsZero() || isToBegin(o) {",
		Test: row("a backup is looked at before anything is made of it"),
	},
	{
		Name: "a backup that nobody found is begun with", Peer: "",
		From: "case p == nil || !p.HasSucceeded() || p.Found != origin:",
		To:   "case p != nil && !p.HasSucceeded():",
		Test: "TestABootstrapBeginsWithWhatTheSpecAsksForOrNotAtAll",
	},
	{
		Name: "members start while others are still to be restored", Peer: "",
		From: "if r.Pod == nil && isReadyToStart(o) {",
		To:   "if r.Pod == nil && o.IsFilled(r) {",
		Test: row("who is restored waits for the others"),
	},
	{
		Name: "members start before it is written down that their data lies there", Peer: "",
		From: `return o.Bootstrap.Origin.IsZero() ||
		!slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool {
			return isToRestore(o.Incarnation, r) || r.Restoring != nil && !isLeftBehind(o, r)
		})`,
		To: "return o.Bootstrap.Origin.IsZero() || !slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool " +
			"{ return r.Restoring != nil && !r.Restoring.HasSucceeded() })",
		Test: "TestNothingOfARestoreIsLostOrStartsEmptyInEverySmallWorld",
	},
	{
		Name: "a first member starts empty before its volume is restored", Peer: "",
		From: "case !o.IsFilled(r):\n\t\treturn dataAtRisk(\"the backup that",
		To:   "case !o.IsFilled(r) && r.Volume == nil:\n\t\treturn dataAtRisk(\"the backup that",
		Test: "TestAFirstMemberStartsOnlyWithTheDataThatItsClusterBeginsWith",
	},
	{
		Name: "restored members start as at birth: an emptied volume is an empty cluster", Peer: "rancher/k3k#836",
		From: `if r.IsRestored() {
		return changes.Start{Name: r.Name, Flags: facts.FlagsSealed, Settings: bootstrapSettings(o.Observation, r)}`,
		To: `if r.IsRestored() {
		return changes.Start{Name: r.Name, Flags: facts.FlagsBootstrap, Settings: bootstrapSettings(o.Observation, r)}`,
		Test: "TestAMemberOfAClusterThatBeginsWithABackupNeverStartsEmpty",
	},
	{
		Name: "what was restored in another incarnation counts", Peer: "",
		From: "isOfThisIncarnation := r.IsRestored() && r.Volume.Incarnation == o.Bootstrap.Incarnation && !o.Bootstrap.Void",
		To:   "isOfThisIncarnation := r.IsRestored() && !o.Bootstrap.Void",
		Test: "TestAFirstMemberStartsOnlyWithTheDataThatItsClusterBeginsWith",
	},
	{
		Name: "a member that was restored gets clients before its copy is compared", Peer: "",
		From: "r.Pod.Terminating || isUncompared(r) || servesNothing(r)",
		To:   "r.Pod.Terminating || servesNothing(r)",
		Test: "TestARestoredMemberIsComparedOnceItIsRecorded",
	},
	{
		Name: "a restore that did not end is called done", Peer: "",
		From: "case pod.HasSucceeded() && !r.IsRestored():",
		To:   "case !pod.HasFailed() && !r.IsRestored():",
		Test: row("restores are waited for"),
	},
	{
		Name: "a restored birth that answers is given up for another wish", Peer: "",
		From: "func HasWrites(r Replica) bool { return r.Answer != nil && r.Answer.Revision > 1 }",
		To:   "func HasWrites(r Replica) bool { return r.Answer != nil && r.Answer.Revision > 1 && !r.IsRestored() }",
		Test: row("a restored birth that answers is never voided"),
	},
	{
		Name: "a wish that changes gives up a birth that a quorum has started", Peer: "",
		From: "if len(started(o)) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {",
		To:   "if len(started(o)) >= etcdutil.Quorum(len(o.Bootstrap.Names)) && o.IsAlive() {",
		Test: row("not when a quorum has started"),
	},
	{
		Name: "volumes go while restore Pods still write to them", Peer: "",
		From: "for _, step := range []func(pass) *proposal{voidPods, voidRestores, voidVolumes} {",
		To:   "for _, step := range []func(pass) *proposal{voidPods, voidVolumes, voidRestores} {",
		Test: row("restore Pods of a bootstrap that was given up go before its volumes"),
	},
	{
		Name: "a backup is restored with the tools of another minor version", Peer: "",
		From: "if !origin.IsZero() && !origin.Version.SameMinor(c.Version) ||",
		To:   "if !origin.IsZero() && origin.Version.IsZero() ||",
		Test: row("one of another minor version as well"),
	},
	{
		Name: "a backup with authentication on is begun with where there are no certificates", Peer: "",
		From: "case origin.AuthEnabled && !o.Desired.Transport.HasCertificates():",
		To:   "case origin.AuthEnabled && !o.Desired.Transport.HasCertificates() && o.IsAlive():",
		Test: row("and nowhere else"),
	},
	{
		Name: "a backup that is none is looked at for ever", Peer: "",
		From: "return !isFinal(t) && now.Sub(t.Finished) >= min(max(tried/4, leastRest), longestRest)",
		To:   "return now.Sub(t.Finished) >= min(max(tried/4, leastRest), longestRest)",
		Test: row("what stays as it is is not looked at again"),
	},
	{
		Name: "a store that does not answer is not asked again", Peer: "",
		From: "func isFinal(t facts.Task) bool { return slices.Contains(final, t.Reason) }",
		To:   `func isFinal(t facts.Task) bool { return t.Failure != "" }`,
		Test: row("a store that does not answer is asked again"),
	},
	{
		Name: "a restore that waits for a Secret does not say for which", Peer: "",
		From: `if pod.Spec.NodeName == "" || pod.Status.Phase`,
		To:   `if pod.Spec.NodeName != "" || pod.Status.Phase`,
		Test: "TestAPodOfARestoreThatDoesNotStartIsAskedWhyAndOneThatFetchesHowFarItIs",
	},
	{
		Name: "the alarm that space ran out is taken back while there is none",
		Peer: "gardener/etcd-backup-restore#531",
		From: "if !o.HasRoom() {",
		To:   "if !o.Membership.Known {",
		Test: "TestNoAlarmIsTakenBackButThatOfSpaceWhereThereIsRoom",
	},
	{
		Name: "an alarm of a member that is gone is never taken back", Peer: "etcd-io/etcd-operator#474",
		From: "all = append(all, r.Answer.Alarms...)",
		To:   "all = append(all, Filter(r.Answer.Alarms, func(a Alarm) bool { return a.Name == AlarmCorrupt })...)",
		Test: row("an alarm of space is taken back where there is room"),
	},
	{
		Name: "a cluster whose authentication keeps the operator out does not say so", Peer: "",
		From: "denied || etcd.IsAuth(err)",
		To:   "denied",
		Test: "TestMembership",
	},
	{
		Name: "a Pod on a node that died keeps restored members from being waited for", Peer: "",
		From: "r.Restoring != nil && !isLeftBehind(o, r) })",
		To:   "r.Restoring != nil })",
		Test: row("nor are the others waited for because of it"),
	},
	{
		Name: "a Pod on a node that died keeps restored members from starting", Peer: "",
		From: "isToRestore(o.Incarnation, r) || r.Restoring != nil && !isLeftBehind(o, r)",
		To:   "isToRestore(o.Incarnation, r) || r.Restoring != nil",
		Test: row("a restore Pod on a node that died keeps no member from starting"),
	},
	{
		Name: "the guard lets a member start beside a Pod that may still restore its volume", Peer: "",
		From: "r.Restoring != nil && !(r.IsRestored() && r.Restoring.Terminating)",
		To:   "r.Restoring != nil && !r.IsRestored()",
		Test: "TestAFirstMemberStartsOnlyOnceNothingRestoresItsVolume",
	},
}
