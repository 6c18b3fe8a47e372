package admission_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const definitionFile = "../../config/crd/bases/etcdsteward.dev_etcdclusters.yaml"

// gate is the part of a Kubernetes API server that lets objects in: its own code, fed with the generated definition.
type gate struct {
	structural *structuralschema.Structural
	strategy   interface {
		Validate(ctx context.Context, obj runtime.Object) field.ErrorList
		ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	}
}

// newGate opens the gate. It fails when an API server would not accept the definition itself: a rule that does not
// compile, or whose estimated cost is over the budget.
func newGate(t testing.TB) *gate {
	t.Helper()
	return gateOf(t, readDefinition(t))
}

func gateOf(t testing.TB, definition *apiextensions.CustomResourceDefinition) *gate {
	t.Helper()
	if errs := apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), definition); len(errs) > 0 {
		t.Fatalf("an API server refuses the definition: %v", errs.ToAggregate())
	}
	return opened(t, definition)
}

// opened is the gate of a definition that an API server would accept.
func opened(t testing.TB, definition *apiextensions.CustomResourceDefinition) *gate {
	t.Helper()
	schema := schemaIn(definition)
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		t.Fatalf("reading the schema: %v", err)
	}
	whole, _, err := schemavalidation.NewSchemaValidator(schema)
	if err != nil {
		t.Fatalf("building the validator of the schema: %v", err)
	}
	status := schema.Properties["status"]
	ofStatus, _, err := schemavalidation.NewSchemaValidator(&status)
	if err != nil {
		t.Fatalf("building the validator of the status: %v", err)
	}
	subresources := definition.Spec.Subresources
	return &gate{structural: structural, strategy: customresource.NewStrategy(nil, true,
		v1alpha1.GroupVersion.WithKind(definition.Spec.Names.Kind), whole, ofStatus, structural, subresources.Status, subresources.Scale, nil)}
}

func readDefinition(t testing.TB) *apiextensions.CustomResourceDefinition {
	t.Helper()
	return readDefinitionFrom(t, definitionFile)
}

func readDefinitionFrom(t testing.TB, file string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatalf("reading the definition: %v", err)
	}
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, versioned); err != nil {
		t.Fatalf("decoding %s: %v", file, err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensions.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatalf("registering the types of definitions: %v", err)
		}
	}
	scheme.Default(versioned)
	definition := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(versioned, definition, nil); err != nil {
		t.Fatalf("converting the definition: %v", err)
	}
	// What a server fills in itself when it stores a definition.
	definition.Status.StoredVersions = []string{v1alpha1.GroupVersion.Version}
	return definition
}

// create says what a server answers to the creation of the object, and defaults it as a server does.
func (g *gate) create(t testing.TB, object *unstructured.Unstructured) field.ErrorList {
	t.Helper()
	g.admit(object)
	return g.strategy.Validate(t.Context(), object)
}

// update says what a server answers when the stored object becomes this one.
func (g *gate) update(t testing.TB, object, stored *unstructured.Unstructured) field.ErrorList {
	t.Helper()
	g.admit(object)
	g.admit(stored)
	object.SetResourceVersion("1")
	stored.SetResourceVersion("1")
	return g.strategy.ValidateUpdate(t.Context(), object, stored)
}

func (g *gate) admit(object *unstructured.Unstructured) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, g.structural)
	defaulting.Default(object.Object, g.structural)
	pruning.Prune(object.Object, g.structural, true)
}

// unknown are the fields of the object that a server drops, or refuses where it is asked to be strict.
func (g *gate) unknown(object *unstructured.Unstructured) []string {
	return pruning.PruneWithOptions(object.Object, g.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// schemaIn is the schema of the only version: where versions do not differ, a server holds it in one place for all.
func schemaIn(definition *apiextensions.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
	return definition.Spec.Validation.OpenAPIV3Schema
}

// schemaOf is the schema of one field.
func schemaOf(t testing.TB, path ...string) apiextensions.JSONSchemaProps {
	t.Helper()
	at := *schemaIn(readDefinition(t))
	for _, name := range path {
		next, ok := at.Properties[name]
		if !ok {
			t.Fatalf("the schema has no %v", path)
		}
		at = next
	}
	return at
}

func errsText(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}
