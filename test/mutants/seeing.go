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
}
