package report

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/docwords"
)

const conditionsPage = "../../docs/conditions.md"

func TestEveryConditionHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, conditionsPage)
	code := docwords.Constants(t, "../../api/v1alpha1", "Condition")
	page.Same(t, "condition", code, page.Rows(t, "## Conditions\n", "Some fields of the status"))
}

func TestEveryReasonOfAConditionHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, conditionsPage)
	code := docwords.Union(
		docwords.Constants(t, "../plan/facts", "Reason"),
		docwords.Constants(t, ".", "Reason"),
		docwords.Constants(t, "../apply", "Later", "Rejected"),
	)
	page.Same(t, "reason", code, page.Rows(t, "## Reasons of the next step", "## Reasons of members"))
}

func TestEveryReasonOfAMemberHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, conditionsPage)
	code := docwords.Union(docwords.Constants(t, "../plan/facts", "Member"),
		docwords.Constants(t, "../../pkg/etcdutil", "Exit"))
	delete(code, "Unknown") // is shown as Stopped
	page.Same(t, "member's reason", code, page.Rows(t, "## Reasons of members", "## Volumes that are kept"))
}

func TestEveryReasonToKeepAVolumeHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, conditionsPage)
	code := docwords.Constants(t, "../plan/facts", "Cause")
	for cause := range code {
		if facts.Cause(cause).Kind() == facts.RecursKind {
			delete(code, cause) // no member is replaced for it
		}
	}
	delete(code, string(facts.CausePod)) // its data was no volume
	page.Same(t, "reason to keep a volume", code, page.Rows(t, "## Volumes that are kept", "## Events"))
}

func TestEveryReasonOfAnEventHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, conditionsPage)
	page.Same(t, "event", docwords.Union(docwords.Constants(t, ".", "Event"),
		docwords.Constants(t, "../plan/changes", "Event")), page.Rows(t, "## Events", "## Old names"))
}
