package arrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// effect is what a call does to the outside world.
type effect string

const (
	reads   effect = "reads"
	writes  effect = "writes"
	reports effect = "reports" // status and events
)

const (
	kubeClient = "sigs.k8s.io/controller-runtime/pkg/client"
	etcdClient = module + "/pkg/etcdutil/client"
	kit        = module + "/controllers/kit"
)

// effects are all calls of Kubernetes and etcd, by the interface that declares them, and what stands for them in the rooms.
var effects = map[string]effect{
	kubeClient + ".Reader.Get": reads, kubeClient + ".Reader.List": reads, kubeClient + ".SubResourceReader.Get": reads,
	module + "/controllers/observe.Find": reads,

	kubeClient + ".Writer.Create": writes, kubeClient + ".Writer.Update": writes, kubeClient + ".Writer.Patch": writes,
	kubeClient + ".Writer.Delete": writes, kubeClient + ".Writer.DeleteAllOf": writes, kubeClient + ".Writer.Apply": writes,
	kubeClient + ".SubResourceWriter.Create": writes, kubeClient + ".SubResourceWriter.Update": writes,
	kubeClient + ".SubResourceWriter.Patch": writes, kubeClient + ".SubResourceWriter.Apply": writes,
	kit + ".Frame.Create": writes, kit + ".Frame.Annotate": writes, module + "/controllers/apply.Applier.Apply": writes,

	kubeClient + ".StatusClient.Status":                           reports,
	"k8s.io/client-go/tools/internal/events.EventRecorder.Eventf": reports,

	etcdClient + ".Client.Status": reads, etcdClient + ".Client.MemberList": reads, etcdClient + ".Client.MemberListSerializable": reads,
	etcdClient + ".Client.ReadLinearizable": reads, etcdClient + ".Client.HashKV": reads, etcdClient + ".Client.Endpoint": reads,
	etcdClient + ".Client.AddLearner": writes, etcdClient + ".Client.Promote": writes, etcdClient + ".Client.Remove": writes,
	etcdClient + ".Client.MoveLeader": writes, etcdClient + ".Client.DisarmAlarm": writes,
	etcdClient + ".Client.Permissions": reads, etcdClient + ".Client.RoleNames": reads,
	etcdClient + ".Client.NewUserWithPassword": writes, etcdClient + ".Client.ChangePassword": writes,
	etcdClient + ".Client.NewUser": writes, etcdClient + ".Client.DeleteUser": writes, etcdClient + ".Client.AddRole": writes,
	etcdClient + ".Client.DeleteRole": writes, etcdClient + ".Client.GrantPermission": writes,
	etcdClient + ".Client.RevokePermission": writes,
	etcdClient + ".Dialer.Dial":             reads, etcdClient + ".Pool.Get": reads,

	"net/http.Client.Do": reads,
}

// excused are the places that may do more than their names say.
var excused = []struct {
	file   string // or a directory
	effect effect
	reason string
}{
	{"controllers/apply", reads, "each effect reads its object live just before it writes, and asks etcd for the list again"},
	{"controllers/kit/writer.go", writes, "hands on what apply writes, and notes it; the status of an object is a subresource"},
	{"controllers/kit/writer.go", reports, "the one writer of status, and the one teller of events"},
}

// mayDo reports whether a file is a place for an effect. Reads have observe and each look….go, writes have apply and each
// apply.go, and what people are told goes through kit alone.
func mayDo(file string, e effect) bool {
	dir, name := path.Split(file)
	switch {
	case e == reads && (dir == "controllers/observe/" || strings.HasPrefix(name, "look")):
		return true
	case e == writes && (dir == "controllers/apply/" || name == "apply.go"):
		return true
	}
	for _, x := range excused {
		if x.effect == e && (file == x.file || strings.TrimSuffix(dir, "/") == x.file) {
			return true
		}
	}
	return false
}

func TestOnlyObserveAndLookReadAndOnlyApplyWrites(t *testing.T) {
	seen, used := map[effect]int{}, map[string]bool{}
	for _, call := range callsBelowControllers(t) {
		seen[call.effect]++
		used[call.file+" "+string(call.effect)] = true
		used[path.Dir(call.file)+" "+string(call.effect)] = true
		if !mayDo(call.file, call.effect) {
			t.Errorf("%s:%d %s by %s: move it to observe, look.go, apply or apply.go, or tell it through kit", call.file, call.line, call.effect, call.what)
		}
	}
	for e, least := range map[effect]int{reads: 40, writes: 15, reports: 2} {
		if seen[e] < least {
			t.Errorf("only %d calls were found that are %s: this test looks in the wrong place", seen[e], e)
		}
	}
	for _, x := range excused {
		if !used[x.file+" "+string(x.effect)] {
			t.Errorf("%s is excused for what it does not do: %s", x.file, x.effect)
		}
	}
}

func TestAReadOrAWriteInAnotherPlaceIsFound(t *testing.T) {
	list := exported(t)
	const source = `package wing

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"` + kit + `"
	etcd "` + etcdClient + `"
)

type reconciler struct{ kit.Frame }

func (r *reconciler) pass(ctx context.Context, member etcd.Client) {
	_ = r.Client.Get(ctx, client.ObjectKey{}, &corev1.Pod{})
	_ = r.Client.Status().Patch(ctx, &corev1.Pod{}, nil)
	_ = r.Create(ctx, nil, nil)
	_ = member.Remove(ctx, 0)
	r.Recorder.Eventf(nil, nil, "", "", "", "")
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "controllers/wing/reconcile.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, call := range callsOf(t, fset, "wing", []*ast.File{file}, list) {
		if !mayDo("controllers/wing/reconcile.go", call.effect) {
			found = append(found, fmt.Sprintf("%s %d", call.effect, call.line))
		}
	}
	if got, want := strings.Join(found, ", "), "reads 16, writes 17, reports 17, writes 18, writes 19, reports 20"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	for file, e := range map[string]effect{"controllers/wing/look.go": reads, "controllers/wing/apply.go": writes, "controllers/kit/writer.go": reports} {
		if !mayDo(file, e) {
			t.Errorf("%s is no place for %s", file, e)
		}
	}
}

// call is one call with an effect, where it stands.
type call struct {
	effect effect
	what   string
	file   string
	line   int
}

// exportedPackage is what the go command knows of a compiled package.
type exportedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func callsBelowControllers(t *testing.T) []call {
	t.Helper()
	list := exported(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	for _, p := range list {
		if !strings.HasPrefix(p.ImportPath, module+"/controllers/") {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			relative, err := filepath.Rel(root, filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(fset, filepath.ToSlash(relative), source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		calls = append(calls, callsOf(t, fset, p.ImportPath, files, list)...)
	}
	return calls
}

// callsOf finds the calls with an effect in the files of one package, by the types of what is called.
func callsOf(t *testing.T, fset *token.FileSet, name string, files []*ast.File, list map[string]exportedPackage) []call {
	t.Helper()
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(list[path].Export)
	})}
	if _, err := config.Check(name, fset, files, &info); err != nil {
		t.Fatalf("checking %s: %v", name, err)
	}
	var calls []call
	for used, object := range info.Uses {
		function, ok := object.(*types.Func)
		if !ok {
			continue
		}
		what := strings.NewReplacer("(", "", ")", "", "*", "").Replace(function.FullName())
		if e, has := effects[what]; has {
			at := fset.Position(used.Pos())
			calls = append(calls, call{effect: e, what: what, file: at.Filename, line: at.Line})
		}
	}
	slices.SortFunc(calls, func(a, b call) int {
		return strings.Compare(fmt.Sprintf("%s %05d %d", a.file, a.line, slices.Index(order, a.effect)), fmt.Sprintf("%s %05d %d", b.file, b.line, slices.Index(order, b.effect)))
	})
	return calls
}

var order = []effect{reads, writes, reports}

// exported asks the go command for the types of everything that the rooms below controllers are built from.
func exported(t *testing.T) map[string]exportedPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./controllers/...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderrOf(err))
	}
	list := map[string]exportedPackage{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p exportedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("reading what go list said: %v", err)
		}
		list[p.ImportPath] = p
	}
}
