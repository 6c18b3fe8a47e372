package backup

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
func constants(t *testing.T, path, prefix string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[value] = true
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no constants that begin with %s", path, prefix)
	}
	return values
}

// rows returns what the tables between two lines of docs/backup.md list in their first column.
func rows(t *testing.T, from, to string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, found := strings.Cut(string(raw), from)
	if !found {
		t.Fatalf("docs/backup.md has no %q", from)
	}
	if chapter, _, found = strings.Cut(chapter, to); !found {
		t.Fatalf("docs/backup.md has no %q after %q", to, from)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| \\S").FindAllStringSubmatch(chapter, -1) {
		if listed[row[1]] {
			t.Errorf("docs/backup.md lists %s twice", row[1])
		}
		listed[row[1]] = true
	}
	return listed
}

func compare(t *testing.T, what string, code, docs map[string]bool) {
	t.Helper()
	for _, word := range slices.Sorted(maps.Keys(code)) {
		if !docs[word] {
			t.Errorf("%s %s is in the code and has no sentence in docs/backup.md", what, word)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(docs)) {
		if !code[word] {
			t.Errorf("%s %s is in docs/backup.md and not in the code", what, word)
		}
	}
}

func TestEveryWordOfABackupHasASentenceInTheDocsAndNoOther(t *testing.T) {
	const status = "../../api/v1alpha1/etcdbackup_status.go"
	compare(t, "condition", constants(t, status, "Backup"), rows(t, "## How it is", "| Stage |"))
	compare(t, "stage", constants(t, "reasons.go", "Stage"), rows(t, "| Stage |", "## Reasons"))
	compare(t, "event", constants(t, "reasons.go", "Event"), rows(t, "## Events", "[Metrics]"))
	reasons := constants(t, "reasons.go", "Reason")
	maps.Copy(reasons, constants(t, "../../pkg/backup/failure.go", "Reason"))
	maps.Copy(reasons, constants(t, "../../cmd/agent/result.go", "reason"))
	compare(t, "reason", reasons, rows(t, "## Reasons", "## Events"))
}
