package main

import "strings"

// halfRow is the name of a test of one row of what becomes of a volume with one of its halves.
func halfRow(name string) string {
	return "TestTheTwoHalvesOfAVolumeAreOne/" + strings.ReplaceAll(name, " ", "_")
}

// logRow is the same of members that move for another volume of their log.
func logRow(name string) string {
	return "TestAMemberIsSucceededForAnotherVolumeOfItsLog/" + strings.ReplaceAll(name, " ", "_")
}

// halves are bugs of write-ahead logs on volumes of their own.
var halves = []mutant{
	{
		Name: "a member with its data in its Pod waits for a claim of its log, once the spec asks for one", Peer: "",
		From: "if s.emptyDirOf(name) != nil {\n\t\treturn false",
		To:   "if false {\n\t\treturn false",
		Test: "TestAMemberWithItsDataInItsPodHasItsLogThereAsWell",
	},
	{
		Name: "a learner joins beside what it wrote, once its log is gone", Peer: "",
		From: "if why := guardWhole(r); why.Holds() {\n\t\treturn why\n\t}",
		To:   "if why := guardWhole(facts.Replica{}); why.Holds() {\n\t\treturn why\n\t}",
		Test: guardRow("a learner that joins on half of its volume"),
	},
	{
		Name: "a first member begins anew beside what it wrote, once its log is gone", Peer: "",
		From: "case guardWhole(r).Holds():",
		To:   "case false:",
		Test: guardRow("a first member that starts on half of its volume"),
	},
	{
		Name: "a member whose log is gone counts as one that has its data", Peer: "",
		From: "v.Torn, v.Phase = \"the volume of its write-ahead log is gone\", facts.VolumeLost",
		To:   "v.Torn = \"the volume of its write-ahead log is gone\"",
		Test: halfRow("the log is gone"),
	},
	{
		Name: "any claim of that name is taken for a member's log", Peer: "",
		From: "return claim != nil && w.UID != \"\" && string(claim.UID) == w.UID",
		To:   "return claim != nil",
		Test: "TestTheClaimOfTheDataNamesTheOneOfTheLogByItsUID",
	},
	{
		Name: "a log that lost its labels is called gone", Peer: "",
		From: "if err == nil {\n\t\terr = s.findWALs(ctx)\n\t}",
		To:   "",
		Test: halfRow("its labels were taken off, and no list shows it"),
	},
	{
		Name: "a log that was left over is given to a new member", Peer: "",
		From: "case there == ctrlclient.Object(claim):",
		To:   "case there != nil:",
		Test: "TestALogThatIsLeftOverIsDeletedAndNotTaken",
	},
	{
		Name: "a Pod is made as the spec asks, and not as its volume is", Peer: "",
		From: "return !r.Volume.WAL.IsZero()",
		To:   "break",
		Test: "TestAPodIsMadeAsTheVolumeOfItsMemberIsAndNotAsTheSpecAsks",
	},
	{
		Name: "the log of a deleted volume stays", Peer: "",
		From: "if wal != nil && wal.UID != \"\" {\n\t\tname",
		To:   "if false {\n\t\tname",
		Test: "TestBothHalvesAreDeletedTogetherTheLogFirst",
	},
	{
		Name: "a log is deleted while its member's data may be there", Peer: "",
		From: "if !o.IsOfNobody(member) {",
		To:   "if false {",
		Test: guardRow("a log that is deleted beside its member"),
	},
	{
		Name: "a restored member starts beside an empty log", Peer: "",
		From: "a.note, a.clear, a.moveWAL, a.move, a.settle}",
		To:   "a.note, a.clear, a.move, a.settle}",
		Test: "TestARestoreThatWasKilledAnywhereEndsWhenItIsRunAgain",
	},
	{
		Name: "a larger volume of the log moves members", Peer: "",
		From: "case w.Bytes > asked.Bytes && (log == nil || !log.IsGrowing()):",
		To:   "case w.Bytes != asked.Bytes && (log == nil || !log.IsGrowing()):",
		Test: logRow("but not where it becomes larger: its claim asks for more"),
	},
	{
		Name: "a log that could not grow moves its member, and its claim is not lowered", Peer: "",
		From: "case w.Bytes > asked.Bytes && (log == nil || !log.IsGrowing()):",
		To:   "case w.Bytes > asked.Bytes:",
		Test: logRow("a size that is put back takes back what cannot be had"),
	},
	{
		Name: "the log of a member stays as small as it was made", Peer: "",
		From: "if log := r.Volume.log(); log != nil {",
		To:   "if log := r.Volume.log(); log != nil && false {",
		Test: logRow("but not where it becomes larger: its claim asks for more"),
	},
	{
		Name: "the guard lets the logs of two members grow at a time", Peer: "",
		From: "for _, other := range facts.Claims(o.Members) {",
		To:   "for _, other := range facts.Filter(o.Members, facts.Replica.IsVoter) {",
		Test: guardRow("one log grows at a time"),
	},
	{
		Name: "the claim of a log says that the spec asked for the size of the data", Peer: "",
		From: "if c.LogOf == \"\" {\n\t\treturn s.cluster",
		To:   "if c.LogOf != \"\" || c.LogOf == \"\" {\n\t\treturn s.cluster",
		Test: "TestTheClaimOfALogAsksForMoreAndSaysWhatTheSpecAskedForIt",
	},
	{
		Name: "how far the claim of a log is is not seen", Peer: "",
		From: "Growth: growthOf(half)}",
		To:   "Growth: facts.Growth{}}",
		Test: "TestEachHalfOfAVolumeSaysHowFarItsClaimIs",
	},
}
