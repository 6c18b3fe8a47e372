package main

// minors are the bugs of a cluster that leaves its minor version, or begins with what another one wrote.
var minors = []mutant{
	{
		Name: "a cluster begins with the version of the spec, not of its data", File: "pkg/etcdutil/path.go",
		From: "return enter(at.Begins, target)", To: "return Stop{Version: target}, nil",
		Package: "./pkg/etcdutil", Test: "TestAClusterBeginsWithTheMinorThatWroteItsData",
	},
	{
		Name: "a backup of a newer minor is begun with", File: "pkg/etcdutil/path.go",
		From:    "case wrote.Compare(target) > 0:",
		To:      "case wrote.Major > target.Major:",
		Package: "./pkg/etcdutil", Test: "TestAClusterBeginsWithTheMinorThatWroteItsData",
	},
	{
		Name: "a cluster switches over to a backup of a newer minor", File: "controllers/plan/guard/inplace.go",
		From:    "etcdutil.WhyNotBegin(l.Origin.Version, o.Desired.Newest()) != \"\":",
		To:      "etcdutil.WhyNotBegin(l.Origin.Version, o.Desired.Newest()) == \"never\":",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "a minor is left while a voter is silent", File: "controllers/plan/facts/minor.go",
		From: "return Hold{Why: r.Name + \" does not answer\", Passes: true}", To: "return Hold{}",
		Package: planPackage, Test: leaving,
	},
	{
		Name: "a member that a roll stopped holds that roll", File: "controllers/plan/facts/minor.go",
		From: "case isTold || o.IsServing(r):", To: "case isTold && false || o.IsServing(r):",
		Package: planPackage, Test: leaving,
	},
	{
		Name: "an image of another version is rolled to every member", File: "controllers/plan/rollout.go",
		From: "answersOther(r, r.Pod.Choices.Version) {", To: "r.Answer == nil {",
		Package: planPackage,
		Test:    row("a member that answers with another version than its image is named for ends the roll"),
	},
	{
		Name: "a minor is left without the backups that a schedule promises", File: "controllers/plan/facts/minor.go",
		From: "if !s.UpToDate {", To: "if s.Name == \"\" {",
		Package: planPackage, Test: leaving,
	},
	{
		Name: "a minor is left while an alarm is raised", File: "controllers/plan/facts/minor.go",
		From: "len(raised) > 0 {", To: "len(raised) > 9 {", Package: planPackage, Test: leaving,
	},
	{
		Name: "a minor is left without room in the database", File: "controllers/plan/facts/minor.go",
		From: "case quotaBytes > 0 && r.fills(quotaBytes):", To: "case size < 0:", Package: planPackage, Test: leaving,
	},
	{
		Name: "a minor is left without room on a volume", File: "controllers/plan/facts/minor.go",
		From: "size*100 >= r.Volume.Bytes*RoomPercent:", To: "size < 0:", Package: planPackage, Test: leaving,
	},
	{
		Name: "a stop without a digest runs from its tag beside others that do not",
		File: "controllers/observe/desired.go",
		From: "if image.Digests[v.String()] == \"\" {", To: "if v.IsZero() {",
		Package: "./controllers/observe",
		Test:    "TestWhereDigestsAreNamedAMinorIsLeftOnlyWithOneForEachVersionOnTheWay",
	},
	{
		Name: "more entries are added than clients can bear", File: "controllers/plan/facts/minor.go",
		From: "if d.SnapshotEach > snapshotAtMost &&", To: "if d.SnapshotEach < 0 &&",
		Package: planPackage, Test: leaving,
	},
	{
		Name: "a minor is left while a learner copies the data", File: "controllers/plan/facts/minor.go",
		From: "len(learners) > 0 && !d.Ephemeral {", To: "len(learners) > 9 {", Package: planPackage, Test: leaving,
	},
	{
		Name: "members go up from a patch that must not be left, beside others that are up",
		File: "pkg/etcdutil/path.go",
		From: "case !mayLeave(low): // one", To: "case low.IsZero(): // one",
		Package: "./pkg/etcdutil", Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "nothing keeps a higher minor off what a patch wrote that must not be left", File: "pkg/etcdutil/path.go",
		From: "> 0 && !mayLeave(wrote):", To: "> 9 && !mayLeave(wrote):",
		Package: "./pkg/etcdutil", Test: "TestWhatMayStartOnWhichData",
	},
	{
		Name: "a cluster version that never moves keeps members from turning back", File: "pkg/etcdutil/path.go",
		From: "case at.Late && !at.Uneven &&", To: "case at.Late && !at.Late &&",
		Package: "./pkg/etcdutil", Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "members turn back while etcd may still move the cluster version", File: "pkg/etcdutil/path.go",
		From: "case at.Late && !at.Uneven &&", To: "case !at.Uneven &&",
		Package: "./pkg/etcdutil", Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "members turn back by what a record says that lags", File: "pkg/etcdutil/path.go",
		From: "case at.Late && !at.Uneven &&", To: "case at.Late &&",
		Package: "./pkg/etcdutil", Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "a downgrade that was begun is held up midway", File: "pkg/etcdutil/path.go",
		From: "case at.Blind, at.Held && at.Downgrade.IsZero():", To: "case at.Blind, at.Held:",
		Package: planPackage, Test: "TestAClusterThatIsHeldStaysAtItsMinorAndWhatWasBegunGoesOn",
	},
	{
		Name: "the way to another minor is held in words only", File: "pkg/etcdutil/path.go",
		From: "case at.Blind, at.Held && at.Downgrade.IsZero():", To: "case at.Blind:",
		Package: planPackage, Test: "TestAClusterThatIsHeldStaysAtItsMinorAndWhatWasBegunGoesOn",
	},
	{
		Name: "what a stop does not know is left out without a word", File: "controllers/plan/rollout.go",
		From: "if d.LeftOut == \"\" {", To: "if d.LeftOut != \"never\" {",
		Package: planPackage, Test: row("what the next stop does not know is told"),
	},
	{
		Name: "any backup counts for a schedule, however old", File: "controllers/schedule/plan/saved.go",
		From: "return since.After(now)", To: "return !since.IsZero()",
		Package: "./controllers/schedule/plan", Test: "TestAScheduleIsUpToDateWithABackupOfItsLastTwoRuns",
	},
	{
		Name: "a backup that was not proven counts for a schedule that asks for that",
		File: "controllers/schedule/plan/saved.go",
		From: "if s.Spec.Verify != nil && !*s.Spec.Verify {", To: "if s.Spec.Verify == nil || !*s.Spec.Verify {",
		Package: "./controllers/schedule/plan", Test: "TestAScheduleIsUpToDateWithABackupOfItsLastTwoRuns",
	},
	{
		Name: "a vulnerability of one minor is told of another", Peer: "",
		File: "pkg/etcdutil/vulnerabilities.go",
		From: "if !v.SameMinor(f) || v.AtLeast(f) {", To: "if v.AtLeast(f) {",
		Package: etcdutilPackage, Test: "TestAVersionIsToldWhatItIsOpenToAndWhichPatchEndsIt",
	},
}

const leaving = "TestAMinorVersionIsLeftOnlyWhereNothingHasToBePutRightFirst"
