package main

// records are bugs in what the operator writes down about a cluster.
var records = []mutant{
	{
		Name: "what a newer release wrote into a record is dropped", Peer: "",
		From: "if err != nil || kept == \"\" {",
		To:   "if err != nil || kept != \"x\" {",
		Test: "TestFieldsThatThisReleaseDoesNotKnowAreWrittenBackAsTheyWere",
	},
	{
		Name: "a record that only a newer release may read is read", Peer: "",
		From: "how.LeastReader > Version {",
		To:   "how.LeastReader > Version+9 {",
		Test: "TestARecordThatAnOlderReleaseMayNotReadIsRefusedInAnyForm",
	},
	{
		Name: "a field of the release before has another name", Peer: "",
		From: "`json:\"past,omitempty\"`",
		To:   "`json:\"former,omitempty\"`",
		Test: "TestWhatAReleaseBeforeWroteIsReadAsItIs",
	},
	{
		Name: "a counter is used twice after a bootstrap was given up", Peer: "",
		From: "next.NextOrdinal, next.LastCounter = b.NextOrdinal, b.LastCounter",
		To:   "next.NextOrdinal = b.NextOrdinal",
		Test: "TestAnEditFindsTheRecordThatItsCallerSawOrChangesNothing",
	},
	{
		Name: "a record of the release before is written for its form alone", Peer: "",
		From: "before := bootstrap.Encode()",
		To:   "before := service.GetAnnotations()[v1alpha1.AnnotationBootstrap]",
		Test: "TestARecordOfTheReleaseBeforeIsNotWrittenForItsFormAlone",
	},
	{
		Name: "a record names a volume that the member does not run on", Peer: "",
		From: "if r.Pod == nil || r.Volume == nil || r.Volume.Created.After(r.Pod.Created) {",
		To:   "if r.Pod == nil || r.Volume == nil {",
		Test: "TestARecordNamesTheVolumeThatTheMemberAnsweredOn",
	},
	{
		Name: "a member's record that only a newer release may read is read all the same", Peer: "",
		From: "if err := decode(text, &m); err != nil {",
		To:   "if err := m.UnmarshalJSON([]byte(text)); err != nil {",
		Test: "TestAMembersRecordThatIsBrokenIsNeverTakenForNone",
	},
	{
		Name: "what was written of a member of another cluster stays", Peer: "",
		From: "if !m.IsOf(cluster, member) {",
		To:   "if m.MemberID != member {",
		Test: "TestARecordFollowsTheMemberThatAnswers",
	},
	{
		Name: "a record forgets that a newer release wrote it", Peer: "",
		From: "RecordVersion: max(f.RecordVersion, Version)",
		To:   "RecordVersion: Version",
		Test: "TestARecordFollowsTheMemberThatAnswers",
	},
	{
		Name: "a volume whose record cannot be read is one without a record", Peer: "",
		From: "\tif err != nil {\n\t\treturn nil, Unreadable{Kind: resources.KindVolume",
		To:   "\tif false {\n\t\treturn nil, Unreadable{Kind: resources.KindVolume",
		Test: "TestARecordThatCannotBeReadIsAnErrorAndNotNoRecord",
	},
	{
		Name: "a newer record that an earlier cluster left is taken for a damaged one", Peer: "",
		From: "; errors.As(err, new(record.TooNew)) {",
		To:   "; errors.As(err, new(record.TooNew)) && false {",
		Test: "TestARetainedRecordThatOnlyANewerReleaseMayReadIsNamedAndADamagedOneSaysNothing",
	},
	{
		Name: "a cluster is resumed although only a newer release may read its records", Peer: "",
		From: `if newer := facts.Filter(volumes, func(v facts.Retained) bool { return v.TooNew != "" }); len(newer) > 0 {`,
		To:   `if newer := facts.Filter(volumes, func(v facts.Retained) bool { return v.TooNew != "" }); len(newer) > 9 {`,
		Test: row("not when a newer release wrote a record of it"),
	},
	{
		Name: "a bootstrap record without a token passes for a whole one", Peer: "",
		From: `case b.Incarnation == "" || b.Token == "" ||`,
		To:   `case b.Incarnation == "" ||`,
		Test: "FuzzABootstrapRecordThatIsReadIsWrittenAsItWas",
	},
}
