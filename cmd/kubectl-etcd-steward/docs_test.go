package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

// kubectl's own flags are in kubectl's documentation.
func TestEveryFlagOfEachCommandIsDocumented(t *testing.T) {
	page := docwords.Read(t, "../../docs/reference/flags.md")
	commands := program{}.root().Commands()
	if len(commands) < 2 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, c := range commands {
		flags := flag.NewFlagSet(c.Name(), flag.ContinueOnError)
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
		if c.Name() != "version" {
			page.SameFlags(t, "\n## kubectl etcd-steward "+c.Name()+"\n", "\n## ", flags)
		}
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	page := readPage(t)
	for _, c := range (program{}).root().Commands() {
		if !strings.Contains(page, "kubectl etcd-steward "+c.Name()) || !strings.Contains(page, "\n| `"+c.Name()) {
			t.Errorf("docs/kubectl.md has no example of %s, or no row about its rights", c.Name())
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
