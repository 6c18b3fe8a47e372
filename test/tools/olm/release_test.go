package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

const (
	byDigest = "ghcr.io/etcdsteward/etcd-steward@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	bundleAt = "ghcr.io/etcdsteward/etcd-steward-bundle@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// released is what a release writes.
func released(t *testing.T, o options) string {
	t.Helper()
	o.root, o.out = root, t.TempDir()
	if err := run(o); err != nil {
		t.Fatal(err)
	}
	return o.out
}

func TestAReleaseNamesItsImagesByTheirDigests(t *testing.T) {
	out := released(t, options{version: "1.2.3", image: byDigest, bundle: bundleAt, created: "2030-01-02T03:04:05Z"})
	csv := csvIn(t, out)
	container := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
	if csv.Name != "etcd-steward.v1.2.3" || csv.Spec.Version.String() != "1.2.3" || container.Image != byDigest ||
		csv.Annotations["containerImage"] != byDigest || csv.Annotations["createdAt"] != "2030-01-02T03:04:05Z" ||
		csv.Annotations["olm.skipRange"] != "<1.2.3" || csv.Spec.RelatedImages[0].Image != byDigest {
		t.Errorf("%s %+v", csv.Name, csv.Annotations)
	}
	if failures, _ := validated(filepath.Join(out, "bundle")); len(failures) > 0 {
		t.Errorf("%v", failures)
	}
	if offered := catalogue(t, out)["olm.bundle"][0]; offered["image"] != bundleAt {
		t.Errorf("the catalogue offers %v", offered["image"])
	}
}

func TestAVersionThatIsNoneIsRefused(t *testing.T) {
	err := run(options{root: root, out: t.TempDir(), version: "v1"})
	if err == nil || !strings.Contains(err.Error(), `the version "v1"`) {
		t.Errorf("%v", err)
	}
}

func TestAnImageIsFoundByItsRepository(t *testing.T) {
	for image, want := range map[string]string{
		"ghcr.io/a/b:dev": "ghcr.io/a/b", "ghcr.io/a/b@sha256:01": "ghcr.io/a/b", "host:5000/a": "host:5000/a",
		"host:5000/a:v1@sha256:01": "host:5000/a",
	} {
		if got := repository(image); got != want {
			t.Errorf("%s: %s", image, got)
		}
	}
}

func TestEveryImageOfASampleIsRelated(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config/samples/etcdcluster*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	related := committed(t).Spec.RelatedImages
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\n  version: ")
		version, _, _ := strings.Cut(after, "\n")
		image := "gcr.io/etcd-development/etcd:v" + strings.Trim(version, `"v`)
		if !slices.ContainsFunc(related, func(r operators.RelatedImage) bool { return r.Image == image }) {
			t.Errorf("%s runs %s, which no mirror has: %v", file, image, related)
		}
	}
}

func TestTheImageOfTheBundleHasItsAnnotationsAsLabels(t *testing.T) {
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := read(filepath.Join(root, "config/olm/bundle/metadata/annotations.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config/olm/bundle.Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if label, isLabel := strings.CutPrefix(line, "LABEL "); isLabel {
			name, value, _ := strings.Cut(strings.TrimSpace(label), "=")
			labels[name] = strings.Trim(value, `"`)
		}
	}
	if len(labels) < 8 || !maps.Equal(labels, file.Annotations) {
		t.Errorf("labels %v\nannotations %v", labels, file.Annotations)
	}
}

// document is one of a catalogue.
type document = map[string]any

// catalogue is what a catalogue has, by its schema.
func catalogue(t *testing.T, directory string) map[string][]document {
	t.Helper()
	file, err := os.Open(filepath.Join(directory, "catalog/etcd-steward/catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	all := map[string][]document{}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		d := document{}
		if decoder.Decode(&d) != nil {
			return all
		}
		schema, _ := d["schema"].(string)
		all[schema] = append(all[schema], d)
	}
}

// It asks for what `opm validate` does: one package, whose channel there is, with entries that are bundles of the package.
func TestTheCatalogueOffersTheBundle(t *testing.T) {
	all := catalogue(t, filepath.Join(root, "config/olm"))
	csv := committed(t)
	if len(all) != 3 || len(all["olm.package"]) != 1 || len(all["olm.channel"]) != 1 || len(all["olm.bundle"]) != 1 {
		t.Fatalf("the catalogue has %v", all)
	}
	offered, versions, bundle := all["olm.package"][0], all["olm.channel"][0], all["olm.bundle"][0]
	entries := versions["entries"].([]any)
	if offered["name"] != packageName || offered["defaultChannel"] != versions["name"] || len(entries) != 1 ||
		versions["package"] != packageName || entries[0].(document)["name"] != csv.Name ||
		bundle["name"] != csv.Name || bundle["package"] != packageName {
		t.Errorf("%v\n%v\n%v", offered["defaultChannel"], versions, bundle["name"])
	}
	values := map[string][]document{}
	for _, p := range bundle["properties"].([]any) {
		kind := p.(document)["type"].(string)
		values[kind] = append(values[kind], p.(document)["value"].(document))
	}
	if version := values["olm.package"]; len(version) != 1 || version[0]["version"] != csv.Spec.Version.String() {
		t.Errorf("the version is %v", version)
	}
	if len(values["olm.gvk"]) != len(csv.Spec.CustomResourceDefinitions.Owned) || len(values["olm.csv.metadata"]) != 1 {
		t.Errorf("the properties are %v", values)
	}
	for _, kind := range values["olm.gvk"] {
		if kind["group"] != "etcdsteward.dev" || kind["version"] != "v1alpha1" {
			t.Errorf("%v", kind)
		}
	}
}
