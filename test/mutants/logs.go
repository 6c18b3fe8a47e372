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
		Name: "a snapshot from before the mark counts", File: "controllers/record/member.go",
		From: "return snapshots > m.Snapshots && ", To: "return snapshots >= m.Snapshots && ",
		Package: planPackage, Test: covered,
	},
	{
		Name: "a leader may send what lies before its snapshot", File: "controllers/record/member.go",
		From: "applied >= m.Applied+entries", To: "applied >= m.Applied+entries-1",
		Package: planPackage, Test: covered,
	},
	{
		Name: "a mark counts under other Pods", File: "controllers/plan/facts/log.go",
		From:    "r.Answer.Snapshots != nil && mark.Pods == o.pods() &&",
		To:      "r.Answer.Snapshots != nil && mark.Pods != \"\" &&",
		Package: planPackage, Test: covered,
	},
	{
		Name: "a learner's log is forgotten", File: "controllers/plan/facts/log.go",
		From: "return r.IsVoter() || r.IsLearner() && r.IsRecorded()", To: "return r.IsVoter()",
		Package: planPackage, Test: covered,
	},
	{
		Name: "a mark is never written anew", File: "controllers/plan/facts/log.go",
		From:    "case written.Pods == pods && written.Snapshots <= *r.Answer.Snapshots:",
		To:      "case written.Pods != \"\":",
		Package: planPackage, Test: marked,
	},
	{
		Name: "a process that counts from zero again keeps its mark", File: "controllers/plan/facts/log.go",
		From:    "case written.Pods == pods && written.Snapshots <= *r.Answer.Snapshots:",
		To:      "case written.Pods == pods:",
		Package: planPackage, Test: marked,
	},
	{
		Name: "a mark is written while 3.5 still writes", File: "controllers/plan/facts/log.go",
		From: "r.Answer.Version.Minor < least || ", To: "",
		Package: planPackage, Test: marked,
	},
	{
		Name: "a mark is written in a cluster that 3.5 may join", File: "controllers/plan/facts/log.go",
		From: " || r.Answer.Versions.Cluster.Minor < least", To: "",
		Package: planPackage, Test: marked,
	},
	{
		Name: "marks are written where nothing needs them", File: "controllers/plan/membership.go",
		From:    "o.Desired.Needs == etcdutil.NeedCover && o.MayMarkLog()",
		To:      "o.Desired.Needs != etcdutil.NeedDowngrade && o.MayMarkLog()",
		Package: planPackage, Test: marked,
	},
	{
		Name: "entries are added beside a roll", File: "controllers/plan/coverlog.go",
		From: "return isOutdated(o.Observation, r) || !isWell(o.Incarnation, r)", To: "return r.Member == nil",
		Package: planPackage, Test: added,
	},
	{
		Name: "entries are added without end", File: "controllers/plan/coverlog.go",
		From: "case o.Desired.SnapshotEach > snapshotAtMost:", To: "case o.Desired.SnapshotEach < 0:",
		Package: planPackage, Test: added,
	},
	{
		Name: "the guard lets 3.7 start on a log that 3.5 wrote", File: "controllers/plan/guard/log.go",
		From:    "slices.ContainsFunc(o.Voters(), isAhead) || o.IsLogCovered()",
		To:      "slices.ContainsFunc(o.Voters(), isAhead) || o.Membership.Known",
		Package: planPackage, Test: vetoed + "no_member_goes_to_3.7_before_its_log_is_covered",
	},
	{
		Name: "the guard lets a mark be written that the member did not say", File: "controllers/plan/guard/log.go",
		From: "if !o.MayMarkLog() || mark != o.NextLogMark(r) {", To: "if !o.MayMarkLog() {",
		Package: planPackage, Test: vetoed + "a_mark_is_what_the_member_says_now",
	},
	{
		Name: "the guard lets a mark be written beside a 3.5", File: "controllers/plan/guard/log.go",
		From: "if !o.MayMarkLog() || mark != o.NextLogMark(r) {", To: "if mark != o.NextLogMark(r) {",
		Package: planPackage, Test: vetoed + "and_is_written_only_while_each_voter_runs_3.6",
	},
	{
		Name: "entries are added while a member lags", File: "controllers/plan/guard/log.go",
		From: "if len(o.HealthyVoters()) < len(o.Voters()) || !o.Membership.Known {", To: "if !o.Membership.Known {",
		Package: planPackage, Test: vetoed + "entries_are_added_while_every_voter_answers",
	},
	{
		Name: "a mark outlives the version that it is of", File: "controllers/record/member.go",
		From: "m.LogMark = LogMark{} // of another process", To: "m.Version = version",
		Package: "./controllers/record", Test: "TestTheMarkOfAMemberInItsLogEndsWithTheVersionThatRan",
	},
	{
		Name: "more entries are added than were named", File: "controllers/apply/coverlog.go",
		From: "c.Until-status.RaftAppliedIndex)", To: "c.Until-status.RaftAppliedIndex+1)",
		Package: "./controllers/apply", Test: "TestEntriesAreAddedUpToTheOneThatWasNamedAndNoneBeyond",
	},
	{
		Name: "an etcd that does not tell of snapshots is read as one that wrote none",
		File: "pkg/etcdutil/client/versions.go",
		From: "if len(series) == 0 || series[0].GetHistogram() == nil {", To: "if len(series) > 1 {",
		Package: "./pkg/etcdutil/client", Test: "TestSnapshotsAreCountedFromTheMetricsOfTheClientPort",
	},
}
