package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// validators are those of operator-sdk's default checks and of its suite operatorframework. The one for several
// architectures is left out: it pulls the images.
var validators = validator.Validators{
	validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
	validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
	validation.ObjectValidator, validation.OperatorGroupValidator, validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
}

// validated is what operator-framework's validators say of a bundle.
func validated(directory string) (failures, warnings []errors.Error) {
	bundle, err := manifests.GetBundleFromDir(directory)
	if err != nil {
		return []errors.Error{{Detail: err.Error()}}, nil
	}
	objects := []any{bundle, bundle.CSV, map[string]string{"k8s-version": "1.37"}}
	for _, crd := range bundle.V1CRDs {
		objects = append(objects, crd)
	}
	for _, o := range bundle.Objects {
		objects = append(objects, o)
	}
	for _, result := range validators.Validate(objects...) {
		failures, warnings = append(failures, result.Errors...), append(warnings, result.Warnings...)
	}
	return failures, warnings
}

func TestTheBundlePassesTheValidatorsOfOperatorFramework(t *testing.T) {
	failures, warnings := validated(filepath.Join(root, "config/olm/bundle"))
	for _, warning := range warnings {
		t.Log(warning.Error())
	}
	for _, failure := range failures {
		t.Error(failure.Error())
	}
}

func TestAMistakeInTheBundleIsFound(t *testing.T) {
	for name, row := range map[string]struct {
		file, from, to string
		want           string
	}{
		"a level that there is not": {csvFile, "capabilities: Full Lifecycle", "capabilities: Full", "capabilities level"},
		"an unknown category":       {csvFile, "categories: Database", "categories: Etcd", "categor"},
		"no install modes":          {csvFile, "supported: true", "supported: false", "none of InstallModeTypes"},
		"a kind without definition": {csvFile, "etcdrestores.etcdsteward.dev", "etcdrestores.other.dev", "not found in bundle"},
		"an example of no kind":     {csvFile, `"kind": "EtcdRestore"`, `"kind": "Other"`, "must have a provided API"},
		"a budget that blocks":      {budgetFile, "maxUnavailable: 1", "maxUnavailable: 0", "axUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := t.TempDir()
			if err := os.CopyFS(bundle, os.DirFS(filepath.Join(root, "config/olm/bundle"))); err != nil {
				t.Fatal(err)
			}
			replace(t, filepath.Join(bundle, "manifests", row.file), row.from, row.to)
			failures, _ := validated(bundle)
			if !slices.ContainsFunc(failures, func(e errors.Error) bool { return strings.Contains(e.Error(), row.want) }) {
				t.Errorf("found is only: %v", failures)
			}
		})
	}
}

const (
	csvFile    = "etcd-steward.clusterserviceversion.yaml"
	budgetFile = "etcd-steward-controller-manager.poddisruptionbudget.yaml"
)

func replace(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// No validator asks for these.
func TestTheBundleHasWhatItsPageShows(t *testing.T) {
	csv := committed(t)
	for _, name := range []string{"alm-examples", "capabilities", "categories", "containerImage", "createdAt",
		"description", "olm.skipRange", "repository", "support", "operatorframework.io/suggested-namespace"} {
		if csv.Annotations[name] == "" {
			t.Errorf("there is no annotation %s", name)
		}
	}
	if shown := csv.Annotations["description"]; len(shown) > 135 {
		t.Errorf("of the description %d characters are shown, and it has %d", 135, len(shown))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if csv.Labels["operatorframework.io/arch."+arch] != "supported" {
			t.Errorf("%s is not supported", arch)
		}
	}
	s := csv.Spec
	if s.DisplayName == "" || s.Provider.Name == "" || len(s.Icon) != 1 || len(s.Links) == 0 || len(s.Keywords) == 0 ||
		s.Maturity == "" || s.MinKubeVersion != "1.34.0" || len(s.RelatedImages) < 2 {
		t.Errorf("the page lacks something: %+v", s)
	}
	var titles []string
	for line := range strings.Lines(s.Description) {
		if title, isTitle := strings.CutPrefix(line, "## "); isTitle {
			titles = append(titles, strings.TrimSpace(title))
		}
	}
	if !slices.Equal(titles, []string{"etcd", "The operator", "Prerequisites"}) {
		t.Errorf("the parts of the description are %q", titles)
	}
}

// proven are the stories that prove a feature of OpenShift.
var proven = map[string]string{}

func TestAFeatureIsClaimedOnlyWhereAStoryProvesIt(t *testing.T) {
	claims := 0
	for name, value := range committed(t).Annotations {
		feature, isFeature := strings.CutPrefix(name, "features.operators.openshift.io/")
		if !isFeature {
			continue
		}
		claims++
		story := proven[feature]
		if (value == "true") != (story != "") {
			t.Errorf("%s is %q, and the story that proves it is %q", feature, value, story)
		}
		if story != "" && !isTold(t, story) {
			t.Errorf("%s: there is no story %q in test/e2e", feature, story)
		}
	}
	if claims != 7 {
		t.Errorf("%d features are answered", claims)
	}
}

// isTold reports whether a story has that text.
func isTold(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "test/e2e/*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), text)
	})
}

func TestEachFieldOfAnExampleIsDescribed(t *testing.T) {
	csv := committed(t)
	var examples []struct {
		Kind string         `json:"kind"`
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	described := map[string][]string{}
	for _, kind := range csv.Spec.CustomResourceDefinitions.Owned {
		for _, d := range kind.SpecDescriptors {
			name, _, _ := strings.Cut(d.Path, ".")
			described[kind.Kind] = append(described[kind.Kind], name)
			if d.Description == "." || d.DisplayName == "" {
				t.Errorf("%s has no words on %s", kind.Kind, d.Path)
			}
		}
		if len(kind.StatusDescriptors) == 0 || len(kind.Resources) == 0 {
			t.Errorf("%s has no status, or no resources", kind.Kind)
		}
	}
	if len(examples) != 5 || len(described) != 5 {
		t.Errorf("%d examples of %d kinds", len(examples), len(described))
	}
	for _, example := range examples {
		for _, name := range slices.Sorted(maps.Keys(example.Spec)) {
			if !slices.Contains(described[example.Kind], name) {
				t.Errorf("%s has no words on %s", example.Kind, name)
			}
		}
	}
}

// committed is the ClusterServiceVersion of this tree.
func committed(t *testing.T) *operators.ClusterServiceVersion {
	t.Helper()
	return csvIn(t, filepath.Join(root, "config/olm"))
}

func csvIn(t *testing.T, directory string) *operators.ClusterServiceVersion {
	t.Helper()
	csv := &operators.ClusterServiceVersion{}
	if err := read(filepath.Join(directory, "bundle/manifests", csvFile), csv); err != nil {
		t.Fatal(err)
	}
	return csv
}
