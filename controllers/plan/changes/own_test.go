package changes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// A change that embeds another one would have its vetoes as well, and the compiler would say nothing.
func TestEachChangeHasTraitsWordsAndVetoesOfItsOwn(t *testing.T) {
	have, all := methods(t), map[string]bool{}
	for _, own := range have {
		for name := range own {
			all[name] = true
		}
	}
	for method, own := range have {
		for name := range all {
			if !own[name] {
				t.Errorf("%s has no %s of its own", name, method)
			}
		}
	}
	if len(all) < 40 {
		t.Errorf("only %d changes were found", len(all))
	}
}

// methods are the changes that have each of the methods of a change.
func methods(t *testing.T) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]map[string]bool{"traits": {}, "words": {}, "veto": {}}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, isFunc := decl.(*ast.FuncDecl)
			if isFunc && f.Recv != nil && have[f.Name.Name] != nil {
				have[f.Name.Name][f.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	return have
}
