// Package arrows holds the code to the picture of docs/architecture.md: who may import whom, and that what decides
// stays pure. It is proven over `go list -deps`.
package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/etcdsteward/etcd-steward"

// pkg is what `go list -json` says of one package; tests of the package are not part of it.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestEveryPackageIsInARoomOfTheTable(t *testing.T) {
	for _, p := range packages(t) {
		if _, ok := roomOf(p.ImportPath); !ok {
			t.Errorf("%s is in no room: name its room in rooms_test.go, with what it may import", p.ImportPath)
		}
	}
}

func TestEveryRoomOfTheTableExistsAndEachExceptionIsNeeded(t *testing.T) {
	inhabited := map[string]bool{}
	for _, p := range packages(t) {
		if r, ok := roomOf(p.ImportPath); ok {
			inhabited[r.path] = true
		}
	}
	for _, r := range rooms {
		excused := slices.Contains(notYet, r.path)
		if !inhabited[r.path] && !excused {
			t.Errorf("room %s has no package: the rules about it prove nothing", r.path)
		}
		if inhabited[r.path] && excused {
			t.Errorf("room %s exists now: take it off notYet", r.path)
		}
	}
}

func TestImportsFollowTheArrows(t *testing.T) {
	for _, p := range packages(t) {
		from, ok := roomOf(p.ImportPath)
		if !ok {
			continue
		}
		for _, imported := range p.Imports {
			if why := objection(from, imported); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
			}
		}
	}
}

func TestWhatDecidesReachesNothingOfTheOutsideWorld(t *testing.T) {
	for _, p := range packages(t) {
		from, ok := roomOf(p.ImportPath)
		if !ok {
			continue
		}
		for _, reached := range p.Deps {
			if forbidden(from, reached) {
				t.Errorf("%s reaches %s, which room %s must never do", p.ImportPath, reached, from.path)
			}
		}
	}
}

func TestTheRulesThemselvesObject(t *testing.T) {
	plan, _ := roomOf(module + "/controllers/plan")
	apply, _ := roomOf(module + "/controllers/apply")
	for name, refused := range map[string]bool{
		"the planner importing a foreign module":       objection(plan, "k8s.io/api/core/v1") != "",
		"the planner importing the API":                objection(plan, module+"/api/v1alpha1") != "",
		"the planner reaching the network":             forbidden(plan, "net"),
		"the planner reaching a Kubernetes package":    forbidden(plan, "k8s.io/api/core/v1"),
		"the planner importing the file system":        objection(plan, "os") != "" && objection(plan, "os/exec") != "",
		"apply importing the libraries of tests":       objection(apply, "github.com/onsi/gomega") != "",
		"apply importing observe":                      objection(apply, module+"/controllers/observe") != "",
		"apply importing the test tree":                objection(apply, module+"/test/e2e") != "",
		"(must be allowed) the planner using etcdutil": objection(plan, module+"/pkg/etcdutil") == "",
		"(must be allowed) the planner using net/url":  !forbidden(plan, "net/url") && objection(plan, "net/url") == "",
	} {
		if !refused {
			t.Errorf("%s: the table says otherwise", name)
		}
	}
}

// objection says why a package of a room may not import a path directly, or "".
func objection(from room, imported string) string {
	if matches(from.shuns, imported) || from.path != "test" && matches(onlyInTests, imported) {
		return "room " + from.path + " does not import it itself"
	}
	if to, ok := roomOf(imported); ok {
		if to.path == from.path || slices.Contains(from.enters, to.path) {
			return ""
		}
		return "room " + from.path + " may not enter " + to.path
	}
	if strings.HasPrefix(imported, module) {
		return "it is in no room"
	}
	if isStandard(imported) || matches(from.foreign, imported) {
		return ""
	}
	return "room " + from.path + " may import only the standard library, its rooms and " + strings.Join(from.foreign, ", ")
}

func forbidden(from room, reached string) bool { return matches(from.never, reached) }

// matches compares a path with prefixes ("k8s.io/"), packages with all below them ("google.golang.org/grpc"), and "*".
// A package of the standard library stands for itself alone: "net" is not "net/url".
func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		switch {
		case pattern == "*", pattern == path:
			return true
		case strings.HasSuffix(pattern, "/"):
			return strings.HasPrefix(path, pattern)
		}
		return !isStandard(pattern) && strings.HasPrefix(path, pattern+"/")
	})
}

// isStandard is how the go command tells them apart: no dot in the first element.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// roomOf finds the innermost room of a package of this module.
func roomOf(path string) (room, bool) {
	local, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return room{}, false
	}
	best, found := room{}, false
	for _, r := range rooms {
		if (local == r.path || strings.HasPrefix(local, r.path+"/")) && len(r.path) > len(best.path) {
			best, found = r, true
		}
	}
	return best, found
}

// packages asks the go command once and remembers the answer for the other tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	if listed != nil {
		return listed
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderrOf(err))
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return listed
		} else if err != nil {
			t.Fatalf("reading what go list said: %v", err)
		}
		listed = append(listed, p)
	}
}

var listed []pkg

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}
