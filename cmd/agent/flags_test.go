package main

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

// The other steps are called by Pods that the operator makes.
func TestEveryFlagForPeopleIsDocumentedWithItsDefaultAndEveryDocumentedFlagIsThere(t *testing.T) {
	t.Setenv("TMPDIR", "") // is a default
	page := docwords.Read(t, "../../docs/reference/flags.md")
	for _, s := range steps {
		if s.isForPeople {
			page.SameFlags(t, "\n## agent "+s.name+"\n", "\n## ", flagsOf(&options{step: s}).FlagSet)
		}
	}
}
