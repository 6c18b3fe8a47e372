package admission_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcdsteward/etcd-steward/controllers/admission"
)

func TestEachSampleIsAdmittedWithoutAWarning(t *testing.T) {
	g := newGate(t)
	for name, object := range samples(t) {
		t.Run(name, func(t *testing.T) {
			c := typed(t, object) // strict: a field that does not exist fails here
			if errs := admission.Validate(c); len(errs) > 0 {
				t.Errorf("the operator refuses it: %v", errs.ToAggregate())
			}
			if warnings := admission.Warnings(c); len(warnings) > 0 {
				t.Errorf("the operator warns of it: %q", warnings)
			}
			if errs := g.create(t, object); len(errs) > 0 {
				t.Errorf("the schema refuses it: %v", errs.ToAggregate())
			}
		})
	}
}

func samples(t testing.TB) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../../config/samples/etcdcluster*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("looking for the samples: found %d, error %v", len(files), err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("reading a sample: %v", err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(toJSON(t, string(text))); err != nil {
			t.Fatalf("decoding %s: %v", file, err)
		}
		object.SetNamespace("default")
		objects[filepath.Base(file)] = object
	}
	return objects
}
