package trust

import (
	"strings"
	"testing"
)

// figures are numbers on pages that are constants in code: where the constant is, and what the page makes of it. Change
// both.
var figures = []struct{ file, code, page, says string }{
	{"api/v1alpha1/defaults.go", `DefaultStorageSize = "8Gi"`, "docs/install.md", "A member asks for 8Gi of disk"},
	{"api/v1alpha1/defaults.go", "DefaultReplaceAfter = 5 * time.Minute",
		"docs/alerts.md", "`repair.replaceAfter` (5 minutes unless you set it)"},
	{"api/v1alpha1/defaults.go", "DefaultReplaceAfter = 5 * time.Minute",
		"docs/failures.md", "`repair.replaceAfter` (5 minutes unless you set it)"},
	{"api/v1alpha1/defaults.go", "DefaultKeepVolumes = 24 * time.Hour",
		"docs/conditions.md", "`spec.repair.keepVolumes` (24h by default"},
	{"api/v1alpha1/defaults.go", "DefaultBackupAge = 48 * time.Hour",
		"docs/backup.md", "the newest proven backup may be 48 hours old"},
	{"controllers/resources/defaults.go", "DefaultQuotaBackendBytes int64 = 2 << 30",
		"docs/moving-in.md", "the quota, which is 2Gi without the field"},
	{"controllers/plan/facts/room.go", "RoomPercent = 80", "docs/restore.md", "less than 80 % of its quota"},
	{"controllers/plan/facts/log.go", "logMargin = 5_200", "docs/upgrade.md", "at least 5,200 entries"},
	{"controllers/plan/facts/minor.go", "snapshotAtMost = 100_000",
		"docs/upgrade.md", "`spec.etcd.snapshotCount` is at most 100,000"},
	{"controllers/record/revisions.go", "DefaultBump int64 = 1_000_000_000",
		"docs/disaster-recovery.md", "with revisions a billion higher"},
	{"controllers/plan/facts/revisions.go", "roomToBegin = record.DefaultBump / 2",
		"docs/restore.md", "half a billion or more above everything served"},
	{"controllers/plan/facts/revisions.go", "roomToSwitch = record.DefaultBump / 10",
		"docs/restore.md", "only while 100 million of that are left"},
	{"controllers/plan/evidence.go", "approvalLife = 24 * time.Hour",
		"docs/restore.md", "An approval is valid until the end of the next day (UTC)"},
	{"controllers/plan/ownership.go", "claimRests = 40 * time.Second",
		"docs/platforms.md", "The second install waits for 40 seconds"},
	{"controllers/plan/ownership.go", "claimRests = 40 * time.Second",
		"docs/conditions.md", "It begins 40 seconds after the claim is its own"},
	{"controllers/cluster/brake.go", "lastBrake = 30 * time.Second",
		"docs/conditions.md", "at most one change in 30 s"},
	{"controllers/cluster/brake.go", "lastBrake = 30 * time.Second", "docs/rules.md", "one change in 30 s"},
	{"controllers/report/outside.go", "slowLoadBalancer = 3 * time.Minute",
		"docs/connect.md", "After three minutes the status warns of it"},
	{"controllers/resources/probes.go", "leaveSeconds = 2",
		"docs/failures.md", "A member serves for 2 s after Kubernetes was told to stop it"},
	{"controllers/schedule/chores.go", "pruneWindow = 5 * time.Minute",
		"docs/backup.md", "The Job deletes for up to five minutes"},
	{"controllers/scheduleplan/observation.go", "clockSlack = 5 * time.Minute",
		"docs/backup.md", "A clock that is behind for less than five minutes"},
	{"cmd/kubectl-etcd-steward/operator.go", "goneAfter = 2 * time.Minute",
		"docs/kubectl.md", "was not renewed for 2 minutes"},
	{"cmd/kubectl-etcd-steward/operator.go", "goneAfterRelease = 15 * time.Second",
		"docs/kubectl.md", "counts as gone after 15 seconds"},
	{"cmd/manager/lock.go", "leaseLasts = 6 * time.Second",
		"config/monitoring/alerts.yaml", "from another that crashed, which is 11 s"},
	{"cmd/manager/lock.go", "outage = 5 * time.Second",
		"config/monitoring/alerts.yaml", "from another that crashed, which is 11 s"},
	{"pkg/pki/authority.go", "DefaultAuthorityValidity = 10 * 365 * 24 * time.Hour",
		"docs/connect.md", "`ca.crt` is good for ten years"},
	{"pkg/pki/authority.go", "DefaultLeafValidity = 365 * 24 * time.Hour",
		"docs/connect.md", "after two thirds of a year"},
}

func TestEachFigureOnAPageIsTheConstantOfTheCode(t *testing.T) {
	for _, f := range figures {
		if !strings.Contains(oneLine(read(t, f.file)), f.code+" ") {
			t.Errorf("%s does not say %q any more: see what %s makes of it", f.file, f.code, f.page)
		}
		if !strings.Contains(oneLine(read(t, f.page)), f.says) {
			t.Errorf("%s does not say %q, which is %s of %s", f.page, f.says, f.code, f.file)
		}
	}
}

// oneLine has one space where a text has several, or goes on in the next line.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n> ", "\n")), " ")
}
