package main

const recordPackage = "./controllers/record"

// records are bugs in what the operator writes down about a cluster.
var records = []mutant{
	{
		Name: "what a newer release wrote into a record is dropped", Peer: "",
		File:    "controllers/record/form.go",
		From:    "if err != nil || kept == \"\" {",
		To:      "if err != nil || kept != \"x\" {",
		Package: recordPackage, Test: "TestFieldsThatThisReleaseDoesNotKnowAreWrittenBackAsTheyWere",
	},
	{
		Name: "a record that only a newer release may read is read", Peer: "",
		File:    "controllers/record/form.go",
		From:    "how.LeastReader > Version {",
		To:      "how.LeastReader > Version+9 {",
		Package: recordPackage, Test: "TestARecordThatAnOlderReleaseMayNotReadIsRefusedWhateverItsForm",
	},
	{
		Name: "a field of the release before has another name", Peer: "",
		File:    "controllers/record/birth.go",
		From:    "`json:\"past,omitempty\"`",
		To:      "`json:\"former,omitempty\"`",
		Package: recordPackage, Test: "TestWhatAReleaseBeforeWroteIsReadAsItIs",
	},
	{
		Name: "a counter is used twice after a bootstrap was given up", Peer: "",
		File:    "controllers/record/edit.go",
		From:    "next.NextOrdinal, next.LastCounter = b.NextOrdinal, b.LastCounter",
		To:      "next.NextOrdinal = b.NextOrdinal",
		Package: recordPackage, Test: "TestAnEditFindsTheRecordThatItsCallerSawOrChangesNothing",
	},
	{
		Name: "a record of the release before is written for its form alone", Peer: "",
		File:    "controllers/apply/birth.go",
		From:    "before := birth.Encode()",
		To:      "before := service.GetAnnotations()[v1alpha1.AnnotationBirth]",
		Package: applyPackage, Test: "TestARecordOfTheReleaseBeforeIsNotWrittenForItsFormAlone",
	},
	{
		Name: "a record names a volume that the member does not run on", Peer: "",
		File:    "controllers/plan/membership.go",
		From:    "if r.Pod == nil || r.Volume == nil || r.Volume.Created.After(r.Pod.Created) {",
		To:      "if r.Pod == nil || r.Volume == nil {",
		Package: planPackage, Test: "TestARecordNamesTheVolumeThatTheMemberAnsweredOn",
	},
	{
		Name: "a member's record that only a newer release may read is read all the same", Peer: "",
		File:    "controllers/record/member.go",
		From:    "if err := decode(text, &m); err != nil {",
		To:      "if err := m.UnmarshalJSON([]byte(text)); err != nil {",
		Package: recordPackage, Test: "TestAMembersRecordThatIsBrokenIsNeverTakenForNone",
	},
	{
		Name: "what was written of a member of another cluster stays", Peer: "",
		File:    "controllers/record/member.go",
		From:    "if !m.IsOf(cluster, member) {",
		To:      "if m.MemberID != member {",
		Package: recordPackage, Test: "TestARecordFollowsTheMemberThatAnswers",
	},
	{
		Name: "a record forgets that a newer release wrote it", Peer: "",
		File:    "controllers/record/form.go",
		From:    "RecordVersion: max(f.RecordVersion, Version)",
		To:      "RecordVersion: Version",
		Package: recordPackage, Test: "TestARecordFollowsTheMemberThatAnswers",
	},
	{
		Name: "a volume whose record cannot be read is one without a record", Peer: "",
		File:    "controllers/observe/volumes.go",
		From:    "\tif err != nil {\n\t\treturn nil, Unreadable{Kind: resources.KindVolume",
		To:      "\tif false {\n\t\treturn nil, Unreadable{Kind: resources.KindVolume",
		Package: observePackage, Test: "TestARecordThatCannotBeReadIsAnErrorAndNotNoRecord",
	},
	{
		Name: "a newer record that an earlier cluster left is taken for a damaged one", Peer: "",
		File:    "controllers/observe/retained.go",
		From:    "; errors.As(err, new(record.TooNew)) {",
		To:      "; errors.As(err, new(record.TooNew)) && false {",
		Package: observePackage,
		Test:    "TestARetainedRecordThatOnlyANewerReleaseMayReadIsNamedAndADamagedOneSaysNothing",
	},
	{
		Name: "a cluster is resumed although only a newer release may read its records", Peer: "",
		File:    "controllers/plan/resume.go",
		From:    `if newer := facts.Filter(volumes, func(v facts.Retained) bool { return v.TooNew != "" }); len(newer) > 0 {`,
		To:      `if newer := facts.Filter(volumes, func(v facts.Retained) bool { return v.TooNew != "" }); len(newer) > 9 {`,
		Package: planPackage, Test: row("not when a newer release wrote a record of it"),
	},
	{
		Name: "a birth record without a token passes for a whole one", Peer: "",
		File:    "controllers/record/birth.go",
		From:    `case b.Incarnation == "" || b.Token == "" ||`,
		To:      `case b.Incarnation == "" ||`,
		Package: recordPackage, Test: "FuzzABirthRecordThatIsReadIsWrittenAsItWas",
	},
}
