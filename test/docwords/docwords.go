// Package docwords compares the words of the code, reasons, events and conditions, with the tables of the docs.
package docwords

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Constants returns the values of a package's string constants whose names begin in one of these ways, and fails when
// there are none. The path is that of its directory, or of one of its files.
func Constants(t *testing.T, path string, prefixes ...string) map[string]bool {
	t.Helper()
	paths := []string{path}
	if !strings.HasSuffix(path, ".go") {
		paths, _ = filepath.Glob(filepath.Join(path, "*.go")) // which fails for a bad pattern alone
	}
	files, groups := map[string]*ast.File{}, map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
		eachConstant(t, file, nil, func(name, value string) { groups[name] = value })
	}
	values := map[string]bool{}
	for _, file := range files {
		eachConstant(t, file, groups, func(name, value string) {
			if begins(name, prefixes) {
				values[value] = true
			}
		})
	}
	if len(values) == 0 {
		t.Fatalf("%s has no constants that begin with %v", path, prefixes)
	}
	return values
}

// eachConstant visits what is a literal, or a known constant with a literal behind it.
func eachConstant(t *testing.T, file *ast.File, known map[string]string, visit func(name, value string)) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		expr, before := spec.Values[0], ""
		if sum, isSum := expr.(*ast.BinaryExpr); isSum {
			group, _ := sum.X.(*ast.Ident)
			if group == nil || known[group.Name] == "" {
				return true
			}
			expr, before = sum.Y, known[group.Name]
		}
		if literal, ok := expr.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			visit(spec.Names[0].Name, before+value)
		}
		return true
	})
}

func begins(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Union is all words of several sets.
func Union(sets ...map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

// Page is a page of the docs.
type Page struct {
	name string
	text string
}

// Read reads a page by its path.
func Read(t *testing.T, path string) Page {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Page{name: path[strings.Index(path, "docs/"):], text: string(raw)}
}

var row = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| \\S")

// chapter is what stands between two lines; an empty end is that of the page.
func (p Page) chapter(t *testing.T, from, to string) string {
	t.Helper()
	_, chapter, found := strings.Cut(p.text, from)
	if !found {
		t.Fatalf("%s has no %q", p.name, from)
	}
	if to != "" {
		if chapter, _, found = strings.Cut(chapter, to); !found {
			t.Fatalf("%s has no %q after %q", p.name, to, from)
		}
	}
	return chapter
}

// Rows returns what the tables between two lines list in their first column; an empty end is that of the page.
func (p Page) Rows(t *testing.T, from, to string) map[string]bool {
	t.Helper()
	listed := map[string]bool{}
	for _, match := range row.FindAllStringSubmatch(p.chapter(t, from, to), -1) {
		if listed[match[1]] {
			t.Errorf("%s lists %s twice", p.name, match[1])
		}
		listed[match[1]] = true
	}
	return listed
}

// Matches returns what a pattern finds between two lines, in its groups, with spaces between them.
func (p Page) Matches(t *testing.T, from, to, pattern string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(p.chapter(t, from, to), -1) {
		found[strings.Join(match[1:], " ")] = true
	}
	return found
}

var flagRow = regexp.MustCompile("(?m)^\\| `(--?[a-z-]+)` \\| (?:`([^`]*)` )?\\| \\S")

// SameFlags fails for each flag that a program and the tables between two lines do not both have with the same default.
func (p Page) SameFlags(t *testing.T, from, to string, flags *flag.FlagSet) {
	t.Helper()
	code, docs := map[string]bool{}, map[string]bool{}
	flags.VisitAll(func(f *flag.Flag) {
		dashes := "--"
		if len(f.Name) == 1 {
			dashes = "-"
		}
		code[dashes+f.Name+"="+f.DefValue] = true
	})
	for _, match := range flagRow.FindAllStringSubmatch(p.chapter(t, from, to), -1) {
		docs[match[1]+"="+match[2]] = true
	}
	p.Same(t, "flag", code, docs)
}

// Same fails for each word that one of code and page has and the other has not.
func (p Page) Same(t *testing.T, what string, code, docs map[string]bool) {
	t.Helper()
	for _, word := range slices.Sorted(maps.Keys(code)) {
		if !docs[word] {
			t.Errorf("%s %s is in the code and has no sentence in %s", what, word, p.name)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(docs)) {
		if !code[word] {
			t.Errorf("%s %s is in %s and not in the code", what, word, p.name)
		}
	}
}
