package plan

import (
	"go/ast"
	"go/parser"
	source "go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// function is a function of this package: what it returns, and the names in its body.
type function struct {
	results []string // those that are pointers, by their type
	names   []string
}

// functionsHere are the functions of this package by name. Two of one name count as one, so what is reached is an upper
// bound.
func functionsHere(t *testing.T) map[string]*function {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out, set := map[string]*function{}, source.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range tree.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Body != nil {
				add(out, f)
			}
		}
	}
	return out
}

func add(to map[string]*function, f *ast.FuncDecl) {
	known := to[f.Name.Name]
	if known == nil {
		known = &function{}
		to[f.Name.Name] = known
	}
	if f.Type.Results != nil {
		for _, result := range f.Type.Results.List {
			pointer, _ := result.Type.(*ast.StarExpr)
			if pointer == nil {
				continue
			}
			if name, ok := pointer.X.(*ast.Ident); ok {
				known.results = append(known.results, name.Name)
			}
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			known.names = append(known.names, name.Name)
		}
		return true
	})
}

// wayTo is how a function is reached from another one, or nil.
func wayTo(functions map[string]*function, from string, isThere func(name string, f *function) bool) []string {
	ways := map[string][]string{from: {from}}
	for open := []string{from}; len(open) > 0; open = open[1:] {
		name := open[0]
		if isThere(name, functions[name]) {
			return ways[name]
		}
		for _, next := range functions[name].names {
			if functions[next] != nil && ways[next] == nil {
				ways[next] = append(slices.Clone(ways[name]), next)
				open = append(open, next)
			}
		}
	}
	return nil
}

func TestTheGuardReadsNoJudgementAndAsksNoRule(t *testing.T) {
	functions := functionsHere(t)
	isRule := func(name string, f *function) bool {
		return name == "Judge" || name == "judge" || slices.Contains(f.results, "proposal")
	}
	if way := wayTo(functions, "Guard", isRule); way != nil {
		t.Errorf("one mistake would propose a change and clear it as well: %s", strings.Join(way, " -> "))
	}
	if way := wayTo(functions, "replace", isRule); way == nil {
		t.Error("the way from the rule replace to a proposal is not found: this test sees nothing")
	}
}

func TestNoRuleAsksForItselfWhetherItMayActBesideARestore(t *testing.T) {
	functions := functionsHere(t)
	for _, rule := range []string{"shrink", "grow", "roll"} {
		if way := wayTo(functions, rule, func(name string, _ *function) bool {
			return name == "isEnding"
		}); way != nil {
			t.Errorf("the order of the rules is overridden from inside: %s", strings.Join(way, " -> "))
		}
	}
}
