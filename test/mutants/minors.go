package main

// minors are the bugs of a cluster that leaves its minor version, or begins with what another one wrote.
var minors = []mutant{
	{
		Name: "a cluster begins with the version of the spec, not of its data",
		From: "return enter(at.Begins, target)", To: "return Stop{Version: target}, nil",
		Test: "TestAClusterBeginsWithTheMinorThatWroteItsData",
	},
	{
		Name: "a backup of a newer minor is begun with",
		From: "case wrote.Compare(target) > 0:",
		To:   "case wrote.Major > target.Major:",
		Test: "TestAClusterBeginsWithTheMinorThatWroteItsData",
	},
	{
		Name: "a cluster switches over to a backup of a newer minor",
		From: "etcdutil.WhyNotBegin(l.Origin.Version, o.Desired.Newest()) != \"\":",
		To:   "etcdutil.WhyNotBegin(l.Origin.Version, o.Desired.Newest()) == \"never\":",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "a minor is left while a voter is silent",
		From: "return Hold{Why: r.Name + \" does not answer\", Passes: true, Member: r.Name}", To: "return Hold{}",
		Test: leaving,
	},
	{
		Name: "a member that a roll stopped holds that roll",
		From: "case isTold || o.IsServing(r):", To: "case isTold && false || o.IsServing(r):",
		Test: leaving,
	},
	{
		Name: "an image of another version is rolled to every member",
		From: "answersOther(r, r.Pod.Settings.Version) {", To: "r.Answer == nil {",
		Test: row("a member that answers with another version than its image is named for ends the roll"),
	},
	{
		Name: "a minor is left without the backups that a schedule promises",
		From: "if !s.UpToDate {", To: "if s.Name == \"\" {",
		Test: leaving,
	},
	{
		Name: "a minor is left while an alarm is raised",
		From: "len(raised) > 0 {", To: "len(raised) > 9 {", Test: leaving,
	},
	{
		Name: "a minor is left without room in the database",
		From: "case quotaBytes > 0 && r.fills(quotaBytes):", To: "case size < 0:", Test: leaving,
	},
	{
		Name: "a minor is left without room on a volume",
		From: "room > 0 && size*100 >= room*RoomPercent:", To: "room > 0 && size < 0:", Test: leaving,
	},
	{
		Name: "a stop without a digest runs from its tag beside others that do not",
		From: "if image.Digests[v.String()] == \"\" {", To: "if v.IsZero() {",
		Test: "TestWhereDigestsAreNamedAMinorIsLeftOnlyWithOneForEachVersionOnTheWay",
	},
	{
		Name: "more entries are added than clients can bear",
		From: "if d.SnapshotEach > snapshotAtMost &&", To: "if d.SnapshotEach < 0 &&",
		Test: leaving,
	},
	{
		Name: "a minor is left while a learner copies the data",
		From: "if !isFleeting(r) {", To: "if false {", Test: leaving,
	},
	{
		Name: "members go up from a patch that must not be left, beside others that are up",
		From: "case !mayLeave(low): // one", To: "case low.IsZero(): // one",
		Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "nothing keeps a higher minor off what a patch wrote that must not be left",
		From: "> 0 && !mayLeave(wrote):", To: "> 9 && !mayLeave(wrote):",
		Test: "TestWhatMayStartOnWhichData",
	},
	{
		Name: "a cluster version that never moves keeps members from turning back",
		From: "case at.Late && !at.Uneven &&", To: "case at.Late && !at.Late &&",
		Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "members turn back while etcd may still move the cluster version",
		From: "case at.Late && !at.Uneven &&", To: "case !at.Uneven &&",
		Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "members turn back by what a record says that lags",
		From: "case at.Late && !at.Uneven &&", To: "case at.Late &&",
		Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "a downgrade that was begun is held up midway",
		From: "case at.Blind, at.Held && at.Downgrade.IsZero():", To: "case at.Blind, at.Held:",
		Test: "TestAClusterThatIsHeldStaysAtItsMinorAndWhatWasBegunGoesOn",
	},
	{
		Name: "the way to another minor is held in words only",
		From: "case at.Blind, at.Held && at.Downgrade.IsZero():", To: "case at.Blind:",
		Test: "TestAClusterThatIsHeldStaysAtItsMinorAndWhatWasBegunGoesOn",
	},
	{
		Name: "what a stop does not know is left out without a word",
		From: "if d.LeftOut == \"\" {", To: "if d.LeftOut != \"never\" {",
		Test: row("what the next stop does not know is told"),
	},
	{
		Name: "any backup counts for a schedule, however old",
		From: "return since.After(now)", To: "return !since.IsZero()",
		Test: "TestAScheduleIsUpToDateWithABackupOfItsLastTwoRuns",
	},
	{
		Name: "a backup that was not proven counts for a schedule that asks for that",
		From: "if s.Spec.Verify != nil && !*s.Spec.Verify {", To: "if s.Spec.Verify == nil || !*s.Spec.Verify {",
		Test: "TestAScheduleIsUpToDateWithABackupOfItsLastTwoRuns",
	},
	{
		Name: "a vulnerability of one minor is told of another", Peer: "",
		From: "if !v.SameMinor(f) || v.AtLeast(f) {", To: "if v.AtLeast(f) {",
		Test: "TestAVersionIsToldWhatItIsOpenToAndWhichPatchEndsIt",
	},
}

const leaving = "TestAMinorVersionIsLeftOnlyWhereNothingHasToBePutRightFirst"
