package trust

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// figures are numbers on pages that are constants in code: the text of the constant, and what the page makes of it.
// Change both.
var figures = []struct{ code, page, says string }{
	{`DefaultStorageSize = "8Gi"`, "docs/install.md", "A member asks for 8Gi of disk"},
	{`DefaultStorageSize = "8Gi"`,
		"docs/sizes.md", "A member asks for 100m of CPU, 512Mi of memory and a volume of 8Gi"},
	{"DefaultReplaceAfter = 5 * time.Minute",
		"docs/alerts.md", "`repair.replaceAfter` (5 minutes unless you set it)"},
	{"DefaultReplaceAfter = 5 * time.Minute",
		"docs/failures.md", "`repair.replaceAfter` (5 minutes unless you set it)"},
	{"DefaultReplaceAfter = 5 * time.Minute", "docs/pictures/lost-node.d2", "5 min later"},
	{"DefaultKeepVolumes = 24 * time.Hour", "docs/pictures/lost-node.d2", "for 24 h"},
	{"keepFinishedJobs = 3600", "docs/what-it-creates.md", "An hour after its outcome was recorded"},
	{"keepFinishedScheduled = 3600", "docs/what-it-creates.md", "An hour after its end"},
	{"DefaultKeepVolumes = 24 * time.Hour",
		"docs/conditions.md", "`spec.repair.keepVolumes` (24h by default"},
	{"DefaultBackupAge = 48 * time.Hour",
		"docs/backup.md", "the newest proven backup may be 48 hours old"},
	{"DefaultQuotaBackendBytes int64 = 2 << 30",
		"docs/sizes.md", "2 GiB by default, here as there"},
	{"DefaultReplaceAfter = 5 * time.Minute",
		"docs/faq.md", "`spec.repair.replaceAfter`, which is 5 minutes unless you set it"},
	{"DefaultQuotaBackendBytes int64 = 2 << 30",
		"docs/moving-in.md", "the quota, which is 2Gi without the field"},
	{"RoomPercent = 80", "docs/restore.md", "less than 80 % of its quota"},
	{"logMargin = 5_200", "docs/upgrade.md", "at least 5,200 entries"},
	{"snapshotAtMost = 100_000",
		"docs/upgrade.md", "`spec.etcd.snapshotCount` is at most 100,000"},
	{"DefaultBump int64 = 1_000_000_000",
		"docs/disaster-recovery.md", "with revisions a billion higher"},
	{"roomToBegin = record.DefaultBump / 2",
		"docs/restore.md", "half a billion or more above everything served"},
	{"roomToSwitch = record.DefaultBump / 10",
		"docs/restore.md", "only while 100 million of that are left"},
	{"approvalLife = 24 * time.Hour",
		"docs/restore.md", "An approval is valid until the end of the next day (UTC)"},
	{"claimRests = 40 * time.Second",
		"docs/platforms.md", "The second install waits for 40 seconds"},
	{"claimRests = 40 * time.Second",
		"docs/conditions.md", "It begins 40 seconds after the claim is its own"},
	{"lastBrake = 30 * time.Second",
		"docs/conditions.md", "at most one change in 30 s"},
	{"lastBrake = 30 * time.Second", "docs/rules.md", "one change in 30 s"},
	{"slowLoadBalancer = 3 * time.Minute",
		"docs/connect.md", "After three minutes the status warns of it"},
	{"leaveSeconds = 2",
		"docs/failures/changes.md", "A member serves for 2 s after Kubernetes was told to stop it"},
	{"pruneWindow = 5 * time.Minute",
		"docs/backup.md", "The Job deletes for up to five minutes"},
	{"clockSlack = 5 * time.Minute",
		"docs/backup.md", "A clock that is behind for less than five minutes"},
	{"DefaultLargestDepth = 2",
		"docs/backup.md", "is the number of that `/`: 2 by default"},
	{"longestPrefix = 128",
		"docs/backup.md", "A prefix of more than 128 bytes counts by its parent"},
	{"manyPrefixes = 1000",
		"docs/backup.md", "With more than 2,000 prefixes, each that takes more than a thousandth of the bytes is found"},
	{"goneAfter = 2 * time.Minute",
		"docs/kubectl.md", "was not renewed for 2 minutes"},
	{"goneAfterRelease = 15 * time.Second",
		"docs/kubectl.md", "counts as gone after 15 seconds"},
	{"leaseLasts = 6 * time.Second",
		"config/monitoring/alerts.yaml", "from another that crashed, which is 11 s"},
	{"outage = 5 * time.Second",
		"config/monitoring/alerts.yaml", "from another that crashed, which is 11 s"},
	{"DefaultCAValidity = 10 * 365 * 24 * time.Hour",
		"docs/certificates.md", "A CA lasts ten years"},
	{"DefaultLeafValidity = 365 * 24 * time.Hour",
		"docs/connect.md", "after two thirds of a year"},
}

func TestEachFigureOnAPageIsTheConstantOfTheCode(t *testing.T) {
	code := shipped(t)
	for _, f := range figures {
		if strings.Count(code, f.code+" ") != 1 {
			t.Errorf("no one place says %q any more: see what %s makes of it", f.code, f.page)
		}
		if !strings.Contains(oneLine(read(t, f.page)), f.says) {
			t.Errorf("%s does not say %q, which is %s", f.page, f.says, f.code)
		}
	}
}

// shipped is all code that is no test.
func shipped(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	for _, file := range files(t) {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "test/") {
			code.WriteString(oneLine(read(t, file)) + " ")
		}
	}
	return code.String()
}

// oneLine has one space where a text has several, or goes on in the next line.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n> ", "\n")), " ")
}

func TestThePageOfSizesNamesEachGroupOfFigures(t *testing.T) {
	const page, program = "docs/sizes.md", "test/bench/main.go"
	var there, named []string
	for _, m := range regexp.MustCompile(`(?m)^\t\{"([a-z]+)", measure`).FindAllStringSubmatch(read(t, program), -1) {
		there = append(there, m[1])
	}
	_, table, _ := strings.Cut(read(t, page), "\n| `-figures` | ")
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| ").FindAllStringSubmatch(table, -1) {
		for _, m := range inCode.FindAllStringSubmatch(row[1], -1) {
			named = append(named, m[1])
		}
	}
	slices.Sort(there)
	slices.Sort(named)
	if len(there) < 10 || !slices.Equal(there, named) {
		t.Errorf("%s names %v, and %s measures %v", page, named, program, there)
	}
}
