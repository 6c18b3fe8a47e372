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

// flagList is a list of flags in a rule of the schema: whole names, or where the end is open the beginnings of families.
var flagList = regexp.MustCompile(`'\^\(([a-z0-9|-]+)\)(\$?)'`)

// listedFlags are the words of these lists, and for each family one name.
func listedFlags(t *testing.T) []string {
	t.Helper()
	var flags []string
	lists := 0
	for _, rule := range schemaOf(t, "spec", "etcd", "extraArgs").XValidations {
		for _, list := range flagList.FindAllStringSubmatch(rule.Rule, -1) {
			lists++
			for word := range strings.SplitSeq(list[1], "|") {
				if list[2] == "" {
					word = strings.TrimSuffix(word, "-") + "-of-some-kind"
				}
				flags = append(flags, word)
			}
			if !strings.Contains(rule.MessageExpression, list[0]) {
				t.Errorf("the rule and its message do not have the same list: %s", rule.MessageExpression)
			}
		}
	}
	if lists < 5 {
		t.Fatalf("the schema has %d lists of flags", lists)
	}
	return flags
}
