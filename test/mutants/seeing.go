package main

// seeing are bugs by which a page, an alert or a dashboard tells of what is not there.
var seeing = []mutant{
	{
		Name: "a flag gets another default, and its page keeps the old one",
		From: `"platform-ids", observe.PlatformIDsAuto,`,
		To:   `"platform-ids", observe.PlatformIDsTrue,`,
		Test: "TestEveryFlagIsDocumentedWithItsDefaultAndEveryDocumentedFlagIsThere",
	},
	{
		Name: "an alarm is seen at the next look only",
		From: "heard{serves(status), fmt.Sprint(alarms)}",
		To:   "heard{serves(status), fmt.Sprint(alarms)[:0]}",
		Test: "TestAnAlarmThatIsRaisedOrTakenBackBetweenTwoLooksIsLookedAtWithinSeconds",
	},
	{
		Name: "members' Pods are named anew while a budget still selects them by their name",
		From: "if kind == resources.KindPod && isSelectedByName {",
		To:   "if kind == resources.KindPod && !isSelectedByName && s.cluster == nil {",
		Test: "TestANewOperatorWritesOnceOnRecordsAndDataAndNothingElseForWhatAReleasedOneMade",
	},
	{
		Name: "a Pod that is made while Services select by the old name is found by none",
		From: "if s.SelectedByName {",
		To:   "if s.SelectedByName && s.Name == \"\" {",
		Test: "TestAMemberThatRestartsWhileAPolicyKeepsTheServicesAsTheyWereIsFoundByThem",
	},
	{
		Name: "two webhooks that refuse in turn are a write for each answer",
		From: "if r.alternates(key, old, status) {",
		To:   "if false {",
		Test: "TestTwoWebhooksThatRefuseInTurnAreToldOnceAMinuteAndWhatIsNewAtOnce",
	},
	{
		Name: "members' Pods have the labels that charts of etcd select",
		From: "labels[v1alpha1.LabelName] = v1alpha1.MemberNameValue",
		To:   "labels[v1alpha1.LabelName] = v1alpha1.NameValue",
		Test: "TestWhatSelectsAsChartsOfEtcdDoSelectsNoMember",
	},
	{
		Name: "a warning of members on one node comes and goes with each restart",
		From: "(isKnown || in.hasWarned(said))",
		To:   "isKnown",
		Test: "TestAMemberThatIsRestartedDoesNotEndAWarningOfMembersOnOneNode",
	},
	{
		Name: "one node carries two of three voters, and nothing tells it",
		From: "if len(members) < 2 || voters-len(members) >= etcdutil.Quorum(voters) {",
		To:   "if len(members) < 2 || len(members) < voters {",
		Test: "TestMembersOnOneNodeThatTheOthersAreNoQuorumWithoutAreAWarning",
	},
	{
		Name: "certificates of a member that was removed stay where its volume was deleted before",
		From: "return leftovers{names: namesBelow(cluster, 0, bootstrap.NextOrdinal), areUnused: true,",
		To:   "return leftovers{",
		Test: "TestAtRestOnlyMembersHaveCertificates",
	},
	{
		Name: "certificates of members whose quorum was lost stay after the rebuild",
		From: "namesBelow(cluster, 0, bootstrap.NextOrdinal)",
		To:   "given(cluster, bootstrap)",
		Test: "TestAfterARebuildOnlyMembersHaveCertificates",
	},
	{
		Name: "each look reads the certificates of all members that ever were",
		From: "get = keys.reader.GetLeft",
		To:   "get = keys.reader.Get",
		Test: "TestOneLookInFiveMinutesAsksForCertificatesThatAreGone",
	},
	{
		Name: "members in one zone are a warning where nothing asks for several",
		From: `if said != "" || !in.Observation.Desired.SpreadsOverZones {`,
		To:   `if said != "" {`,
		Test: "TestAllMembersInOneZoneAreAWarningWhereTheSpecSpreadsThemOverZones",
	},
	{
		Name: "no alert knows when a certificate ends",
		From: "if !v.CertificateExpiry.IsZero() {",
		To:   "if v.CertificateExpiry.IsZero() {",
		Test: "TestEveryMetricOfAClusterIsExported",
	},
	{
		Name: "an advisory of etcd becomes known, and the page of support does not say so",
		From: `{"GHSA-6vch-q96h-7gc3", []Version{release(3, 5, 33), release(3, 6, 14), release(3, 7, 1)},`,
		To:   `{"GHSA-6vch-q96h-7gc3", []Version{release(3, 5, 34), release(3, 6, 14), release(3, 7, 1)},`,
		Test: "TestThePageOfSupportHasTheVersionsOfEtcdThatTheOperatorJudgesSo",
	},
	{
		Name: "the span of a pass does not say which rule spoke",
		From: `{"rule", p.Rule}`,
		To:   `{"rule", ""}`,
		Test: "TestASpanTellsOfWhichClusterAPassWasWhichRuleSpokeAndWhatCameOfItsChange",
	},
	{
		Name: "passes wait for a collector that does not answer",
		From: "sdktrace.WithBatcher(exporter)",
		To:   "sdktrace.WithBatcher(exporter, sdktrace.WithBlocking())",
		Test: "TestACollectorThatDoesNotAnswerHoldsUpNoPassAndHardlyTheEnd",
	},
	{
		Name: "the log tells of each batch of spans that is lost",
		From: "rate.Sometimes{First: 1, Interval: untracedEvery}",
		To:   "rate.Sometimes{Every: 1}",
		Test: "TestTheLogTellsOnceThatTracesCannotBeSent",
	},
	{
		Name: "the status names the policy that refused first, long after another one refuses",
		From: "words.Alike(first, text)",
		To:   "words.Alike(first, first)",
		Test: "TestWhatRefusesNowIsNamedAndNotWhatRefusedFirst",
	},
	{
		Name: "a quota's counts are news, and each try writes the status",
		From: `passing.ReplaceAllString(text, "$1")`,
		To:   `passing.ReplaceAllString(text, "$0")`,
		Test: "TestWhatRefusesNowIsNamedAndNotWhatRefusedFirst",
	},
	{
		Name: "a number in the name of a member tells no member from another",
		From: "(^|[^\\w.-])",
		To:   "(^|[^\\w.])",
		Test: "TestTextsThatDifferInNumbersAndAddressesAreAlikeAndThoseOfAnotherCauseAreNot",
	},
}
