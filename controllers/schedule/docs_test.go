package schedule

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

func TestEveryWordOfAScheduleHasASentenceInTheDocsAndNoOther(t *testing.T) {
	var want []string
	for _, path := range []string{"reasons.go", "../../api/v1alpha1/etcdbackupschedule_status.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && literal.Value[0] == '"' {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, value)
			}
			return true
		})
	}
	want = slices.DeleteFunc(want, func(word string) bool { return strings.Contains(word, "/") }) // imports
	raw, err := os.ReadFile("../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(raw), "\n## Schedules\n")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| \\S").FindAllStringSubmatch(chapter, -1) {
		if listed[row[1]] {
			t.Errorf("docs/backup.md lists %s twice", row[1])
		}
		listed[row[1]] = true
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, want) || len(want) < 15 {
		t.Errorf("the code has %q\nthe docs have %q", want, got)
	}
}
