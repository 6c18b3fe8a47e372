package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the values of a file's string constants whose names begin so, and fails when there are none.
func constants(t *testing.T, path string, prefixes ...string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !hasPrefix(spec.Names[0].Name, prefixes) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[value] = true
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no constants that begin with %v", path, prefixes)
	}
	return values
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// rows returns what the tables of a chapter of docs/conditions.md list in their first column.
func rows(t *testing.T, from, to string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, found := strings.Cut(string(raw), from)
	if !found {
		t.Fatalf("docs/conditions.md has no chapter %q", from)
	}
	if to != "" {
		chapter, _, _ = strings.Cut(chapter, to)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| \\S").FindAllStringSubmatch(chapter, -1) {
		if listed[row[1]] {
			t.Errorf("docs/conditions.md lists %s twice", row[1])
		}
		listed[row[1]] = true
	}
	return listed
}

func compare(t *testing.T, what string, code, docs map[string]bool) {
	t.Helper()
	for _, word := range slices.Sorted(maps.Keys(code)) {
		if !docs[word] {
			t.Errorf("%s %s is in the code and has no sentence in docs/conditions.md", what, word)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(docs)) {
		if !code[word] {
			t.Errorf("%s %s is in docs/conditions.md and not in the code", what, word)
		}
	}
}

func TestEveryConditionHasASentenceInTheDocsAndNoOther(t *testing.T) {
	docs := rows(t, "## Conditions\n", "Some fields of the status")
	compare(t, "condition", constants(t, "../../api/v1alpha1/conditions.go", "Condition"), docs)
}

func TestEveryReasonOfAConditionHasASentenceInTheDocsAndNoOther(t *testing.T) {
	code := constants(t, "../plan/reasons.go", "Reason")
	maps.Copy(code, constants(t, "reasons.go", "Reason"))
	maps.Copy(code, constants(t, "../apply/errors.go", "Later", "Rejected"))
	compare(t, "reason", code, rows(t, "## Reasons of the next step", "## Reasons of members"))
}

func TestEveryReasonOfAMemberHasASentenceInTheDocsAndNoOther(t *testing.T) {
	code := constants(t, "reasons.go", "Member")
	maps.Copy(code, constants(t, "../../pkg/etcdutil/exit.go", "Exit"))
	delete(code, "Unknown") // is shown as Stopped
	compare(t, "member's reason", code, rows(t, "## Reasons of members", "## Events"))
}

func TestEveryReasonOfAnEventHasASentenceInTheDocsAndNoOther(t *testing.T) {
	compare(t, "event", constants(t, "reasons.go", "Event"), rows(t, "## Events", ""))
}
