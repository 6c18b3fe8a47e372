package main

// kept are bugs of the volumes that a judgement cost its member, and of how long they stay.
var kept = []mutant{
	{
		Name: "one answer of the API server says by which time volumes and members go", Peer: "",
		From: "return !o.Now.Before(at) && !o.Now.Add(-o.Ahead).Before(at)",
		To:   "return !o.Now.Before(at)",
		Test: guardKeepsRow("a kept volume whose time is over by the API server's clock alone"),
	},
	{
		Name: "a member is replaced by the API server's clock alone", Peer: "",
		From: "return !at.IsZero() && o.IsPast(at)",
		To:   "return !at.IsZero() && !o.Now.Before(at)",
		Test: row("a member that is silent is not replaced by one answer's time"),
	},
	{
		Name: "an approval that expired is one again by an old date", Peer: "",
		From: "today := o.Latest().Unix() /",
		To:   "today := o.Now.Unix() /",
		Test: "TestAnApprovalThatExpiredByEitherClockIsNone",
	},
	{
		Name: "looks do not read the clock of the operator's machine", Peer: "",
		From: "Now: frame.Now, Own: frame.Own,",
		To:   "Now: frame.Now,",
		Test: "TestAKeptVolumeOutlivesAnswersThatAreADayAhead",
	},
	{
		Name: "a volume is kept from a time on that was over before", Peer: "",
		From: "string(c.For), s.view.Latest()",
		To:   "string(c.For), s.Now()",
		Test: "TestTheVolumeOfAReplacedMemberSaysWhyAndSinceWhenItIsKeptAndNoOtherVolumeDoes",
	},
	{
		Name: "the volume of a corrupt member is not marked", Peer: "",
		From: "case r.Volume != nil && r.Volume.RemovedFor != facts.CauseCorruption:",
		To:   "case false:",
		Test: row("then its volume is marked"),
	},
	{
		Name: "a kept copy that differs is deleted", Peer: "",
		From: "return v.For != facts.CauseCorruption && o.IsPast(v.Since.Add(o.Desired.KeepVolumes))",
		To:   "return o.IsPast(v.Since.Add(o.Desired.KeepVolumes))",
		Test: keptRow("a kept copy that differs is not deleted at all"),
	},
	{
		Name: "a kept volume is deleted before its time", Peer: "",
		From: `return v.For != facts.CauseCorruption && o.IsPast(v.Since.Add(o.Desired.KeepVolumes))
}`,
		To: `return v.For != facts.CauseCorruption
}`,
		Test: keptRow("and not before"),
	},
	{
		Name: "the guard lets a kept copy go that differs", Peer: "",
		From: `if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil ||
		r.Pod != nil ||`,
		To:   "if !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil || r.Pod != nil ||",
		Test: guardKeepsRow("a kept copy that differs"),
	},
	{
		Name: "the guard lets a kept volume go before its time", Peer: "",
		From: `if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil ||
		r.Pod != nil ||`,
		To:   "if v.For == facts.CauseCorruption || r.Member != nil || r.Pod != nil ||",
		Test: guardKeepsRow("a kept volume before its time"),
	},

	{
		Name: "the guard lets a kept volume go of which nothing says since when", Peer: "",
		From: `if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil ||
		r.Pod != nil ||
		v.Since.IsZero() {`,
		To: "if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil " +
			"|| r.Pod != nil {",
		Test: guardKeepsRow("a kept volume that no time is known of"),
	},
	{
		Name: "a kept volume goes under a member of its name", Peer: "",
		From: `if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil ||
		r.Pod != nil ||`,
		To:   "if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Pod != nil ||",
		Test: guardKeepsRow("a kept volume whose name is a member's"),
	},
	{
		Name: "a member is removed before its volume is marked", Peer: "",
		From: "v.RemovedFor != cause && isVolumeKept(o.Observation, cause) {",
		To:   "v.RemovedFor != cause && false {",
		Test: keptRow("the volume of a member whose data cannot be read is marked before the " +
			"member is removed"),
	},
	{
		Name: "volumes are kept although the user keeps none", Peer: "",
		From: `func isVolumeKept(o facts.Observation, c facts.Cause) bool {
	return c == facts.CauseCorruption || c != facts.NoCause && o.Desired.KeepVolumes > 0
}`,
		To:   "func isVolumeKept(o facts.Observation, c facts.Cause) bool { return true }",
		Test: keptRow("and deleted where no volumes are kept"),
	},
	{
		Name: "what a replaced member left is deleted", Peer: "",
		From: "if cause := r.Volume.RemovedFor; cause != facts.NoCause && isVolumeKept(o.Observation, cause) {",
		To:   "if cause := r.Volume.RemovedFor; cause != facts.NoCause && false {",
		Test: keptRow("what it leaves is put aside"),
	},
	{
		Name: "the guard puts a volume aside under a member", Peer: "",
		From: `case !o.Membership.Known || r.Member != nil || r.Pod != nil:
		return dataAtRisk("it is not certain that no member lives on the volume %s.", c.Volume.Name)`,
		To: `case !o.Membership.Known || r.Pod != nil:
		return dataAtRisk("it is not certain that no member lives on the volume %s.", c.Volume.Name)`,
		Test: guardKeepsRow("a volume that is put aside under a member"),
	},
	{
		Name: "the guard puts a volume aside for another reason than was written", Peer: "",
		From: "case !r.HasVolume(c.Volume) || c.For == facts.NoCause || r.Volume.RemovedFor != c.For:",
		To:   "case !r.HasVolume(c.Volume) || c.For == facts.NoCause:",
		Test: guardKeepsRow("a volume that is kept for another reason than was written on it"),
	},
	{
		Name: "the volume of a removed member goes while copies are in doubt", Peer: "",
		From: `return guardCopies(o, r.Name)
}`,
		To: `return Veto{}
}`,
		Test: guardKeepsRow("a volume that may hold the right copy"),
	},
	{
		Name: "the volume of a corrupt member goes", Peer: "",
		From: "case r.Volume.RemovedFor == facts.CauseCorruption:",
		To:   "case false:",
		Test: guardKeepsRow("a volume of a corrupt member"),
	},
	{
		Name: "a corrupt copy is not kept where the user keeps none", Peer: "",
		From: `func isVolumeKept(o facts.Observation, c facts.Cause) bool {
	return c == facts.CauseCorruption || c != facts.NoCause && o.Desired.KeepVolumes > 0
}`,
		To:   "func isVolumeKept(o facts.Observation, c facts.Cause) bool { return o.Desired.KeepVolumes > 0 }",
		Test: row("its volume is kept"),
	},
	{
		Name: "the name of a kept volume is given again", Peer: "",
		From: "for _, v := range o.Kept {\n\t\thighest =",
		To:   "for _, v := range o.Kept[:0] {\n\t\thighest =",
		Test: keptRow("a new member's name is above that of a kept volume"),
	},
	{
		Name: "a kept volume is a member's", Peer: "",
		From: "ours.uid) && isKept(&volume):",
		To:   "ours.uid) && false:",
		Test: "TestAVolumeThatIsKeptIsOfNoMemberAndCountsFromWhenItWasPutAside",
	},
	{
		Name: "a kept volume whose time cannot be read is deleted at once", Peer: "",
		From: "if v.Since.IsZero() {\n\t\t\treturn act(",
		To:   "if false {\n\t\t\treturn act(",
		Test: keptRow("one whose time cannot be read counts anew"),
	},
	{
		Name: "why a member is removed is not read", Peer: "",
		From: "facts.Cause(claim.Annotations[v1alpha1.AnnotationRemovedFor])",
		To:   "facts.Cause(claim.Annotations[\"removed\"])",
		Test: "TestAVolumeSaysWhyItsMemberIsRemoved",
	},
	{
		Name: "a kept volume does not follow deletionPolicy", Peer: "",
		From: "slices.Concat(g.volumes, g.kept, g.halves()), keys.cas)",
		To:   "slices.Concat(g.volumes, g.halves()), keys.cas)",
		Test: "TestReleaseIsPendingUntilOwnersFollowTheDeletionPolicy",
	},
	{
		Name: "another volume of that name is marked", Peer: "",
		From: "[]facts.VolumeRef{c.Volume}, v1alpha1.AnnotationRemovedFor",
		To:   "[]facts.VolumeRef{{Name: c.Volume.Name}}, v1alpha1.AnnotationRemovedFor",
		Test: "TestTheVolumeOfAReplacedMemberSaysWhyAndSinceWhenItIsKeptAndNoOtherVolumeDoes",
	},
	{
		Name: "another volume of that name is put aside", Peer: "",
		From: "&since},\n\t}\n\treturn s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), c.Volume.UID",
		To:   "&since},\n\t}\n\treturn s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), \"\"",
		Test: "TestTheVolumeOfAReplacedMemberSaysWhyAndSinceWhenItIsKeptAndNoOtherVolumeDoes",
	},
}
