package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const root = "../../.."

// object is one of Kubernetes, as it is written.
type object = map[string]any

// install is a way to install that both have: values of the chart on one side, a kustomization on the other.
type install struct {
	namespace string
	args      []string // of helm
	config    []string // kustomizations of config that make the same objects; "default+webhook" adds a component
}

var installs = map[string]install{
	"all namespaces": {"etcd-steward-system", nil, []string{"default"}},
	"all namespaces, with monitoring": {"etcd-steward-system", []string{"--set", "monitoring.podMonitor=true",
		"--set", "monitoring.serviceMonitor=true", "--set", "monitoring.rules=true", "--set", "monitoring.dashboards=true"},
		[]string{"default", "monitoring"}},
	"one namespace, whose definitions an administrator applied": {"etcd",
		[]string{"--set", "watchNamespaces={etcd},crds.install=false"}, []string{"namespaced"}},
	"with the webhook": {"etcd-steward-system", []string{"--set", "webhook.enabled=true"}, []string{"default+webhook"}},
	"OpenShift":        {"etcd-steward-system", []string{"--api-versions", "security.openshift.io/v1"}, []string{"openshift"}},
}

func TestTheChartMakesTheObjectsThatKustomizeMakes(t *testing.T) {
	for name, how := range installs {
		t.Run(name, func(t *testing.T) {
			got, want := plain(t, rendered(t, how.namespace, how.args...)), object{}
			for _, directory := range how.config {
				maps.Copy(want, plain(t, built(t, directory)))
			}
			delete(want, "Namespace /"+how.namespace) // helm install --create-namespace
			if len(want) < 7 {
				t.Errorf("kustomize makes only %d objects", len(want))
			}
			for _, difference := range differences("", got, want) {
				t.Error(difference)
			}
		})
	}
}

func TestADifferenceOfOneFieldIsFound(t *testing.T) {
	want := plain(t, built(t, "default"))
	if found := differences("", plain(t, built(t, "default")), want); len(found) > 0 {
		t.Fatalf("%v", found)
	}
	got := plain(t, built(t, "openshift"))
	if found := differences("", got, want); len(found) != 2 {
		t.Errorf("want a user and a group, and found are %v", found)
	}
}

// A port of another certificate would be a target that is always down.
func TestTheServiceMonitorSelectsThePortOfMetricsAndNoOther(t *testing.T) {
	objects := rendered(t, "etcd-steward-system", withoutCRDs("--set", "webhook.enabled=true,monitoring.serviceMonitor=true")...)
	var selected []any
	for _, monitor := range ofKind(objects, "ServiceMonitor") {
		wanted := sub(sub(sub(monitor, "spec"), "selector"), "matchLabels")
		scraped := sub(monitor, "spec")["endpoints"].([]any)[0].(object)["port"]
		for _, service := range ofKind(objects, "Service") {
			labels := maps.Clone(sub(sub(service, "metadata"), "labels"))
			maps.DeleteFunc(labels, func(key string, _ any) bool { return wanted[key] == nil })
			for _, port := range sub(service, "spec")["ports"].([]any) {
				if reflect.DeepEqual(labels, wanted) && port.(object)["name"] == scraped {
					selected = append(selected, port.(object)["targetPort"])
				}
			}
		}
	}
	if want := []any{"https-metrics"}; !reflect.DeepEqual(selected, want) {
		t.Errorf("scraped are %v", selected)
	}
}

func ofKind(objects []object, kind string) []object {
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return o["kind"] != kind })
}

// ofTool are labels that say what installed an object, and nothing else.
var ofTool = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version",
	"helm.sh/chart"}

// plain is each object by its kind, namespace and name, without what tells kustomize and Helm apart.
func plain(t *testing.T, objects []object) object {
	t.Helper()
	all := object{}
	for _, o := range objects {
		metadata := o["metadata"].(object)
		for _, label := range ofTool {
			delete(sub(metadata, "labels"), label)
		}
		delete(sub(metadata, "annotations"), "helm.sh/resource-policy")
		for _, field := range []string{"labels", "annotations"} {
			if len(sub(metadata, field)) == 0 {
				delete(metadata, field)
			}
		}
		namespace, _ := metadata["namespace"].(string)
		if o["kind"] == "Deployment" {
			for _, container := range sub(sub(sub(o, "spec"), "template"), "spec")["containers"].([]any) {
				container.(object)["args"] = flags(namespace, container.(object)["args"])
			}
		}
		key := fmt.Sprintf("%s %s/%s", o["kind"], namespace, metadata["name"])
		if all[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		all[key] = o
	}
	return all
}

func sub(o object, field string) object {
	value, _ := o[field].(object)
	return value
}

// flags are those of the manager, in which the last of a name counts.
func flags(namespace string, args any) object {
	all := object{}
	for _, arg := range args.([]any) {
		name, value, _ := strings.Cut(arg.(string), "=")
		all[name] = strings.ReplaceAll(value, "$(POD_NAMESPACE)", namespace)
	}
	if all["--metrics-secure"] == "true" {
		delete(all, "--metrics-secure") // the default
	}
	return all
}

// differences says where two values are unlike each other.
func differences(path string, got, want any) []string {
	gotten, isObject := got.(object)
	wanted, isWanted := want.(object)
	if !isObject || !isWanted {
		if reflect.DeepEqual(got, want) {
			return nil
		}
		return []string{fmt.Sprintf("%s: the chart has %v, and kustomize has %v", path, got, want)}
	}
	keys := map[string]bool{}
	for _, o := range []object{gotten, wanted} {
		for key := range o {
			keys[key] = true
		}
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, differences(path+"."+key, gotten[key], wanted[key])...)
	}
	return found
}

// built is what a kustomization of config makes.
func built(t *testing.T, directory string) []object {
	t.Helper()
	base, component, _ := strings.Cut(directory, "+")
	path := filepath.Join(root, "config", base)
	if component != "" {
		path = overlaid(t, path, filepath.Join(root, "config", component))
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, text)
}

// overlaid is the directory of a kustomization that adds a component.
func overlaid(t *testing.T, base, component string) string {
	t.Helper()
	directory := t.TempDir()
	relative := func(path string) string {
		absolute, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if path, err = filepath.Rel(directory, absolute); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", relative(base), relative(component))
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return directory
}

// rendered is what the chart makes as the release etcd-steward.
func rendered(t *testing.T, namespace string, args ...string) []object {
	t.Helper()
	text, err := template(t, namespace, args...)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, text)
}

// template runs helm with nothing of this machine's own settings. The error is what helm says.
func template(t *testing.T, namespace string, args ...string) ([]byte, error) {
	t.Helper()
	return helm(t, append([]string{"template", "etcd-steward", filepath.Join(root, source), "--namespace", namespace}, args...)...)
}

func helm(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	home, program := t.TempDir(), findHelm(t)
	command := exec.Command(program, args...)
	command.Env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home,
		"GOGC=off"} // it is started a hundred times, each for a moment
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if command.Run() != nil {
		return nil, errors.New(errs.String() + out.String())
	}
	return out.Bytes(), nil
}

// findHelm is the helm that make builds, or the one of this machine. CI never does without.
func findHelm(t *testing.T) string {
	t.Helper()
	built, err := filepath.Abs(filepath.Join(root, "bin", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range []string{built, "helm"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no helm: make bin/helm")
	}
	t.Skip("NOT TRIED: there is no helm; make bin/helm builds it")
	return ""
}

func parsed(t *testing.T, text []byte) []object {
	t.Helper()
	var objects []object
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := object{}
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			objects = append(objects, o)
		}
	}
}
