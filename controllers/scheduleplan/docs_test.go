package scheduleplan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryWordOfAScheduleHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, "../../docs/backup.md")
	page.Same(t, "word", docwords.Union(
		docwords.Constants(t, ".", "Reason", "Event"),
		docwords.Constants(t, "../../api/v1alpha1", "Schedule"),
	), page.Rows(t, "\n## Schedules\n", ""))
}
