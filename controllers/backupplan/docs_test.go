package backupplan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryWordOfABackupHasASentenceInTheDocsAndNoOther(t *testing.T) {
	const api = "../../api/v1alpha1"
	page := docwords.Read(t, "../../docs/backup.md")
	page.Same(t, "condition", docwords.Constants(t, api, "Backup"), page.Rows(t, "## How it is", "| Stage |"))
	page.Same(t, "stage", docwords.Constants(t, ".", "Stage"), page.Rows(t, "| Stage |", "### What is recorded"))
	page.Same(t, "event", docwords.Constants(t, ".", "Event"), page.Rows(t, "## Events", "[Metrics]"))
	page.Same(t, "reason", docwords.Union(
		docwords.Constants(t, ".", "Reason"), map[string]bool{facts.ReasonImagePull: true, facts.ReasonNotMounted: true},
		docwords.Constants(t, "../../pkg/backup/manifest.go", "Reason"),
		docwords.Constants(t, "../../cmd/agent", "reason"),
	), page.Rows(t, "## Reasons", "## Events"))
}
