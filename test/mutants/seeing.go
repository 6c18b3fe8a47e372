package main

// seeing are bugs by which a page, an alert or a dashboard tells of what is not there.
var seeing = []mutant{
	{
		Name:    "a flag gets another default, and its page keeps the old one",
		File:    "cmd/manager/options.go",
		From:    `"platform-ids", observe.PlatformIDsAuto,`,
		To:      `"platform-ids", observe.PlatformIDsTrue,`,
		Package: "./cmd/manager", Test: "TestEveryFlagIsDocumentedWithItsDefaultAndEveryDocumentedFlagIsThere",
	},
	{
		Name:    "an alarm is seen at the next look only",
		File:    "controllers/observe/pinger.go",
		From:    "heard{serves(status), fmt.Sprint(alarms)}",
		To:      "heard{serves(status), fmt.Sprint(alarms)[:0]}",
		Package: "./controllers/observe", Test: "TestAnAlarmThatIsRaisedOrTakenBackBetweenTwoLooksIsLookedAtWithinSeconds",
	},
	{
		Name:    "members' Pods are named anew while a budget still selects them by their name",
		File:    "controllers/observe/search.go",
		From:    "if kind == resources.KindPod && isSelectedByName {",
		To:      "if kind == resources.KindPod && !isSelectedByName && s.cluster == nil {",
		Package: "./controllers/observe", Test: "TestANewOperatorWritesOnceOnRecordsAndDataAndNothingElseForWhatAReleasedOneMade",
	},
	{
		Name:    "members' Pods have the labels that charts of etcd select",
		File:    "controllers/resources/labels.go",
		From:    "labels[v1alpha1.LabelName] = v1alpha1.MemberNameValue",
		To:      "labels[v1alpha1.LabelName] = v1alpha1.NameValue",
		Package: "./controllers/resources", Test: "TestWhatSelectsAsChartsOfEtcdDoSelectsNoMember",
	},
	{
		Name:    "no alert knows when a certificate ends",
		File:    "controllers/cluster/series.go",
		From:    "if !v.CertificateExpiry.IsZero() {",
		To:      "if v.CertificateExpiry.IsZero() {",
		Package: "./controllers/cluster", Test: "TestEveryMetricOfAClusterIsExported",
	},
	{
		Name:    "an advisory of etcd becomes known, and the page of support does not say so",
		File:    "pkg/etcdutil/vulnerabilities.go",
		From:    `{"GHSA-6vch-q96h-7gc3", []Version{{3, 5, 33}, {3, 6, 14}, {3, 7, 1}},`,
		To:      `{"GHSA-6vch-q96h-7gc3", []Version{{3, 5, 34}, {3, 6, 14}, {3, 7, 1}},`,
		Package: "./test/trust", Test: "TestThePageOfSupportHasTheVersionsOfEtcdThatTheOperatorJudgesSo",
	},
	{
		Name:    "the span of a pass does not say which rule spoke",
		File:    "controllers/kit/trace.go",
		From:    `{"rule", p.Rule}`,
		To:      `{"rule", ""}`,
		Package: "./controllers/cluster", Test: "TestASpanTellsOfWhichClusterAPassWasWhichRuleSpokeAndWhatCameOfItsChange",
	},
	{
		Name:    "passes wait for a collector that does not answer",
		File:    "cmd/manager/tracing.go",
		From:    "sdktrace.WithBatcher(exporter)",
		To:      "sdktrace.WithBatcher(exporter, sdktrace.WithBlocking())",
		Package: "./cmd/manager", Test: "TestACollectorThatDoesNotAnswerHoldsUpNoPassAndHardlyTheEnd",
	},
	{
		Name:    "the log tells of each batch of spans that is lost",
		File:    "cmd/manager/tracing.go",
		From:    "rate.Sometimes{First: 1, Interval: untracedEvery}",
		To:      "rate.Sometimes{Every: 1}",
		Package: "./cmd/manager", Test: "TestTheLogTellsOnceThatTracesCannotBeSent",
	},
	{
		Name:    "the status names the policy that refused first, long after another one refuses",
		File:    "controllers/report/step.go",
		From:    "words.Alike(first, text)",
		To:      "words.Alike(first, first)",
		Package: "./controllers/report", Test: "TestWhatRefusesNowIsNamedAndNotWhatRefusedFirst",
	},
	{
		Name:    "a quota's counts are news, and each try writes the status",
		File:    "controllers/words/words.go",
		From:    `passing.ReplaceAllString(text, "$1")`,
		To:      `passing.ReplaceAllString(text, "$0")`,
		Package: "./controllers/report", Test: "TestWhatRefusesNowIsNamedAndNotWhatRefusedFirst",
	},
	{
		Name:    "a number in the name of a member tells no member from another",
		File:    "controllers/words/words.go",
		From:    "(^|[^\\w.-])",
		To:      "(^|[^\\w.])",
		Package: "./controllers/words", Test: "TestTextsThatDifferInNumbersAndAddressesAreAlikeAndThoseOfAnotherCauseAreNot",
	},
}
