package main

// passes are bugs of a pass over a cluster: when it may change etcd, what it believes, what it tells, and how fast it
// goes on.
var passes = []mutant{
	{
		Name: "a change that moves nothing is told each time", Peer: "",
		From: "!in.Outcome.Applied || in.Outcome.Rejected", To: "!in.Outcome.Applied",
		Test: "TestAChangeThatTheAPIServerDropsIsToldOnceAndTriedMoreAndMoreSlowly",
	},
	{
		Name: "a cluster begins empty over CAs without a person", Peer: "",
		From: "!o.IsOverRetained() || o.BeginsEmpty() {",
		To:   "!o.IsOverRetained() || o.DataLeft() == \"\" {",
		Test: row("CAs without a volume keep a cluster from being made, and the message names the way on"),
	},
	{
		Name: "a cluster begins empty although there is a backup", Peer: "",
		From: "return o.BackupLeft",
		To:   "return \"\"",
		Test: row("nor where there is a backup"),
	},
	{
		Name: "a cluster begins empty again because it once was asked to", Peer: "",
		From: "return r.Owner != o.Desired.BeginEmpty }",
		To:   "return o.Desired.BeginEmpty == \"\" }",
		Test: "TestAClusterBeginsEmptyOnce",
	},
	{
		Name: "CAs are taken over before the empty cluster is written down", Peer: "",
		From: "o.BeginsEmpty() && o.Bootstrap.Exists() && !o.IsAlive()",
		To:   "o.BeginsEmpty() && !o.IsAlive()",
		Test: guardRow("CAs before the empty cluster is written down"),
	},
	{
		Name: "an install that is gone leaves its clusters alone in silence", Peer: "",
		From: "if o.IsKeeperGone() {",
		To:   "if o.IsKeeperGone() && o.ClaimedBy == \"\" {",
		Test: "TestAnInstallThatLooksAfterAClusterNoMoreIsTold",
	},
	{
		Name: "two installs write the status of one cluster", Peer: "",
		From: "if o.IsKeeperGone() {",
		To:   "if o.ClaimedBy != \"\" {",
		Test: "TestAnInstallThatLooksAfterAClusterNoMoreIsTold",
	},
	{
		Name: "an install acts as soon as it has the claim of another", Peer: "",
		From: "o.Now.Before(o.TakenOver.Add(claimRests))",
		To:   "o.Now.Before(o.TakenOver)",
		Test: row("what was taken over waits until the other install has ended its pass"),
	},
	{
		Name: "a take-over that a wrong clock dated keeps the cluster from being looked after", Peer: "",
		From: "case o.TakenOver.After(o.Now.Add(claimRests)):",
		To:   "case o.TakenOver.IsZero() && o.Now.IsZero():",
		Test: row("a take-over that is still to come, by a clock that was ahead, is dated anew"),
	},
	{
		Name: "a cluster is taken from an install of which nothing is known", Peer: "",
		From: "case isAsked && o.Keeping.Known:",
		To:   "case isAsked && o.ClaimedBy != us:",
		Test: row("nothing is taken over from an install of which nothing is known"),
	},
	{
		Name: "of two installs that find no claim both act", Peer: "",
		From: "case o.ClaimedBy == \"\" && o.Bootstrap.Exists():",
		To:   "case o.ClaimedBy == \"\" && o.Bootstrap.Void:",
		Test: row("a cluster that no install claims is claimed first"),
	},
	{
		Name: "a Lease that cannot be read counts as none", Peer: "",
		From: "return facts.Lease{Why: err.Error()}",
		To:   "return facts.Lease{Known: true}",
		Test: "TestTheLeaseOfAnotherInstallIsDatedByTheAPIServer",
	},
	{
		Name: "the guard lets any install take a cluster over", Peer: "",
		From: "case o.ClaimedBy != c.From, c.From != \"\" && asked != us, ",
		To:   "case o.ClaimedBy != c.From, c.From != \"\" && asked == c.From, ",
		Test: guardRow("a cluster that no person asks this install to take"),
	},
	{
		Name: "the guard lets an install claim a cluster whose data names another", Peer: "",
		From: "c.From == \"\" && o.IsAnothers():",
		To:   "c.From == \"\" && asked != \"\" && o.IsAnothers():",
		Test: guardRow("a cluster that no install claims, and whose data names another one"),
	},
	{
		Name: "the guard lets an install write the record of another's cluster", Peer: "",
		From: "!isMove && o.IsAnothers() {",
		To:   "!isMove && o.ClaimedBy != \"\" && o.IsAnothers() {",
		Test: guardRow("a lost record of a cluster whose data names another install"),
	},
	{
		Name: "a second install takes over where the peer Service was deleted", Peer: "",
		From: "cmp.Or(o.ClaimedBy, o.Desired.Operator, o.DataClaim, o.Cluster.Operator)",
		To:   "cmp.Or(o.ClaimedBy, o.Desired.Operator, o.Cluster.Operator)",
		Test: row("a cluster whose peer Service is deleted is left to the install that its data names"),
	},
	{
		Name: "a second install acts on a cluster in the simulator, where the peer Service was deleted", Peer: "",
		From: "cmp.Or(o.ClaimedBy, o.Desired.Operator, o.DataClaim, o.Cluster.Operator)",
		To:   "cmp.Or(o.ClaimedBy, o.Desired.Operator, o.Cluster.Operator)",
		Test: "TestOfTwoInstallsOneLooksAfterAClusterUnderEveryFault",
	},
	{
		Name: "a person who asks counts less than the data", Peer: "",
		From: "cmp.Or(o.ClaimedBy, o.Desired.Operator, o.DataClaim, o.Cluster.Operator)",
		To:   "cmp.Or(o.ClaimedBy, o.DataClaim, o.Desired.Operator, o.Cluster.Operator)",
		Test: row("so does the one that a person asks for"),
	},
	{
		Name: "a look says by the data what this install would write there", Peer: "",
		From: `	data := g.dataClaim(cluster) // as it is: what follows shows objects as they will be
	stripped := look.remark()`,
		To: `	stripped := look.remark()
	data := g.dataClaim(cluster)`,
		Test: "TestTheKeeperOfAClusterIsReadFromItsServiceThenFromAPersonAndThenFromItsData",
	},
	{
		Name: "backups and schedules know of no claim but the peer Service's", Peer: "",
		From: "seen.DataClaim = g.dataClaim(cluster)",
		To:   "seen.DataClaim = own",
		Test: "TestABackupIsLeftToTheInstallThatTheDataNamesWhereThePeerServiceIsDeleted",
	},
	{
		Name: "a take-over by a lost record does not rest", Peer: "",
		From: "s.view.Current.IsAlive() && s.view.DataClaim != s.Operator",
		To:   "s.view.Current.IsAlive() && s.view.DataClaim == \"\"",
		Test: "TestALostRecordThatAnotherInstallWritesAnewIsDatedAsATakeOver",
	},
	{
		Name: "volumes that are resumed name the install of the earlier cluster", Peer: "",
		From: "if kind == resources.KindVolume {\n\t\t\tannotate(",
		To:   "if kind == resources.KindPod {\n\t\t\tannotate(",
		Test: "TestDataThatIsTakenOverNamesTheInstallThatTookItAndTheOtherOneStops",
	},
	{
		Name: "two installs resume the volumes of one cluster", Peer: "",
		From: "live.GetAnnotations()[v1alpha1.AnnotationOperator]; claim != \"\" && claim != s.Operator {",
		To:   "live.GetAnnotations()[v1alpha1.AnnotationOperator]; claim == s.Operator && claim != s.Operator {",
		Test: "TestDataThatIsTakenOverNamesTheInstallThatTookItAndTheOtherOneStops",
	},
	{
		Name: "an install that lost a cluster writes its name beside the data", Peer: "",
		From: "AnnotationOperator]; claims {",
		To:   "AnnotationOperator]; claims && s.Live == nil {",
		Test: "TestDataNamesTheInstallThatTookTheClusterOverAndNoOther",
	},
	{
		Name: "the guard lets a cluster be taken from an install of which nothing is known", Peer: "",
		From: "case c.From != \"\" && !o.Keeping.Known:",
		To:   "case c.From == us && !o.Keeping.Known:",
		Test: guardRow("a cluster of an install of which nothing is known"),
	},
	{
		Name: "a claim is taken from an install that was not seen to have it", Peer: "",
		From: "service == nil || service.GetAnnotations()[v1alpha1.AnnotationOperator] != c.From:",
		To:   "service == nil:",
		Test: "TestAClaimIsMovedFromTheInstallThatWasSeenAndFromNoOther",
	},
	{
		Name: "etcd is changed by an install that lost the cluster to another", Peer: "",
		From: "service.GetAnnotations()[v1alpha1.AnnotationOperator]; claim != \"\" && claim != s.Operator {",
		To:   "service.GetAnnotations()[v1alpha1.AnnotationOperator]; claim == \"\" && claim != s.Operator {",
		Test: "TestEtcdIsNotChangedOnceAnotherInstallTookTheClusterOver",
	},
	{
		Name: "etcd is changed by a process that does not ask for its Lease", Peer: "",
		From: "\tif s.Leads == nil {",
		To:   "\tif s.Leads == nil || s.Live != nil {",
		Test: "TestEtcdIsChangedOnlyByTheProcessThatLeads",
	},
	{
		Name: "the Lease is not asked before an alarm is taken back", Peer: "",
		From: `err := s.whileLeading(ctx, func(ctx context.Context) error {
			return leader.DisarmAlarm(ctx, alarm.Member, alarm.Name)
		})`,
		To:   "err := leader.DisarmAlarm(ctx, alarm.Member, alarm.Name)",
		Test: "TestEtcdIsChangedOnlyByTheProcessThatLeads",
	},
	{
		Name: "a Lease that another process holds counts", Peer: "",
		From: "*spec.HolderIdentity != lease.Identity",
		To:   "*spec.HolderIdentity == \"\"",
		Test: "TestAProcessLeadsWhileTheLeaseNamesItAndLasts/another_process_holds_it",
	},
	{
		Name: "a Lease that may end during a call counts", Peer: "",
		From: "lease.Now().Add(leaseMargin).After(end)",
		To:   "lease.Now().After(end)",
		Test: "TestAProcessLeadsWhileTheLeaseNamesItAndLasts/a_call_that_changes_etcd_may_outlast_it",
	},
	{
		Name: "a first look that finds no quorum is told", Peer: "",
		From: "status); later > 0 {",
		To:   "status); later > time.Hour {",
		Test: "TestAHandOverOfTheLeaderDoesNotMakeTheClusterUnavailable",
	},
	{
		Name: "a lost quorum is doubted for ever", Peer: "",
		From: "return r.doubts.Rest(key, r.Now(), doubtInterval)",
		To:   "return doubtInterval",
		Test: "TestAQuorumThatIsLostIsToldBySecondLook",
	},
	{
		Name: "two looks within a moment count as two", Peer: "",
		From: "return r.doubts.Rest(key, r.Now(), doubtInterval)",
		To:   "return 0",
		Test: "TestAQuorumThatIsLostIsToldBySecondLook",
	},
	{
		Name: "a Secret that a Pod waits for is believed", Peer: "",
		From: "now.Sub(pod.Created) > mountPatience",
		To:   "now.Sub(pod.Created) > time.Hour",
		Test: "TestAMembersSecretThatIsGoneIsMadeAgainWhileItsPodWaitsForIt",
	},
	{
		Name: "a Secret that the writer missed is believed", Peer: "",
		From: "made.Reason == apply.LaterMissing",
		To:   "made.Reason == apply.LaterBusy",
		Test: "TestAMembersSecretThatIsGoneIsMadeAgainBeforeItsPodIsStarted",
	},
	{
		Name: "changes that take turns are not braked", Peer: "",
		From: "boundOf(o) - 1); slow > 0 {",
		To:   "boundOf(o) - 1); slow > time.Hour {",
		Test: "TestEveryLivelockIsBraked",
	},
	{
		Name: "a creation with a roll and a restore is braked", Peer: "",
		From: "\teffectsOfCluster = 50\n\teffectsOfMember  = 30",
		To:   "\teffectsOfCluster = 20\n\teffectsOfMember  = 3",
		Test: "TestACreationARollAndARestoreInARowAreNotBraked",
	},
	{
		Name: "a cluster at rest stays braked", Peer: "",
		From: "case verdict == plan.Settled:",
		To:   "case verdict == plan.Refuse:",
		Test: "TestAClusterThatIsBrakedSaysSoUntilItIsAtRest",
	},
	{
		Name: "a change that moves nothing starves the rules after it", Peer: "",
		From: "return c.vain == nil && ",
		To:   "return c.vain != nil && ",
		Test: "TestAChangeThatTheAPIServerDropsKeepsNoOtherRuleFromActing",
	},
	{
		Name: "a change that moves nothing is never made again", Peer: "",
		From: "made := c.try(ctx, c.vain.seen, c.vain.decision)",
		To:   "made := attempt{recheck: lastBrake}",
		Test: "TestAChangeThatTheAPIServerDropsIsToldOnceAndTriedMoreAndMoreSlowly",
	},
	{
		Name: "a Pod that Kubernetes took and that vanished takes other settings", Peer: "",
		From: `return slices.ContainsFunc(o.Refused, func(n facts.Note) bool {
		return n.Rule == rule &&
			n.Reason != facts.ReasonNoEffect
	})`,
		To:   "return slices.ContainsFunc(o.Refused, func(n facts.Note) bool { return n.Rule == rule })",
		Test: row("a Pod that Kubernetes took and that is not there takes none"),
	},
}
