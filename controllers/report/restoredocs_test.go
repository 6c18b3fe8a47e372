package report

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryReasonOfARestoreHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, "../../docs/restore.md")
	page.Same(t, "reason", docwords.Constants(t, "restoreconditions.go", "RestoreReason"), page.Rows(t, "### Reasons of an EtcdRestore", ""))
}
