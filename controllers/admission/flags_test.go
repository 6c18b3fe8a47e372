package admission_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// TestTheSchemaRefusesExactlyTheFlagsThatTheOperatorOwns holds the list in the schema to etcdutil.OwnedFlag, for every
// flag of every known minor and for every word of the list itself.
func TestTheSchemaRefusesExactlyTheFlagsThatTheOperatorOwns(t *testing.T) {
	g := newGate(t)
	flags := append(knownFlags(t), listedFlags(t)...)
	if len(flags) < 100 {
		t.Fatalf("only %d flags were found", len(flags))
	}
	for _, flag := range flags {
		errs := g.create(t, cluster(t, `spec: {etcd: {extraArgs: {`+flag+`: "1"}}}`))
		refused := strings.Contains(errsText(errs), "must not contain "+flag+":")
		if owned := etcdutil.OwnedFlag(flag); refused != owned {
			t.Errorf("flag %s: owned by the operator %v, refused by the schema %v", flag, owned, refused)
		}
	}
}

// knownFlags are the flags of every known minor.
func knownFlags(t *testing.T) []string {
	t.Helper()
	var flags []string
	for _, minor := range etcdutil.KnownMinors() {
		list, err := os.ReadFile(filepath.Join("..", "..", "pkg", "etcdutil", "flagdata", minor+".txt"))
		if err != nil {
			t.Fatalf("reading the flags of %s: %v", minor, err)
		}
		flags = append(flags, strings.Fields(string(list))...)
	}
	return flags
}

// listedFlags are the words in the schema's rule: names as they are, and for the families, which the rule compares with
// startsWith, one name of each.
func listedFlags(t *testing.T) []string {
	t.Helper()
	extraArgs := schemaOf(t, "spec", "etcd", "extraArgs")
	for _, rule := range extraArgs.XValidations {
		names, families, found := strings.Cut(rule.Rule, "] ||")
		if !found {
			continue
		}
		word := regexp.MustCompile(`'([a-z-]+)'`)
		var flags []string
		for _, match := range word.FindAllStringSubmatch(names, -1) {
			flags = append(flags, match[1])
		}
		for _, match := range word.FindAllStringSubmatch(families, -1) {
			flags = append(flags, strings.TrimSuffix(match[1], "-")+"-of-some-kind")
		}
		return flags
	}
	t.Fatal("the schema has no list of flags")
	return nil
}
