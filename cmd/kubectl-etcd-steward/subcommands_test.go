package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

// below gives each command below another one to a function.
func below(c *cobra.Command, see func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		see(sub)
		below(sub, see)
	}
}

func TestEveryFlagOfEachSubcommandIsDocumented(t *testing.T) {
	page, seen := docwords.Read(t, "../../docs/reference/flags.md"), 0
	for _, top := range (program{}).root().Commands() {
		below(top, func(c *cobra.Command) {
			flags := flag.NewFlagSet(c.Name(), flag.ContinueOnError)
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
			page.SameFlags(t, "\n## "+c.CommandPath()+"\n", "\n## ", flags)
			seen++
		})
	}
	if seen == 0 {
		t.Error("no command has another one below it")
	}
}

func TestTheHelpOfACommandHasAnExampleOfIt(t *testing.T) {
	below((program{}).root(), func(c *cobra.Command) {
		if c.Name() == "version" {
			return
		}
		if !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example: %q", c.CommandPath(), c.Example)
		}
	})
}
