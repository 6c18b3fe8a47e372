package resources

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/docwords"
)

const (
	apiDir   = "../../api/v1alpha1"
	firstRow = "^\\| `([^`]+)` \\| "
)

func pageOfObjects(t *testing.T) docwords.Page {
	t.Helper()
	return docwords.Read(t, "../../docs/what-it-creates.md")
}

func TestDocsHaveARowForEveryLabelAndAnnotationAndNoOther(t *testing.T) {
	page := pageOfObjects(t)
	labels, annotations := docwords.Constants(t, apiDir, "Label"), docwords.Constants(t, apiDir, "Annotation")
	page.Same(t, "label", labels, page.Matches(t, "## Labels", "## Annotations", firstRow))
	page.Same(t, "annotation", annotations, page.Matches(t, "## Annotations", "## On namespaces", firstRow))

	policies := map[string]bool{}
	for _, text := range filesOf(t, "../../config/policy/*.yaml") {
		for _, key := range regexp.MustCompile(`etcdsteward\.dev/[a-z-]+\b`).FindAllString(text, -1) {
			policies[key] = true
		}
	}
	maps.DeleteFunc(policies, func(key string, _ bool) bool {
		return labels[key] || annotations[key] || key == v1alpha1.FinalizerAccess
	})
	page.Same(t, "key of a namespace", policies, page.Matches(t, "## On namespaces", "", firstRow))
}

func TestDocsHaveARowForEveryNameOfAnObjectAndNoOther(t *testing.T) {
	backup, schedule, at := toVolume(), nightly(), time.Date(2026, 3, 29, 3, 0, 0, 0, time.UTC)
	named := strings.NewReplacer("demo", "<cluster>", "0b4c2d1e", "<uid>", "2c4c2d1e", "<uid>",
		strconv.FormatInt(at.Unix(), 36), "<time>")
	names := map[string]bool{"<member>": true, "<client>-etcd": true, "<schedule>-<time>": true, named.Replace(BackupJob(backup)): true,
		named.Replace(PruneJob(schedule, at)): true, named.Replace(TestRestoreJob(schedule, at)): true}
	for _, name := range namesByFunction(t) {
		names[name] = true
	}
	page := pageOfObjects(t)
	page.Same(t, "name", names, page.Matches(t, "## Objects", "## Ports", "^\\| \\w+ \\| `([^`]+)` \\| "))
	page.Same(t, "kind", kindsMade(t), page.Matches(t, "## Objects", "## Ports", "^\\| ([A-Z]\\w+) \\| [`–]"))
}

// namesByFunction are the names that functions of a cluster's or a member's name alone give.
func namesByFunction(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, text := range filesOf(t, "*.go") {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, isFunc := decl.(*ast.FuncDecl)
			if !isFunc || f.Recv != nil || f.Name.Name == "ClientUser" || len(f.Type.Params.List) != 1 ||
				len(f.Body.List) != 1 || !f.Name.IsExported() {
				continue
			}
			param := f.Type.Params.List[0].Names[0].Name
			if returned, ok := f.Body.List[0].(*ast.ReturnStmt); ok && (param == "cluster" || param == "member") &&
				len(returned.Results) == 1 {
				if name, ok := sumOf(returned.Results[0], param); ok {
					names = append(names, name)
				}
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("only these functions give names: %v", names)
	}
	return names
}

func sumOf(expr ast.Expr, param string) (string, bool) {
	switch e := expr.(type) {
	case *ast.Ident:
		return "<" + param + ">", e.Name == param
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, isLeft := sumOf(e.X, param)
		right, isRight := sumOf(e.Y, param)
		return left + right, isLeft && isRight
	}
	return "", false
}

// kindsMade are the kinds that the operator may create, by its role.
func kindsMade(t *testing.T) map[string]bool {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal([]byte(filesOf(t, "../../config/rbac/role.yaml")[0]), &role); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if slices.Contains(rule.Verbs, "create") && !strings.Contains(resource, "/") {
				kinds[kindOf(t, resource)] = true
			}
		}
	}
	return kinds
}

func kindOf(t *testing.T, resource string) string {
	t.Helper()
	for _, kind := range []string{KindService, KindSecret, KindBudget, KindPolicy, KindPod, KindVolume, KindBackup, KindRequest, "Job", "Event"} {
		if singular := strings.TrimSuffix(strings.Replace(resource, "ies", "ys", 1), "s"); singular == strings.ToLower(kind) {
			return kind
		}
	}
	t.Fatalf("the operator may create %s, and this test does not know their kind", resource)
	return ""
}

func TestDocsHaveARowForEveryPortAndNoOther(t *testing.T) {
	ports := map[string]bool{}
	addService := func(service *corev1.Service) {
		for _, port := range service.Spec.Ports {
			ports["Service `"+strings.Replace(service.Name, "demo", "<cluster>", 1)+"` "+strconv.Itoa(int(port.Port))+" "+port.Name] = true
		}
	}
	addPod := func(where string, containers ...corev1.Container) {
		for _, container := range containers {
			for _, port := range container.Ports {
				ports[where+" "+strconv.Itoa(int(port.ContainerPort))+" "+port.Name] = true
			}
		}
	}
	for _, c := range []*v1alpha1.EtcdCluster{cluster(), cluster(withoutTLS)} {
		addService(BuildClientService(c))
		addService(PeerServiceShape(c))
		pod, err := BuildPod(c, atBootstrap(c))
		if err != nil {
			t.Fatal(err)
		}
		addPod("Pod `<member>`", pod.Spec.Containers...)
		restore, err := BuildRestorePod(c, restoring(c, toVolume().Spec.Store))
		if err != nil {
			t.Fatal(err)
		}
		addPod("Pod of a backup or a restore", restore.Spec.InitContainers...)
	}
	page := pageOfObjects(t)
	page.Same(t, "port", ports, page.Matches(t, "## Ports", "## What may", "^\\| ((?:Service|Pod)[^|]*) \\| (\\d+) \\| `([^`]+)` \\| "))
}

func TestDocsHaveARowForEveryFieldOfAClusterAndForWhatNeverChanges(t *testing.T) {
	fields, spec := map[string]bool{}, reflect.TypeFor[v1alpha1.EtcdClusterSpec]()
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Field(i).Tag.Get("json"), ",")
		fields[name] = true
	}
	page := pageOfObjects(t)
	page.Same(t, "field", fields, page.Matches(t, "## What may change", "### What never", firstRow))

	never := map[string]bool{}
	for _, text := range filesOf(t, apiDir+"/etcd*_types.go") {
		kind := regexp.MustCompile(`(?m)^type (Etcd\w+) struct`).FindStringSubmatch(text)[1]
		for _, found := range regexp.MustCompile(`message="(spec[\w.]*) cannot change(?::| on an)`).FindAllStringSubmatch(text, -1) {
			never[kind+" "+found[1]] = true
		}
	}
	page.Same(t, "field that never changes", never, page.Matches(t, "### What never", "## Labels", "^\\| (Etcd\\w+) \\| `([^`]+)` \\| "))
}

// filesOf are the texts of the files of a pattern that are no tests.
func filesOf(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file is called %s: %v", pattern, err)
	}
	var texts []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
