package docwords

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// a command of kubectl in a message, as far as one sentence goes
	told = regexp.MustCompile(`kubectl (?:annotate|create|delete|describe|exec|get|label|logs|patch|scale|wait|etcd-steward \S+) .*?(?:\. |$)`)
	// what no namespace has
	ofNoNamespace = regexp.MustCompile(`^kubectl (?:describe|get|label) (?:nodes?|pv|storageclass|crd|namespace) `)
)

// texts are the strings of a file, each put together from its pieces. What a piece is that no literal says stands as %s.
func texts(file *ast.File) []string {
	var all []string
	var whole func(ast.Expr) string
	whole = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			return whole(e.X) + whole(e.Y)
		case *ast.ParenExpr:
			return whole(e.X)
		case *ast.BasicLit:
			if text, err := strconv.Unquote(e.Value); err == nil {
				return text
			}
		}
		return "%s"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				all = append(all, whole(e))
				return false
			}
		case *ast.BasicLit:
			all = append(all, whole(e))
		}
		return true
	})
	return all
}

// A command of a message is copied as it is, and kubectl looks in the namespace of its own context unless it is told
// another one. What the plugin prints is held in its own tests.
func TestEachCommandInAMessageOfTheOperatorNamesItsNamespace(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root+"/controllers", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, text := range texts(file) {
			for _, command := range told.FindAllString(text, -1) {
				if seen++; !strings.Contains(command, " -n ") && !ofNoNamespace.MatchString(command) {
					t.Errorf("%s: a message names no namespace in %q", path, command)
				}
			}
		}
		return nil
	})
	if err != nil || seen < 15 {
		t.Fatalf("%d commands: %v", seen, err)
	}
}
