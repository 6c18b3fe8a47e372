package manifests

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	managerRole = "etcd-steward-manager-role"
	account     = "etcd-steward-controller-manager"
)

func TestTheOperatorOfOneNamespaceHasNothingOutsideIt(t *testing.T) {
	objects := built(t, "config/namespaced")
	for _, o := range objects {
		if o.Metadata.Namespace != "etcd" {
			t.Errorf("%s %s is in the namespace %q", o.Kind, o.Metadata.Name, o.Metadata.Namespace)
		}
		for _, s := range o.Subjects {
			if s.Name != account || s.Namespace != "etcd" {
				t.Errorf("%s %s is bound to %+v", o.Kind, o.Metadata.Name, s)
			}
		}
	}
	for _, kind := range []string{"Role", "RoleBinding", "Deployment", "ServiceAccount"} {
		if !slices.ContainsFunc(objects, func(o object) bool { return o.Kind == kind }) {
			t.Errorf("no %s is installed", kind)
		}
	}
}

func TestTheRoleOfOneNamespaceIsTheClusterRole(t *testing.T) {
	whole := named(t, built(t, "config/default"), "ClusterRole", managerRole)
	one := named(t, built(t, "config/namespaced"), "Role", managerRole)
	if len(one.Rules) < 5 || !reflect.DeepEqual(one.Rules, whole.Rules) {
		t.Errorf("the Role has %+v\nthe ClusterRole has %+v", one.Rules, whole.Rules)
	}
	if ref := named(t, built(t, "config/namespaced"), "RoleBinding", "etcd-steward-manager-rolebinding").RoleRef; ref.Kind != "Role" || ref.Name != managerRole {
		t.Errorf("bound is %+v", ref)
	}
}

// What lies in no namespace is of no use in a Role, and rights that look as if they were given mislead who reads them.
func TestRightsOnWhatLiesInNoNamespaceAreInARoleOfTheirOwn(t *testing.T) {
	for _, r := range named(t, built(t, "config/namespaced"), "Role", managerRole).Rules {
		for _, resource := range r.Resources {
			if slices.Contains([]string{"nodes", "persistentvolumes", "storageclasses", "namespaces", "tokenreviews", "subjectaccessreviews"}, resource) {
				t.Errorf("%s in %+v: write the marker with a roleName of its own", resource, r)
			}
		}
	}
}

func TestTheOperatorOfOneNamespaceServesMetricsOnlyInsideItsPodUnlessAsked(t *testing.T) {
	args := named(t, built(t, "config/namespaced"), "Deployment", account).Spec.Template.Spec.Containers[0].Args
	if last(args, "--metrics-bind-address=") != "127.0.0.1:8080" || last(args, "--namespace=") != "$(POD_NAMESPACE)" {
		t.Errorf("%q", args)
	}
	asked := overlaid(t, "namespace: team-a\nresources: [../namespaced]\ncomponents: [../namespaced/metrics]\n")
	args = named(t, asked, "Deployment", account).Spec.Template.Spec.Containers[0].Args
	if last(args, "--metrics-secure=") != "true" || last(args, "--metrics-bind-address=") != ":8443" {
		t.Errorf("with the component: %q", args)
	}
	binding := named(t, asked, "ClusterRoleBinding", "etcd-steward-namespaced-metrics-auth")
	if len(binding.Subjects) != 1 || binding.Subjects[0].Name != account || binding.Subjects[0].Namespace != "team-a" {
		t.Errorf("the right to ask is given to %+v", binding.Subjects)
	}
}

// last is the value that counts of a flag that may be given several times.
func last(args []string, flag string) string {
	value := ""
	for _, arg := range args {
		if after, ok := strings.CutPrefix(arg, flag); ok {
			value = after
		}
	}
	return value
}

func named(t *testing.T, objects []object, kind, name string) object {
	t.Helper()
	for _, o := range objects {
		if o.Kind == kind && o.Metadata.Name == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return object{}
}

// overlaid is what a kustomization beside ours makes.
func overlaid(t *testing.T, kustomization string) []object {
	t.Helper()
	files := filesys.MakeFsInMemory()
	disk := filesys.MakeFsOnDisk()
	err := disk.Walk("../../../config", func(path string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := disk.ReadFile(path)
		if err != nil {
			return err
		}
		return files.WriteFile(strings.TrimPrefix(path, "../../../"), text)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteFile("config/overlay/kustomization.yaml", []byte(kustomization)); err != nil {
		t.Fatal(err)
	}
	return run(t, files, "config/overlay")
}

func built(t *testing.T, directory string) []object {
	t.Helper()
	return run(t, filesys.MakeFsOnDisk(), "../../../"+directory)
}

func run(t *testing.T, files filesys.FileSystem, directory string) []object {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, directory)
	if err != nil {
		t.Fatal(err)
	}
	return objectsOf(t, made)
}
