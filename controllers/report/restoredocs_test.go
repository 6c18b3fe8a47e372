package report

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryReasonOfARestoreHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, "../../docs/restore.md")
	page.Same(t, "reason", docwords.Constants(t, ".", "RestoreReason"), page.Rows(t, "### Reasons of an EtcdRestore", ""))
}

func TestEveryConditionOfARestoreHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, "../../docs/restore.md")
	code := docwords.Constants(t, "../../api/v1alpha1", "Restore")
	page.Same(t, "condition", code, page.Rows(t, "### Conditions of an EtcdRestore", "### Reasons of an EtcdRestore"))
}
