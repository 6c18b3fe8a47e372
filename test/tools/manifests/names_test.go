package manifests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

type definition struct {
	Spec struct {
		Names struct {
			Kind       string   `json:"kind"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
	} `json:"spec"`
}

// kubectl takes a word for a category first. Where that names more than one kind, `kubectl get etcd demo` fails with "you must
// specify only one resource". So only clusters are in the category etcd, and all kinds are in etcdsteward.
func TestEveryKindHasAShortNameAndIsInTheCategoriesButAShortNameIsNoCategoryOfAnotherKind(t *testing.T) {
	files, err := filepath.Glob("../../../config/crd/bases/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("definitions of at least two kinds: %v, %v", files, err)
	}
	owner := map[string]string{}
	categories := map[string][]string{}
	for _, file := range files {
		d := definition{}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		for _, name := range d.Spec.Names.ShortNames {
			owner[name] = d.Spec.Names.Kind
		}
		categories[d.Spec.Names.Kind] = d.Spec.Names.Categories
	}
	for kind, its := range categories {
		if !slices.Contains(its, "all") || !slices.Contains(its, "etcdsteward") {
			t.Errorf("%s is in the categories %v", kind, its)
		}
		if !slices.Contains(slices.Collect(maps.Values(owner)), kind) {
			t.Errorf("%s has no short name", kind)
		}
	}
	if owner["etcd"] != "EtcdCluster" {
		t.Errorf("etcd is short for %q", owner["etcd"])
	}
	for name, kind := range owner {
		for other, its := range categories {
			if other != kind && slices.Contains(its, name) {
				t.Errorf("%s is short for %s and a category of %s", name, kind, other)
			}
		}
	}
}
