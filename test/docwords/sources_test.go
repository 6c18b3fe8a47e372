package docwords

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the top of the tree.
const root = "../.."

// piece is a text, and the line where it begins.
type piece struct {
	line int
	text string
}

// source is a file of the tree.
type source struct {
	path     string
	texts    []piece // what a user reads
	comments []piece // what an engineer reads
	files    *token.FileSet
	tree     *ast.File // of Go
}

func (s source) position(n ast.Node) string {
	at := s.files.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(at.Line)
}

// size is how much there is for a rule to look at.
func (s source) size(rule string) int {
	switch rule {
	case "vague-word-in-comment":
		return len(s.comments)
	case "vague-name":
		if s.tree == nil {
			return 0
		}
		names := 0
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if _, ok := n.(*ast.Ident); ok {
				names++
			}
			return true
		})
		return names
	}
	return len(s.texts)
}

// pages are those that tell what holds today. Decisions are of their day, and the API reference is made from the types.
var pages = []string{"docs/*.md", "docs/failures/*.md", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
	"config/helm/*/README.md", "config/helm/*/values.yaml"}

func readSources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, pattern := range pages {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no page is called %s: %v", pattern, err)
		}
		for _, path := range paths {
			all = append(all, readPage(t, path))
		}
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", "dist", "node_modules", "testdata", ".git"},
			entry.Name()):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasPrefix(entry.Name(), "zz_generated"):
			all = append(all, readGo(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func relative(t *testing.T, path string) string {
	t.Helper()
	name, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// In a page, commands, comments and code are not prose, and a link is its text. A cell of a table is a text of its own.
var (
	fence      = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	hidden     = regexp.MustCompile(`(?s)<!--.*?-->`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	address    = regexp.MustCompile(`https?://\S+`)
	listItem   = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
	tableBreak = regexp.MustCompile(`^\|[-| :]+\|$`)
	lineBreak  = regexp.MustCompile(`<br>`)
	emphasis   = regexp.MustCompile(`\*+`)
	rowName    = regexp.MustCompile(`<a id="[^"]*"></a>`)
)

func readPage(t *testing.T, path string) source {
	t.Helper()
	text := readFile(t, path)
	for _, skipped := range []*regexp.Regexp{fence, hidden} {
		text = skipped.ReplaceAllStringFunc(text, func(s string) string {
			return "\n" + strings.Repeat("\n", strings.Count(s, "\n"))
		})
	}
	s := source{path: relative(t, path)}
	var paragraph piece
	end := func() {
		if strings.TrimSpace(paragraph.text) != "" {
			s.texts = append(s.texts, paragraph)
		}
		paragraph = piece{}
	}
	names := -1 // the column of a table that names stories, which are code
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|") {
			end()
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			if at := slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "Story" }); at >= 0 {
				names = at
			}
			for column, cell := range cells {
				if column != names && !tableBreak.MatchString(line) {
					s.texts = append(s.texts, piece{i + 1, prose(lineBreak.ReplaceAllString(cell, "\n\n"))})
				}
			}
			continue
		}
		names = -1
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") || listItem.MatchString(line) {
			end()
		}
		if paragraph.text == "" {
			paragraph.line = i + 1
		}
		paragraph.text += prose(listItem.ReplaceAllString(line, "")) + " "
		if strings.HasPrefix(line, "#") {
			end()
		}
	}
	end()
	return s
}

// prose is a text with its code and addresses taken out: each counts as one word.
func prose(text string) string {
	text = codeSpan.ReplaceAllString(rowName.ReplaceAllString(text, ""), "X")
	text = link.ReplaceAllString(text, "$1")
	text = address.ReplaceAllString(text, "X")
	return emphasis.ReplaceAllString(text, "")
}

// marker is a line of a comment that is for a generator.
var marker = regexp.MustCompile(`(?m)^\+\S.*$`)

// userFacing are the directories whose sentences end in conditions, events, messages and help.
var userFacing = []string{"controllers/", "cmd/", "pkg/", "api/"}

func readGo(t *testing.T, path string) source {
	t.Helper()
	text := readFile(t, path)
	s := source{path: relative(t, path), files: token.NewFileSet()}
	var err error
	if s.tree, err = parser.ParseFile(s.files, path, text, parser.ParseComments); err != nil {
		t.Fatal(err)
	}
	for _, group := range s.tree.Comments {
		words := marker.ReplaceAllString(group.Text(), "")
		s.comments = append(s.comments, piece{s.files.Position(group.Pos()).Line, prose(words)})
	}
	inTexts := func(dir string) bool { return strings.HasPrefix(s.path, dir) }
	if strings.HasSuffix(path, "_test.go") || !slices.ContainsFunc(userFacing, inTexts) {
		return s
	}
	if strings.HasPrefix(s.path, "api/") {
		s.texts = append(s.texts, s.comments...) // they become the API reference
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		expr, ok := n.(ast.Expr)
		if !ok {
			_, isImport := n.(*ast.ImportSpec)
			return !isImport
		}
		text, ok := literal(expr)
		if ok && strings.Count(strings.TrimSpace(text), " ") > 1 {
			s.texts = append(s.texts, piece{s.files.Position(expr.Pos()).Line, prose(text)})
		}
		return !ok
	})
	return s
}

// literal is what a string literal says, or a sum of such; what is not known before the program runs counts as one
// word.
func literal(expr ast.Expr) (string, bool) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, isLeft := literal(e.X)
		right, isRight := literal(e.Y)
		if !isLeft {
			left = "X"
		}
		if !isRight {
			right = "X"
		}
		return left + right, isLeft || isRight
	}
	return "", false
}
