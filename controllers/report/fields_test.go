package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// field is a path in an object, as messages name it.
var field = regexp.MustCompile(`\b(spec|status)(\.[a-zA-Z]+)+`)

func TestEveryFieldThatAMessageNamesIsThere(t *testing.T) {
	kinds := []any{v1alpha1.EtcdCluster{}, v1alpha1.EtcdRestore{}, v1alpha1.EtcdBackup{}, v1alpha1.EtcdBackupSchedule{}}
	seen := 0
	for _, dir := range []string{".", "../plan", "../plan/facts", "../plan/judge", "../plan/changes"} {
		for where, text := range textsIn(t, dir) {
			for _, path := range field.FindAllString(text, -1) {
				seen++
				isThere := false
				for _, kind := range kinds {
					isThere = isThere || hasField(reflect.TypeOf(kind), strings.Split(path, "."))
				}
				if !isThere {
					t.Errorf("%s: no kind has %s: %q", where, path, text)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d paths were found", seen)
	}
}

// textsIn are the string literals of a package, by where they stand.
func textsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if says, err := strconv.Unquote(lit.Value); err == nil {
					texts[set.Position(lit.Pos()).String()] = says
				}
			}
			return true
		})
	}
	return texts
}

// hasField follows the names that JSON has for the fields.
func hasField(kind reflect.Type, path []string) bool {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if len(path) == 0 {
		return true
	}
	if kind.Kind() == reflect.Map {
		return hasField(kind.Elem(), path[1:]) // any key
	}
	if kind.Kind() != reflect.Struct {
		return false
	}
	for i := range kind.NumField() {
		f := kind.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous && hasField(f.Type, path) || name == path[0] && hasField(f.Type, path[1:]) {
			return true
		}
	}
	return false
}
