package main

// copies are bugs of what happens to members whose copies of the data differ, and to the volumes of members that were replaced.
var copies = []mutant{
	{
		Name: "a minority of two is believed", Peer: "",
		File:    "controllers/plan/facts/copies.go",
		From:    "return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))",
		To:      "return len(o.sameCopies(h)) >= 2",
		Package: planPackage, Test: row("two pairs of five are a person's"),
	},
	{
		Name: "one copy is believed against one other", Peer: "",
		File:    "controllers/plan/facts/copies.go",
		From:    "return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))",
		To:      "return len(o.sameCopies(h)) >= etcdutil.Quorum(len(o.Voters())) - 1",
		Package: planPackage, Test: judgedRow("one of two copies is not"),
	},
	{
		Name: "hashes of another revision are compared", Peer: "",
		File:    "controllers/plan/facts/copies.go",
		From:    "return h.Revision == other.Revision && h.Compacted == other.Compacted",
		To:      "return h.Compacted == other.Compacted",
		Package: planPackage, Test: judgedRow("a copy of another revision is not compared"),
	},
	{
		Name: "hashes that were compacted elsewhere are compared", Peer: "",
		File: "controllers/plan/facts/copies.go",
		From: `return h.Revision == other.Revision && h.Compacted == other.Compacted
}`,
		To: `return h.Revision == other.Revision
}`,
		Package: planPackage, Test: row("so are hashes of other revisions"),
	},
	{
		Name: "a copy goes that no majority speaks against", Peer: "",
		File: "controllers/plan/facts/copies.go",
		From: `return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash) &&
			o.HasMajority(*other.Answer.Hash)
	})`,
		To: `return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash)
	})`,
		Package: planPackage, Test: row("three copies that all differ are a person's"),
	},
	{
		Name: "a copy goes that another member has as well", Peer: "",
		File:    "controllers/plan/facts/copies.go",
		From:    "if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil || len(o.sameCopies(*r.Answer.Hash)) != 1 {",
		To:      "if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil {",
		Package: planPackage, Test: keptRow("a copy that is as another one is not the corrupt one"),
	},
	{
		Name: "a corrupt leader hands over to a member outside the majority", Peer: "",
		File: "controllers/plan/corruption.go",
		From: `return handOver(o, r, majorityHolders(o.Incarnation), facts.ReasonCorruption,
			"holds data that differs from that of a majority")`,
		To:      `return handOver(o, r, o.HealthyVoters(), facts.ReasonCorruption, "holds data that differs from that of a majority")`,
		Package: planPackage, Test: row("to a member of the majority"),
	},
	{
		Name: "the seal is put back while copies differ", Peer: "",
		File:    "controllers/plan/blind.go",
		From:    "func mayStillDiffer(o facts.Incarnation) bool { return !o.Membership.Known || inDoubt(o) }",
		To:      "func mayStillDiffer(o facts.Incarnation) bool { return !o.Membership.Known }",
		Package: planPackage, Test: keptRow("a member that is heard is not sealed before all copies are the same"),
	},
	{
		Name: "a doubt is ignored by the rules", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "func inDoubt(o facts.Incarnation) bool { return AsksForHashes(o) && !haveEqualCopies(o) }",
		To:      "func inDoubt(o facts.Incarnation) bool { return false }",
		Package: planPackage, Test: row("a roll waits"),
	},
	{
		Name: "a doubt is ignored by the guard", Peer: "",
		File: "controllers/plan/guard/corruption.go",
		From: `func guardCopies(o facts.View, name string) string {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {`,
		To: `func guardCopies(o facts.View, name string) string {
	if true {`,
		Package: planPackage, Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "an alarm of corruption is no doubt", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "return len(filterAlarms(o.Raised(), facts.AlarmCorrupt)) > 0 || slices.ContainsFunc(o.Members, saysSo)",
		To:      "return slices.ContainsFunc(o.Members, saysSo)",
		Package: planPackage, Test: row("a size that is lowered waits"),
	},
	{
		Name: "a copy that was not heard is as the others", Peer: "",
		File: "controllers/plan/corruption.go",
		From: `return r.Answer == nil || r.Answer.Hash == nil || voters[0].Answer == nil || voters[0].Answer.Hash == nil ||
			*r.Answer.Hash != *voters[0].Answer.Hash`,
		To:      "return r.Answer != nil && r.Answer.Hash != nil && *r.Answer.Hash != *voters[0].Answer.Hash",
		Package: planPackage, Test: keptRow("copies of which one was not heard are in doubt"),
	},
	{
		Name: "a member is heard on a volume that is not its own", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "if isStopped && r.IsRecorded() && o.MayRestart(r) {",
		To:      "if isStopped {",
		Package: planPackage, Test: keptRow("a member on a volume of another incarnation is not started to be heard"),
	},
	{
		Name: "a corrupt member keeps its clients until it is gone", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    `case r.IsUp() && r.Pod.Role != "":`,
		To:      "case false:",
		Package: planPackage, Test: row("a corrupt follower loses its clients first"),
	},
	{
		Name: "the volume of a corrupt member is not marked", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "case r.Volume != nil && r.Volume.RemovedFor == facts.NoCause:",
		To:      "case false:",
		Package: planPackage, Test: row("then its volume is marked"),
	},
	{
		Name: "the guard lets a copy go that another member has as well", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "return counts[own] == 1",
		To:      "return true",
		Package: planPackage, Test: guardKeepsRow("a copy that is as another one is"),
	},
	{
		Name: "the guard takes a copy that was not heard for one that is as the others", Peer: "",
		File: "controllers/plan/guard/corruption.go",
		From: `return false
		}
		sums[*r.Answer.Hash] = true`,
		To: `continue
		}
		sums[*r.Answer.Hash] = true`,
		Package: planPackage, Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "the guard believes a minority", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		To:      "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 {",
		Package: planPackage, Test: guardKeepsRow("a copy that stands alone against two of five"),
	},
	{
		Name: "the guard compares hashes of another revision", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		To:      "if h != own && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		Package: planPackage, Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "the guard compares hashes that were compacted elsewhere", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if h != own && h.Revision == own.Revision && h.Compacted == own.Compacted && n > 1 && n > voters/2 {",
		To:      "if h != own && h.Revision == own.Revision && n > 1 && n > voters/2 {",
		Package: planPackage, Test: guardKeepsRow("a copy that was compacted elsewhere"),
	},
	{
		Name: "the guard counts the copies of learners", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "case r.Member == nil || r.Member.Learner:",
		To:      "case r.Member == nil:",
		Package: planPackage, Test: guardKeepsRow("a copy against that of a voter and of two learners"),
	},
	{
		Name: "the guard forgets a member that runs uncompared", Peer: "",
		File: "controllers/plan/guard/corruption.go",
		From: `if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers &&
			(!p.Running || p.Flags == facts.FlagsUncompared) {`,
		To:      "if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers && !p.Running {",
		Package: planPackage, Test: guardKeepsRow("a member that runs uncompared since it stopped for that"),
	},
	{
		Name: "the last word of a removed member holds the others back", Peer: "",
		File: "controllers/plan/guard/corruption.go",
		From: `if r.Member == nil {
			continue
		}
		if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers &&
			(!p.Running || p.Flags == facts.FlagsUncompared) {`,
		To: "if p := r.Pod; p != nil && p.Exit != nil && p.Exit.Reason == etcdutil.ExitDataDiffers && " +
			"(!p.Running || p.Flags == facts.FlagsUncompared) {",
		Package: planPackage, Test: guardKeepsRow("a member that stopped for that"),
	},
	{
		Name: "the guard hears no alarm", Peer: "",
		File: "controllers/plan/guard/corruption.go",
		From: `if r.Answer != nil && slices.ContainsFunc(r.Answer.Alarms,
			func(a facts.Alarm) bool { return a.Name == facts.AlarmCorrupt }) {
			return true`,
		To: `if r.Answer != nil && slices.ContainsFunc(r.Answer.Alarms, func(a facts.Alarm) bool { return false }) {
			return true`,
		Package: planPackage, Test: guardKeepsRow("an alarm"),
	},
	{
		Name: "a copy in doubt is restarted", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `case guardCopies(o, r.Name) != "":
		return guardCopies(o, r.Name)`,
		To: `case false:
		return guardCopies(o, r.Name)`,
		Package: planPackage, Test: guardKeepsRow("a member whose restart is a change of a copy in doubt"),
	},
	{
		Name: "a new member copies data in doubt", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "case saysThatCopiesDiffer(o) && !allHoldTheSame(o):",
		To:      "case false:",
		Package: planPackage, Test: guardKeepsRow("a member that would copy data in doubt"),
	},
	{
		Name: "no member is added although all copies are the same", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "case saysThatCopiesDiffer(o) && !allHoldTheSame(o):",
		To:      "case saysThatCopiesDiffer(o):",
		Package: planPackage, Test: guardKeepsRow("a member that would copy data in doubt"),
	},
	{
		Name: "an alarm is taken back under the member that it was raised for", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {",
		To:      "if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed && false || !o.Birth.Origin.IsZero() {",
		Package: planPackage, Test: guardKeepsRow("an alarm of a member that is there"),
	},
	{
		Name: "an alarm is taken back that may be of any member", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {",
		To:      "if a.Name != facts.AlarmCorrupt || isListed || !o.Birth.Origin.IsZero() {",
		Package: planPackage, Test: guardKeepsRow("an alarm that no member is named for"),
	},
	{
		Name: "an alarm of space is taken back beside one of corruption", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {",
		To:      "if a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {",
		Package: planPackage, Test: guardKeepsRow("an alarm of space beside it"),
	},
	{
		Name: "an alarm that a backup brought along is taken back", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed || !o.Birth.Origin.IsZero() {",
		To:      "if a.Name != facts.AlarmCorrupt || a.Member == 0 || isListed {",
		Package: planPackage, Test: guardKeepsRow("an alarm that a backup brought along"),
	},
	{
		Name: "an alarm is taken back while a copy was not heard", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		To:      "if !o.Membership.Known || len(o.Voters()) < 2 {",
		Package: planPackage, Test: guardKeepsRow("an alarm while one copy was not heard"),
	},
	{
		Name: "an alarm is taken back on the word of one copy", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		To:      "if !o.Membership.Known || !allHoldTheSame(o) {",
		Package: planPackage, Test: guardKeepsRow("an alarm of which one copy alone speaks"),
	},
	{
		Name: "an alarm is taken back while the list is not known", Peer: "",
		File:    "controllers/plan/guard/corruption.go",
		From:    "if !o.Membership.Known || len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		To:      "if len(o.Voters()) < 2 || !allHoldTheSame(o) {",
		Package: planPackage, Test: guardKeepsRow("an alarm while the list is not known"),
	},
	{
		Name: "a kept copy that differs is deleted", Peer: "",
		File:    "controllers/plan/collect.go",
		From:    "return v.For != facts.CauseCorruption && o.Now.Sub(v.Since) >= o.Desired.KeepVolumes",
		To:      "return o.Now.Sub(v.Since) >= o.Desired.KeepVolumes",
		Package: planPackage, Test: keptRow("a kept copy that differs is not deleted at all"),
	},
	{
		Name: "a kept volume is deleted before its time", Peer: "",
		File: "controllers/plan/collect.go",
		From: `return v.For != facts.CauseCorruption && o.Now.Sub(v.Since) >= o.Desired.KeepVolumes
}`,
		To: `return v.For != facts.CauseCorruption
}`,
		Package: planPackage, Test: keptRow("and not before"),
	},
	{
		Name: "the guard lets a kept copy go that differs", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `if v.For == facts.CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil ||
		r.Pod != nil ||`,
		To:      "if o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil || r.Pod != nil ||",
		Package: planPackage, Test: guardKeepsRow("a kept copy that differs"),
	},
	{
		Name: "the guard lets a kept volume go before its time", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `if v.For == facts.CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil ||
		r.Pod != nil ||`,
		To:      "if v.For == facts.CauseCorruption || r.Member != nil || r.Pod != nil ||",
		Package: planPackage, Test: guardKeepsRow("a kept volume before its time"),
	},

	{
		Name: "the guard lets a kept volume go of which nothing says since when", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `if v.For == facts.CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil ||
		r.Pod != nil ||
		v.Since.IsZero() {`,
		To: "if v.For == facts.CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil " +
			"|| r.Pod != nil {",
		Package: planPackage, Test: guardKeepsRow("a kept volume that no time is known of"),
	},
	{
		Name: "a kept volume goes under a member of its name", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `if v.For == facts.CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil ||
		r.Pod != nil ||`,
		To:      "if v.For == facts.CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Pod != nil ||",
		Package: planPackage, Test: guardKeepsRow("a kept volume whose name is a member's"),
	},
	{
		Name: "a member is removed before its volume is marked", Peer: "",
		File: "controllers/plan/replace.go",
		From: "if r.Volume != nil && !r.Volume.Terminating && r.Volume.RemovedFor != j.Cause && " +
			"keeps(o.Observation, j.Cause) {",
		To:      "if r.Volume != nil && !r.Volume.Terminating && r.Volume.RemovedFor != j.Cause && false {",
		Package: planPackage, Test: keptRow("the volume of a member whose data cannot be read is marked before the " +
			"member is removed"),
	},
	{
		Name: "volumes are kept although the user keeps none", Peer: "",
		File: "controllers/plan/replace.go",
		From: `func keeps(o facts.Observation, c facts.Cause) bool {
	return c == facts.CauseCorruption || o.Desired.KeepVolumes > 0
}`,
		To:      "func keeps(o facts.Observation, c facts.Cause) bool { return true }",
		Package: planPackage, Test: keptRow("and deleted where no volumes are kept"),
	},
	{
		Name: "what a replaced member left is deleted", Peer: "",
		File:    "controllers/plan/collect.go",
		From:    "if cause := r.Volume.RemovedFor; cause != facts.NoCause && keeps(o.Observation, cause) {",
		To:      "if cause := r.Volume.RemovedFor; cause != facts.NoCause && false {",
		Package: planPackage, Test: keptRow("what it leaves is put aside"),
	},
	{
		Name: "the guard puts a volume aside under a member", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `case !o.Membership.Known || r.Member != nil || r.Pod != nil:
		return fmt.Sprintf("it is not certain that no member lives on the volume %s.", c.Volume.Name)`,
		To: `case !o.Membership.Known || r.Pod != nil:
		return fmt.Sprintf("it is not certain that no member lives on the volume %s.", c.Volume.Name)`,
		Package: planPackage, Test: guardKeepsRow("a volume that is put aside under a member"),
	},
	{
		Name: "the guard puts a volume aside for another reason than was written", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "case !r.HasVolume(c.Volume) || c.For == facts.NoCause || r.Volume.RemovedFor != c.For:",
		To:      "case !r.HasVolume(c.Volume) || c.For == facts.NoCause:",
		Package: planPackage, Test: guardKeepsRow("a volume that is kept for another reason than was written on it"),
	},
	{
		Name: "data is given an owner on what a cache says", Peer: "",
		File:    "controllers/plan/changes/traits.go",
		From:    "if c.Retain {",
		To:      "if c.Retain || !c.Retain {",
		Package: planPackage, Test: "TestDataIsGivenAnOwnerOnlyAfterASecondLook",
	},
	{
		Name: "a member goes whose copy may be the right one", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    `if veto := guardCopies(o, c.Name); veto != "" {`,
		To:      "if veto := guardCopies(o, c.Name); false {",
		Package: planPackage, Test: "TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority",
	},
	{
		Name: "the volume of a removed member goes while copies are in doubt", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: `return guardCopies(o, r.Name)
}`,
		To: `return ""
}`,
		Package: planPackage, Test: guardKeepsRow("a volume that may hold the right copy"),
	},
	{
		Name: "the volume of a corrupt member goes", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "case r.Volume.RemovedFor == facts.CauseCorruption:",
		To:      "case false:",
		Package: planPackage, Test: guardKeepsRow("a volume of a corrupt member"),
	},
	{
		Name: "a corrupt copy is not kept where the user keeps none", Peer: "",
		File: "controllers/plan/replace.go",
		From: `func keeps(o facts.Observation, c facts.Cause) bool {
	return c == facts.CauseCorruption || o.Desired.KeepVolumes > 0
}`,
		To:      "func keeps(o facts.Observation, c facts.Cause) bool { return o.Desired.KeepVolumes > 0 }",
		Package: planPackage, Test: row("its volume is kept"),
	},
	{
		Name: "a member is started again and again to be heard", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "isStopped := r.HasNoProcess() && saidCopiesDiffer(r) && r.Pod.Flags == facts.FlagsSealed",
		To:      "isStopped := r.HasNoProcess() && saidCopiesDiffer(r)",
		Package: planPackage, Test: row("it is waited for while it starts"),
	},
	{
		Name: "a doubt ends once the member runs that had it", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "return !r.Pod.Running || r.Pod.Flags == facts.FlagsUncompared",
		To:      "return !r.Pod.Running",
		Package: planPackage, Test: row("a corrupt leader that stands alone hands over first"),
	},
	{
		Name: "a doubt never ends", Peer: "",
		File:    "controllers/plan/corruption.go",
		From:    "return !r.Pod.Running || r.Pod.Flags == facts.FlagsUncompared",
		To:      "return true",
		Package: planPackage, Test: keptRow("once a member compares again and runs no copy is in doubt"),
	},
	{
		Name: "an alarm ends while the member is there that it was raised for", Peer: "",
		File: "controllers/plan/alarms.go",
		From: `return o.Birth.Origin.IsZero() && haveEqualCopies(o) && len(o.Voters()) > 1 &&
		!slices.ContainsFunc(corrupt, isListed)`,
		To: "return o.Birth.Origin.IsZero() && haveEqualCopies(o) && len(o.Voters()) > 1 && (true || " +
			"isListed(corrupt[0]))",
		Package: planPackage, Test: row("an alarm of corruption of a member whose copy is as all others is a person's"),
	},
	{
		Name: "an alarm of the cluster that a backup was taken from is taken back", Peer: "",
		File: "controllers/plan/alarms.go",
		From: `return o.Birth.Origin.IsZero() && haveEqualCopies(o) && len(o.Voters()) > 1 &&
		!slices.ContainsFunc(corrupt, isListed)`,
		To:      "return haveEqualCopies(o) && len(o.Voters()) > 1 && !slices.ContainsFunc(corrupt, isListed)",
		Package: planPackage, Test: row("and not where a backup brought it along"),
	},
	{
		Name: "the name of a kept volume is given again", Peer: "",
		File:    "controllers/plan/size.go",
		From:    "for _, v := range o.Kept {",
		To:      "for _, v := range o.Kept[:0] {",
		Package: planPackage, Test: keptRow("a new member's name is above that of a kept volume"),
	},
	{
		Name: "a kept volume is a member's", Peer: "",
		File:    "controllers/observe/gather.go",
		From:    "ours.uid) && isKept(&volume):",
		To:      "ours.uid) && false:",
		Package: observePackage, Test: "TestAVolumeThatIsKeptIsOfNoMemberAndCountsFromWhenItWasPutAside",
	},
	{
		Name: "a kept volume whose time cannot be read is deleted at once", Peer: "",
		File:    "controllers/plan/collect.go",
		From:    "if v.Since.IsZero() {",
		To:      "if false {",
		Package: planPackage, Test: keptRow("one whose time cannot be read counts anew"),
	},
	{
		Name: "why a member is removed is not read", Peer: "",
		File:    "controllers/observe/volumes.go",
		From:    "facts.Cause(claim.Annotations[v1alpha1.AnnotationRemovedFor])",
		To:      "facts.Cause(claim.Annotations[\"removed\"])",
		Package: observePackage, Test: "TestAVolumeSaysWhyItsMemberIsRemoved",
	},
	{
		Name: "another volume of that name is marked", Peer: "",
		File: "controllers/apply/volumes.go",
		From: "AnnotationRemovedFor: &why}}\n\treturn s.patchMetadata(ctx, resources.KindVolume, " +
			"claimNamed(c.Volume.Name), c.Volume.UID",
		To: "AnnotationRemovedFor: &why}}\n\treturn s.patchMetadata(ctx, resources.KindVolume, " +
			"claimNamed(c.Volume.Name), \"\"",
		Package: applyPackage, Test: "TestTheVolumeOfAReplacedMemberSaysWhyAndSinceWhenItIsKeptAndNoOtherVolumeDoes",
	},
	{
		Name: "another volume of that name is put aside", Peer: "",
		File:    "controllers/apply/volumes.go",
		From:    "&since},\n\t}\n\treturn s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), c.Volume.UID",
		To:      "&since},\n\t}\n\treturn s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), \"\"",
		Package: applyPackage, Test: "TestTheVolumeOfAReplacedMemberSaysWhyAndSinceWhenItIsKeptAndNoOtherVolumeDoes",
	},
}
