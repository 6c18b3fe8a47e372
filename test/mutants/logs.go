package main

// covered and marked are the tests of when a log counts as covered, and of when a mark is written.
const (
	covered = "TestALogIsCoveredOnceEachVoterWroteASnapshotAndFarEnoughPastItsMark"
	marked  = "TestAMarkIsWrittenOnceUnderTheSamePodsAndAnewUnderOthers"
	added   = "TestEntriesAreAddedUntilEachVoterWroteASnapshot"
	vetoed  = "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/"
)

// logs are bugs of an operator that lets etcd 3.7 read a log that 3.5 wrote.
var logs = []mutant{
	{
		Name: "a snapshot from before the mark counts",
		From: "return snapshots > m.Snapshots && ", To: "return snapshots >= m.Snapshots && ",
		Test: covered,
	},
	{
		Name: "a leader may send what lies before its snapshot",
		From: "applied >= m.Applied+entries", To: "applied >= m.Applied+entries-1",
		Test: covered,
	},
	{
		Name: "a mark counts under other Pods",
		From: "r.Answer.Snapshots != nil && mark.Pods == o.pods() &&",
		To:   "r.Answer.Snapshots != nil && mark.Pods != \"\" &&",
		Test: covered,
	},
	{
		Name: "a learner's log is forgotten",
		From: "return r.IsVoter() || r.IsLearner() && r.IsRecorded()", To: "return r.IsVoter()",
		Test: covered,
	},
	{
		Name: "a mark is never written anew",
		From: "case written.Pods == pods && written.Snapshots <= *r.Answer.Snapshots:",
		To:   "case written.Pods != \"\":",
		Test: marked,
	},
	{
		Name: "a process that counts from zero again keeps its mark",
		From: "case written.Pods == pods && written.Snapshots <= *r.Answer.Snapshots:",
		To:   "case written.Pods == pods:",
		Test: marked,
	},
	{
		Name: "a mark is written while 3.5 still writes",
		From: "r.Answer.Version.Minor < least || ", To: "",
		Test: marked,
	},
	{
		Name: "a mark is written in a cluster that 3.5 may join",
		From: " || r.Answer.Versions.Cluster.Minor < least", To: "",
		Test: marked,
	},
	{
		Name: "marks are written where nothing needs them",
		From: "o.Desired.Needs == etcdutil.NeedCover && o.MayMarkLog()",
		To:   "o.Desired.Needs != etcdutil.NeedDowngrade && o.MayMarkLog()",
		Test: marked,
	},
	{
		Name: "entries are added beside a roll",
		From: "return isOutdated(o.Judged, r) || !isWell(o.Incarnation, r)", To: "return r.Member == nil",
		Test: added,
	},
	{
		Name: "the guard lets 3.7 start on a log that 3.5 wrote",
		From: "slices.ContainsFunc(o.Voters(), isAhead) || o.IsLogCovered()",
		To:   "slices.ContainsFunc(o.Voters(), isAhead) || o.Membership.Known",
		Test: vetoed + "no_member_goes_to_3.7_before_its_log_is_covered",
	},
	{
		Name: "3.6 starts where no snapshot was saved",
		From: "case next == lastFiled && !at.Saved:", To: "case next == lastFiled && at.Late:",
		Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "a process that saved nothing counts as one that did",
		From: "r.Answer.Snapshots == nil || *r.Answer.Snapshots == 0", To: "r.Answer.Snapshots == nil",
		Test: "TestALogIsSavedOnceTheEtcdOfEachVoterWroteASnapshot",
	},
	{
		Name: "the guard lets 3.6 start where no snapshot was saved",
		From: "!slices.ContainsFunc(o.HealthyVoters(), isLast) || o.IsLogSaved()",
		To:   "!slices.ContainsFunc(o.HealthyVoters(), isLast) || o.Membership.Known",
		Test: vetoed + "no_member_goes_down_to_3.6_before_each_saved_its_log",
	},
	{
		Name: "every pre-release is a release",
		From: "case v.Pre != \"\":", To: "case v.Pre != \"\" && v.Patch > 9:",
		Test: "TestTiers",
	},
	{
		Name: "the guard lets a mark be written that the member did not say",
		From: "if !o.MayMarkLog() || mark != o.NextLogMark(r) {", To: "if !o.MayMarkLog() {",
		Test: vetoed + "a_mark_is_what_the_member_says_now",
	},
	{
		Name: "the guard lets a mark be written beside a 3.5",
		From: "if !o.MayMarkLog() || mark != o.NextLogMark(r) {", To: "if mark != o.NextLogMark(r) {",
		Test: vetoed + "and_is_written_only_while_each_voter_runs_3.6",
	},
	{
		Name: "entries are added while a member lags",
		From: "if !o.Membership.Known || !isOne && len(o.HealthyVoters()) < len(o.Voters()) {",
		To:   "if !o.Membership.Known || !isOne && !o.Membership.Known {",
		Test: vetoed + "entries_are_added_while_every_voter_answers",
	},
	{
		Name: "an entry is added where nobody leads",
		From: "if !o.Membership.Known || !isOne &&", To: "if !isOne &&",
		Test: vetoed + "one_entry_may_be_added_beside_one_that_does_not",
	},
	{
		Name: "a member of 3.7 on a quiet cluster waits for a write",
		From: "ran < began+wakeFor", To: "ran < began",
		Test: "TestAnEntryIsAddedForAMemberOf37ThatMayWaitForOne",
	},
	{
		Name: "entries are added for a member without a pause",
		From: "ran < began+wakeFor", To: "ran < 2*began",
		Test: "TestAnEntryIsAddedForAMemberOf37ThatMayWaitForOne",
	},
	{
		Name: "a mark outlives the version that it is of",
		From: "m.LogMark = LogMark{} // of another process", To: "m.Version = version",
		Test: "TestTheMarkOfAMemberInItsLogEndsWithTheVersionThatRan",
	},
	{
		Name: "more entries are added than were named",
		From: "max(applied, until)-applied", To: "max(applied, until)-applied+1",
		Test: "TestEntriesAreAddedUpToTheOneThatWasNamedAndNoneBeyond",
	},
	{
		Name: "an etcd that does not tell of snapshots is read as one that wrote none",
		From: "if len(series) == 0 || series[0].GetHistogram() == nil {", To: "if len(series) > 1 {",
		Test: "TestSnapshotsAreCountedFromTheMetricsOfTheClientPort",
	},
	{
		Name: "a downgrade is enabled while a member is to be added",
		From: "|| o.due.Join != nil || !isReadyToLeave(o)", To: "|| !isReadyToLeave(o)",
		Test: "TestADowngradeIsEnabledOnlyOnceNothingElseIsLeftToDo",
	},
	{
		Name: "a downgrade is enabled beside a sick member",
		From: "return len(o.Learners()) == 0 && len(facts.Filter(o.Voters(), isUnfit)) == 0",
		To:   "return len(o.Learners()) == 0 || len(facts.Filter(o.Voters(), isUnfit)) == 0",
		Test: "TestADowngradeIsEnabledOnlyOnceNothingElseIsLeftToDo",
	},
	{
		Name: "a downgrade that keeps a member from joining goes on",
		From: "case len(joining) > 0:", To: "case len(joining) > 1:",
		Test: row("one that keeps a new member from joining is cancelled before its Pod is made"),
	},
	{
		Name: "a downgrade that only members of 3.5 know of keeps a member from joining", Peer: "",
		From: "	if minor.IsZero() {", To: "	if minor.IsZero() && len(joining) > 9 {",
		Test: row("one that no member tells of is cancelled where it keeps a new member from joining"),
	},
	{
		Name: "a downgrade that came with a backup stays",
		From: "case o.Desired.Needs == etcdutil.NeedNoDowngrade &&",
		To:   "case o.Desired.Needs == etcdutil.NeedCover &&",
		Test: row("one that the spec does not ask for is cancelled"),
	},
	{
		Name: "a silent member's word of the cluster version counts as much as a newer one", Peer: "",
		From: "(at > lastAt || at == lastAt && v.Compare(last) > 0)",
		To:   "(v.Compare(last) > 0 || at < lastAt && false)",
		Test: "TestWhatWasSeenAtTheHighestIndexSaysOfWhichVersionTheClusterIs",
	},
	{
		Name: "a silent member is taken to run what etcd refused to start",
		From: ` && o.WhyNotOnData(r, asked.Version) == "":`, To: ` && asked.Version.Minor < 100:`,
		Test: "TestASilentMemberMayRunTheLowerMinorThatItsVolumeAsksForOnceTheClusterIsOfIt",
	},
	{
		Name: "the guard lets a lower minor begin on two members at once",
		From: "case version.Compare(r.Record().Version) > 0:", To: "case version.Compare(r.Record().Version) != 0:",
		Test: vetoed + "the_first_one_goes_down_while_all_others_serve",
	},
	{
		Name: "the guard lets a member start with a lower minor that its volume does not ask for",
		From: "if !c.Version.SameMinor(wrote) && c != r.Settings() {",
		To:   "if c.Version.Compare(wrote) > 0 && !c.Version.SameMinor(wrote) && c != r.Settings() {",
		Test: vetoed + "a_lower_minor_starts_only_where_the_volume_asks_for_it",
	},
	{
		Name: "the guard lets a downgrade begin while a member is away",
		From: "len(o.Membership.Members) > len(o.HealthyVoters())", To: "len(o.Membership.Members) == 0",
		Test: vetoed + "and_not_beside_a_learner",
	},
	{
		Name: "the guard lets a downgrade skip a minor",
		From: "|| runs.Minor != c.Minor.Minor+1 {", To: "|| runs.Minor < c.Minor.Minor {",
		Test: vetoed + "it_goes_one_minor_down",
	},
	{
		Name: "a member goes down before the data of all followed",
		From: "case !at.Storage.SameMinor(next), at.Uneven:", To: "case !at.Storage.SameMinor(next):",
		Test: "TestTheNextStopOnTheWayToAVersion/a_member_that_does_not_say_that_its_data_" +
			"followed_holds_the_others_up",
	},
	{
		Name: "a downgrade that began goes on where it is not asked for",
		From: "if !at.Downgrade.IsZero() && compareMinors(at.Downgrade, target) < 0 {",
		To:   "if !at.Downgrade.IsZero() && compareMinors(at.Downgrade, target) > 9 {",
		Test: "TestTheNextStopOnTheWayToAVersion/a_downgrade_that_began_and_is_not_asked_" +
			"for_any_more_is_cancelled_while_members_go_back",
	},
	{
		Name: "a downgrade that was begun is cancelled while the spec is refused",
		From: "(followsSpec(o) || !hasBegunDown(o, minor)):",
		To:   "(followsSpec(o) || o.Desired.Fault != \"\" || !hasBegunDown(o, minor)):",
		Test: row("but one that was begun goes on while the spec is refused: no volume could be " +
			"told otherwise"),
	},
	{
		Name: "a downgrade is enabled for a spec that asks for what cannot be done",
		From: "if o.due.HeldBy != \"\" || o.Desired.Window.IsClosed || len(o.Crowded(o.Desired.Settings)) > 0 {",
		To:   "if o.Desired.Window.IsClosed || len(o.Crowded(o.Desired.Settings)) > 0 {",
		Test: "TestADowngradeIsEnabledOnlyOnceNothingElseIsLeftToDo",
	},
	{
		Name: "a member without a Pod waits for ever for a version that may not start",
		From: "(isRefused(o, r) || mayNotStart(o, r)) && mayAdopt(o, r)",
		To:   "isRefused(o, r) && mayAdopt(o, r) || mayNotStart(o, r) && false",
		Test: row("a member without a Pod whose volume asks for what cannot start any more takes " +
			"the settings of the spec"),
	},
	{
		Name: "the guard lets a member be stopped that could not start again",
		From: "if !r.Settings().IsZero() && o.WhyNotStart(r, r.Settings()) != \"\" {",
		To:   "if r.Settings().IsZero() && o.WhyNotStart(r, r.Settings()) != \"\" {",
		Test: vetoed + "no_member_is_stopped_that_could_not_start_again",
	},
	{
		Name: "the guard lets a lower minor begin before the data followed",
		From: "format.Compare(version) > 0 && ", To: "format.Compare(version) < 0 && ",
		Test: vetoed + "the_first_one_goes_down_once_the_data_of_all_followed",
	},
	{
		Name: "a stop gets the feature gates of a later minor",
		From: "case len(left) == len(gates):", To: "case len(left) <= len(gates):",
		Test: "TestOfAUsersFlagsAVersionGetsThoseThatItKnows",
	},
	{
		Name: "the index of a cluster version stays behind that of another one",
		From: "m.ClusterVersionAt < elsewhere && elsewhere < applied",
		To:   "m.ClusterVersionAt > elsewhere && elsewhere < applied",
		Test: "TestTheIndexOfAClusterVersionMovesWithItAndWhereAnotherWasSeenSince",
	},
}
