// Package reach holds what has to be read before a rule of the planner is trusted.
package reach

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// planner is where the rules are.
const planner = "github.com/etcdsteward/etcd-steward/controllers/plan"

// part is a function, or a package variable such as a table, with what its text names.
type part struct {
	file  string
	lines int
	names []string
}

// A reader follows every name from a rule on. A sentence that is computed where it is told pulls in all that it is
// computed from: what several rules say is found once, in due.go.
func TestARuleIsTrustedByReadingLittleMoreThanItself(t *testing.T) {
	parts := partsOf(t)
	for rule, most := range map[string]struct{ lines, files int }{
		"grow": {500, 10}, "roll": {350, 8}, "shrink": {500, 10}, "quorumLost": {1000, 16},
	} {
		seen := map[string]bool{}
		follow(parts, planner+"."+rule, seen)
		lines, files := 0, map[string]bool{}
		for name := range seen {
			lines, files[parts[name].file] = lines+parts[name].lines, true
		}
		if lines == 0 || lines > most.lines || len(files) > most.files {
			t.Errorf("%s takes %d lines in %d files, and at most %d in %d are allowed", rule, lines, len(files), most.lines,
				most.files)
		}
	}
}

// follow marks a part and all that it names.
func follow(parts map[string]part, name string, seen map[string]bool) {
	if _, isThere := parts[name]; !isThere || seen[name] {
		return
	}
	seen[name] = true
	for _, other := range parts[name].names {
		follow(parts, other, seen)
	}
}

// partsOf reads the planner and what is below it, apart from the simulator.
func partsOf(t *testing.T) map[string]part {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Dir: "../../../controllers/plan", Mode: packages.NeedName | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}, "./...")
	if err != nil || packages.PrintErrors(loaded) > 0 {
		t.Fatalf("reading the planner: %v", err)
	}
	parts := map[string]part{}
	for _, p := range loaded {
		if strings.HasSuffix(p.PkgPath, "/world") {
			continue
		}
		for _, file := range p.Syntax {
			for _, declared := range file.Decls {
				addParts(parts, p, declared)
			}
		}
	}
	return parts
}

func addParts(parts map[string]part, p *packages.Package, declared ast.Decl) {
	add := func(name string, text ast.Node) {
		from, to := p.Fset.Position(text.Pos()), p.Fset.Position(text.End())
		parts[name] = part{from.Filename, to.Line - from.Line + 1, namesIn(p, text)}
	}
	switch d := declared.(type) {
	case *ast.FuncDecl:
		if f, isFunc := p.TypesInfo.Defs[d.Name].(*types.Func); isFunc {
			add(f.FullName(), d)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, isValue := spec.(*ast.ValueSpec); isValue {
				for _, name := range v.Names {
					add(p.PkgPath+"."+name.Name, v)
				}
			}
		}
	}
}

// namesIn are the functions and package variables that a text names.
func namesIn(p *packages.Package, text ast.Node) []string {
	var names []string
	ast.Inspect(text, func(n ast.Node) bool {
		identifier, _ := n.(*ast.Ident)
		if identifier == nil {
			return true
		}
		switch used := p.TypesInfo.Uses[identifier].(type) {
		case *types.Func:
			names = append(names, used.Origin().FullName())
		case *types.Var:
			if used.Pkg() != nil && used.Parent() == used.Pkg().Scope() {
				names = append(names, used.Pkg().Path()+"."+used.Name())
			}
		}
		return true
	})
	return names
}
