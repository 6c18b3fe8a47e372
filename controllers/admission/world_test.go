package admission_test

import (
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// smallest is the smallest cluster that a user would write.
const smallest = `
apiVersion: etcdsteward.dev/v1alpha1
kind: EtcdCluster
metadata: {name: demo, namespace: default}
spec: {size: 3, version: "3.6.16"}
`

// cluster is the smallest cluster with the changes, each a merge patch in YAML, restored over it.
func cluster(t testing.TB, changes ...string) *unstructured.Unstructured {
	t.Helper()
	return layered(t, smallest, changes...)
}

func layered(t testing.TB, text string, changes ...string) *unstructured.Unstructured {
	t.Helper()
	document := toJSON(t, text)
	for _, change := range changes {
		var err error
		if document, err = jsonpatch.MergePatch(document, toJSON(t, change)); err != nil {
			t.Fatalf("restoring %s over the object: %v", change, err)
		}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(document); err != nil {
		t.Fatalf("decoding %s: %v", document, err)
	}
	return object
}

// typed reads the object as the operator does.
func typed(t testing.TB, object *unstructured.Unstructured) *v1alpha1.EtcdCluster {
	t.Helper()
	document, err := object.MarshalJSON()
	if err != nil {
		t.Fatalf("encoding the object: %v", err)
	}
	c := &v1alpha1.EtcdCluster{}
	if err := yaml.UnmarshalStrict(document, c); err != nil {
		t.Fatalf("decoding %s: %v", document, err)
	}
	return c
}

func toJSON(t testing.TB, text string) []byte {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return document
}

// saysOnce fails unless exactly one error has this field and this sentence, and no error speaks of a rule that could not
// be run.
func saysOnce(t testing.TB, who string, errs field.ErrorList, at, sentence string) {
	t.Helper()
	found := 0
	for _, err := range errs {
		if err.Field == at && strings.Contains(err.Error(), sentence) {
			found++
		}
		if strings.Contains(err.Detail, "rule") && !strings.Contains(err.Detail, "rules were not checked") {
			t.Errorf("%s could not run a rule: %v", who, err)
		}
	}
	if found != 1 {
		t.Errorf("%s: want once %s: %s\ngot %v", who, at, sentence, errs.ToAggregate())
	}
}
