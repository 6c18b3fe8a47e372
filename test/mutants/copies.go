package main

// copies are bugs of what happens to members whose copies of the data differ, and to the volumes of members that were
// replaced.
var copies = []mutant{
	{
		Name: "a minority of two is believed", Peer: "",
		From: "return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))",
		To:   "return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(1))",
		Test: row("two pairs of five are a person's"),
	},
	{
		Name: "one copy is believed against one other", Peer: "",
		From: "return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))",
		To:   "return len(o.sameCopies(h)) >= etcdutil.Quorum(len(o.Voters())) - 1",
		Test: judgedRow("one of two copies is not"),
	},
	{
		Name: "hashes of another revision are compared", Peer: "",
		From: "return h.Revision == other.Revision && h.Compacted == other.Compacted",
		To:   "return h.Compacted == other.Compacted",
		Test: judgedRow("a copy of another revision is not compared"),
	},
	{
		Name: "hashes that were compacted elsewhere are compared", Peer: "",
		From: `return h.Revision == other.Revision && h.Compacted == other.Compacted
}`,
		To: `return h.Revision == other.Revision
}`,
		Test: row("so are hashes of other revisions"),
	},
	{
		Name: "a copy goes that no majority speaks against", Peer: "",
		From: `return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash) &&
			o.HasMajority(*other.Answer.Hash)
	})`,
		To: `return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash)
	})`,
		Test: row("three copies that all differ are a person's"),
	},
	{
		Name: "a copy goes that another member has as well", Peer: "",
		From: "if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil || len(o.sameCopies(*r.Answer.Hash)) != 1 {",
		To:   "if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil {",
		Test: keptRow("a copy that is as another one is not the corrupt one"),
	},
	{
		Name: "a corrupt leader hands over to a member outside the majority", Peer: "",
		From: `return handOver(o, r, majorityHolders(o.Incarnation), facts.ReasonCorruption,
			"holds data that differs from that of a majority")`,
		To:   `return handOver(o, r, o.HealthyVoters(), facts.ReasonCorruption, "holds data that differs from that of a majority")`,
		Test: row("to a member of the majority"),
	},
	{
		Name: "a first member that stopped because copies differ is waited for, and never started", Peer: "",
		From: "mayStart := r.IsRecorded() && o.MayRestart(r) || !r.IsRecorded() && r.Member != nil",
		To:   "mayStart := r.IsRecorded() && o.MayRestart(r)",
		Test: row("so is a first member that never answered and has no record"),
	},
	{
		Name: "a member in memory is believed to have its data against its own word", Peer: "",
		From: "return isDown || r.Pod.NodeGone != \"\" || r.SaidItsDataIsGone()",
		To:   "return isDown || r.Pod.NodeGone != \"\"",
		Test: row("a member in memory that says that its data is gone has lost it"),
	},
	{
		Name: "a member is called compared while copies differ, and no one is asked again", Peer: "",
		From: "func compare(o pass) *proposal {\n\tif inDoubt(o.Incarnation) {\n\t\treturn nil // while one",
		To:   "func compare(o pass) *proposal {\n\tif false {\n\t\treturn nil // while one",
		Test: keptRow("a member that is heard is not called compared before all copies are the same"),
	},
	{
		Name: "a doubt is ignored by the rules", Peer: "",
		From: "return o.Membership.Known && (o.CopiesDiffer() || areSaidToDiffer(o) && !haveEqualCopies(o))",
		To:   "return false",
		Test: row("a roll waits"),
	},
	{
		Name: "a doubt is ignored by the guard", Peer: "",
		From: `func guardCopies(o facts.View, name string) Veto {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {`,
		To: `func guardCopies(o facts.View, name string) Veto {
	if true {`,
		Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "an alarm of corruption is no doubt", Peer: "",
		From: "return isRaisedCorrupt(o) || slices.ContainsFunc(o.Members, saysSo)",
		To:   "return slices.ContainsFunc(o.Members, saysSo)",
		Test: row("a size that is lowered waits"),
	},
	{
		Name: "a copy that was not heard is as the others", Peer: "",
		From: `return r.Answer == nil || r.Answer.Hash == nil || voters[0].Answer == nil || voters[0].Answer.Hash == nil ||
			*r.Answer.Hash != *voters[0].Answer.Hash`,
		To:   "return r.Answer != nil && r.Answer.Hash != nil && *r.Answer.Hash != *voters[0].Answer.Hash",
		Test: keptRow("copies of which one was not heard are in doubt"),
	},
	{
		Name: "a member is heard on a volume that is not its own", Peer: "",
		From: "if isStopped && mayStart {",
		To:   "if isStopped || isStopped && mayStart {",
		Test: keptRow("a member on a volume of another incarnation is not started to be heard"),
	},
	{
		Name: "a corrupt member keeps its clients until it is gone", Peer: "",
		From: "case r.IsUp() && r.Pod.Role == facts.RoleVoter:",
		To:   "case false:",
		Test: row("a corrupt follower loses its clients first"),
	},
	{
		Name: "the guard lets a copy go that another member has as well", Peer: "",
		From: "return counts[own] == 1",
		To:   "return true",
		Test: guardKeepsRow("a copy that is as another one is"),
	},
	{
		Name: "the guard takes a copy that was not heard for one that is as the others", Peer: "",
		From: `return false
		}
		sums[*r.Answer.Hash] = true`,
		To: `continue
		}
		sums[*r.Answer.Hash] = true`,
		Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "the guard believes a minority", Peer: "",
		From: "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		To:   "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 {",
		Test: guardKeepsRow("a copy that stands alone against two of five"),
	},
	{
		Name: "the guard compares hashes of another revision", Peer: "",
		From: "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		To:   "if h != own && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "the guard compares hashes that were compacted elsewhere", Peer: "",
		From: "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		To:   "if h != own && h.Revision == own.Revision && n > 1 && n > voters/2 {",
		Test: guardKeepsRow("a copy that was compacted elsewhere"),
	},
	{
		Name: "the guard counts the copies of learners", Peer: "",
		From: "case r.Member == nil || r.Member.Learner:",
		To:   "case r.Member == nil:",
		Test: guardKeepsRow("a copy against that of a voter and of two learners"),
	},
	{
		Name: "the guard forgets a member that runs uncompared", Peer: "",
		From: `if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers &&
			(!p.Running || p.Uncompared) {`,
		To:   "if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers && !p.Running {",
		Test: guardKeepsRow("a member that runs uncompared since it stopped for that"),
	},
	{
		Name: "the last word of a removed member holds the others back", Peer: "",
		From: `if r.Member == nil {
			continue
		}
		if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers &&
			(!p.Running || p.Uncompared) {`,
		To: "if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers && " +
			"(!p.Running || p.Uncompared) {",
		Test: guardKeepsRow("a member that stopped for that"),
	},
	{
		Name: "the guard hears no alarm", Peer: "",
		From: `if r.Answer != nil && slices.ContainsFunc(r.Answer.Alarms,
			func(a facts.Alarm) bool { return a.Name == facts.AlarmCorrupt }) {
			return true`,
		To: `if r.Answer != nil && slices.ContainsFunc(r.Answer.Alarms, func(a facts.Alarm) bool { return false }) {
			return true`,
		Test: guardKeepsRow("an alarm"),
	},
	{
		Name: "a copy in doubt is restarted", Peer: "",
		From: `if veto := guardCopies(o, r.Name); veto.Holds() {`,
		To:   `if veto := guardCopies(o, r.Name); false {`,
		Test: guardKeepsRow("a member whose restart is a change of a copy in doubt"),
	},
	{
		Name: "a new member copies data in doubt", Peer: "",
		From: "case saysThatCopiesDiffer(o) && !allHoldTheSame(o):",
		To:   "case false:",
		Test: guardKeepsRow("a member that would copy data in doubt"),
	},
	{
		Name: "no member is added although all copies are the same", Peer: "",
		From: "case saysThatCopiesDiffer(o) && !allHoldTheSame(o):",
		To:   "case saysThatCopiesDiffer(o):",
		Test: guardKeepsRow("a member that would copy data in doubt"),
	},
	{
		Name: "an alarm that a backup brought along is taken back", Peer: "",
		From: "case named >= 0 || o.Bootstrap.Origin.IsZero():",
		To:   "case true:",
		Test: guardKeepsRow("an alarm that a backup brought along"),
	},
	{
		Name: "an alarm of space is taken back beside one of corruption", Peer: "",
		From: "case a.Name != AlarmCorrupt || named >= 0 && o.Membership.Members[named].Learner:",
		To:   "case named >= 0 && o.Membership.Members[named].Learner:",
		Test: guardKeepsRow("an alarm of space beside it"),
	},
	{
		Name: "an alarm of a learner is taken back", Peer: "",
		From: "case a.Name != AlarmCorrupt || named >= 0 && o.Membership.Members[named].Learner:",
		To:   "case a.Name != AlarmCorrupt:",
		Test: guardKeepsRow("an alarm of a learner"),
	},
	{
		Name: "an alarm is taken back before the wrong copy is removed", Peer: "",
		From: "return r.Member == nil && r.Volume != nil && r.Volume.RemovedFor == CauseCorruption &&",
		To:   "return r.Volume != nil && r.Volume.RemovedFor == CauseCorruption &&",
		Test: guardKeepsRow("an alarm whose wrong copy is not removed yet"),
	},
	{
		Name: "a wrong copy of another cluster answers an alarm", Peer: "",
		From: `r.Volume.RemovedFor == CauseCorruption &&
			r.Volume.Record.ClusterID == o.Membership.ClusterID`,
		To:   "r.Volume.RemovedFor == CauseCorruption",
		Test: guardKeepsRow("an alarm beside the wrong copy of another cluster"),
	},
	{
		Name: "a copy that another cluster put aside answers an alarm", Peer: "",
		From: "return v.For == CauseCorruption && v.ClusterID == o.Membership.ClusterID }",
		To:   "return v.For == CauseCorruption }",
		Test: guardKeepsRow("an alarm beside a copy that another cluster put aside"),
	},
	{
		Name: "a disk that was put aside answers an alarm", Peer: "",
		From: "return v.For == CauseCorruption && v.ClusterID == o.Membership.ClusterID }",
		To:   "return v.ClusterID == o.Membership.ClusterID }",
		Test: guardKeepsRow("an alarm beside a disk that was put aside"),
	},
	{
		Name: "a learner that the alarm names stays", Peer: "",
		From: "case slices.Contains(o.Raised(), facts.Alarm{Name: facts.AlarmCorrupt, Member: r.Member.ID}):",
		To:   "case false:",
		Test: row("a learner that it names is given up"),
	},
	{
		Name: "a learner waits for its kubelet while CORRUPT stands", Peer: "",
		From: "return r.IsSealed() && (r.Pod.Ready || isRaisedCorrupt(o)) && o.IsCaughtUp(r)",
		To:   "return r.IsSealed() && r.Pod.Ready && o.IsCaughtUp(r)",
		Test: row("a learner gets its vote while it stands, and its kubelet calls no member ready"),
	},
	{
		Name: "an alarm is taken back while a copy was not heard", Peer: "",
		From: "if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		To:   "if !o.Membership.Known || len(o.Voters()) < 2 {",
		Test: guardKeepsRow("an alarm while one copy was not heard"),
	},
	{
		Name: "an alarm is taken back on the word of one copy", Peer: "",
		From: "if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		To:   "if !o.Membership.Known || !allHoldTheSame(o) {",
		Test: guardKeepsRow("an alarm of which one copy alone speaks"),
	},
	{
		Name: "an alarm is taken back while the list is not known", Peer: "",
		From: "if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		To:   "if len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		Test: guardKeepsRow("an alarm while the list is not known"),
	},
	{
		Name: "data is given an owner on what a cache says", Peer: "",
		From: "if c.Retain {\n\t\treturn Traits{Secrets",
		To:   "if c.Retain || !c.Retain {\n\t\treturn Traits{Secrets",
		Test: "TestDataIsGivenAnOwnerOnlyAfterASecondLook",
	},
	{
		Name: "a member goes whose copy may be the right one", Peer: "",
		From: "cmp.Or(guardCopies(o, c.Name), guardFenced(o, r), guardDoomed(o, r), guardBusy(o, r))",
		To:   "cmp.Or(guardFenced(o, r), guardDoomed(o, r), guardBusy(o, r))",
		Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "a member is started again and again to be heard", Peer: "",
		From: "isStopped := r.HasNoProcess() && saidCopiesDiffer(r) && r.Pod.Flags != facts.FlagsSealed",
		To:   "isStopped := r.HasNoProcess() && saidCopiesDiffer(r)",
		Test: row("it is waited for while it starts"),
	},
	{
		Name: "a doubt ends once the member runs that had it", Peer: "",
		From: "return !r.Pod.Running || r.Pod.Uncompared",
		To:   "return !r.Pod.Running",
		Test: keptRow("copies of which one was not heard are in doubt"),
	},
	{
		Name: "a doubt never ends", Peer: "",
		From: "return !r.Pod.Running || r.Pod.Uncompared",
		To:   "return true",
		Test: keptRow("once a member was compared and runs no copy is in doubt"),
	},
	{
		Name: "an alarm ends while the member is there that it was raised for", Peer: "",
		From: "!slices.ContainsFunc(corrupt, isUnanswered)",
		To:   "(true || isUnanswered(corrupt[0]))",
		Test: row("and not where a backup brought it along"),
	},
	{
		Name: "a look from before a long halt is acted on", Peer: "",
		From: " || a.Now().Sub(live.Now) > lookLasts+live.Hashing {",
		To:   " {",
		Test: "TestWhatCanHurtIsDecidedAgainOnALiveLook",
	},
	{
		Name: "large members are hashed for too long for a wrong copy ever to go", Peer: "",
		From: "a.Now().Sub(live.Now) > lookLasts+live.Hashing {",
		To:   "a.Now().Sub(live.Now) > lookLasts {",
		Test: "TestWhatCanHurtIsDecidedAgainOnALiveLook",
	},
	{
		Name: "members are hashed one after the other while no client can write", Peer: "",
		From: "if !slices.ContainsFunc(asked, saysSo) {",
		To:   "if !slices.ContainsFunc(asked, saysSo) || true {",
		Test: "TestWhileCorruptStandsAllVotersAreHashedAtOnceSinceNoClientCanWrite",
	},
}
