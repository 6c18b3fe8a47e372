package accessplan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryWordOfAClientHasASentenceInTheDocsAndNoOther(t *testing.T) {
	page := docwords.Read(t, "../../docs/access.md")
	page.Same(t, "reason", docwords.Constants(t, ".", "Reason"), page.Rows(t, "## Reasons", "## Events"))
	page.Same(t, "event", docwords.Constants(t, ".", "Event"), page.Rows(t, "## Events", "## What it does not do"))
}
