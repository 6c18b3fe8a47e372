package main

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

func TestEveryFlagIsDocumentedWithItsDefaultAndEveryDocumentedFlagIsThere(t *testing.T) {
	page := docwords.Read(t, "../../docs/reference/flags.md")
	page.SameFlags(t, "\n## The operator\n", "\n## ", flagsOf(&options{}))
}
