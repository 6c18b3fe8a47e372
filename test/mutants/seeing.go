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
}
