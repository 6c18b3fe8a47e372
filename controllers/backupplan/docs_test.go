package backupplan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryWordOfABackupHasASentenceInTheDocsAndNoOther(t *testing.T) {
	const status = "../../../api/v1alpha1/etcdbackup_status.go"
	page := docwords.Read(t, "../../../docs/backup.md")
	page.Same(t, "condition", docwords.Constants(t, status, "Backup"), page.Rows(t, "## How it is", "| Stage |"))
	page.Same(t, "stage", docwords.Constants(t, "reasons.go", "Stage"), page.Rows(t, "| Stage |", "## Reasons"))
	page.Same(t, "event", docwords.Constants(t, "reasons.go", "Event"), page.Rows(t, "## Events", "[Metrics]"))
	page.Same(t, "reason", docwords.Union(
		docwords.Constants(t, "reasons.go", "Reason"),
		docwords.Constants(t, "../../../pkg/backup/failure.go", "Reason"),
		docwords.Constants(t, "../../../cmd/agent/result.go", "reason"),
	), page.Rows(t, "## Reasons", "## Events"))
}
