package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/config/crd"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

// gate lets objects of one kind in, as an API server with the definition of this release does: by its own code.
type gate struct {
	structural *structuralschema.Structural
	schema     schemavalidation.SchemaValidator
	rules      *cel.Validator
}

// gates are those of all kinds of the definitions, by kind.
var gates = sync.OnceValues(func() (map[string]*gate, error) {
	files, err := crd.Files.ReadDir("bases")
	if err != nil {
		return nil, fmt.Errorf("reading the definitions: %w", err)
	}
	all := map[string]*gate{}
	for _, file := range files {
		text, err := crd.Files.ReadFile("bases/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("reading the definitions: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, definition); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
		}
		if all[definition.Spec.Names.Kind], err = newGate(definition); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
		}
	}
	return all, nil
})

func newGate(definition *apiextensionsv1.CustomResourceDefinition) (*gate, error) {
	versioned := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	props := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(versioned, props, nil)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	if g.structural, err = structuralschema.NewStructural(props); err != nil {
		return nil, err
	}
	if g.schema, _, err = schemavalidation.NewSchemaValidator(props); err != nil {
		return nil, err
	}
	g.rules = cel.NewValidator(g.structural, true, celconfig.PerCallLimit)
	return g, nil
}

// offline says what the API server and the operator would say of a new object, as far as neither has to be asked: what
// exists in a Kubernetes, or may not change there, is not known.
func offline(ctx context.Context, object *unstructured.Unstructured) ([]finding, error) {
	all, err := gates()
	if err != nil {
		return nil, err
	}
	g, kind := all[object.GetKind()], object.GroupVersionKind()
	switch {
	case g == nil:
		return []finding{{Field: "kind", Message: fmt.Sprintf("%s is no kind of etcd-steward; it must be one of %s",
			kind.Kind, strings.Join(slices.Sorted(maps.Keys(all)), ", "))}}, nil
	case kind.Version != v1alpha1.GroupVersion.Version:
		return []finding{{Field: "apiVersion", Message: fmt.Sprintf("it is %s; it must be %s", object.GetAPIVersion(),
			v1alpha1.GroupVersion)}}, nil
	}
	fillIn(object)
	var found []finding
	unknown := pruning.PruneWithOptions(object.Object, g.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		found = append(found, finding{Field: path, Message: "there is no such field. `kubectl explain " +
			strings.ToLower(kind.Kind) + "` lists the fields"})
	}
	errs, isWhole := g.admit(ctx, object)
	found = append(found, findingsOf(errs)...)
	if !isWhole {
		return found, nil
	}
	return append(found, operatorSays(object)...), nil
}

// fillIn gives an object what the API server gives it before it looks.
func fillIn(object *unstructured.Unstructured) {
	if object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(object.GetGenerateName() + "x")
	}
}

// admit says what the schema and its rules refuse, and whether the object is whole: one of other types has no rules to
// go by.
func (g *gate) admit(ctx context.Context, object *unstructured.Unstructured) (errs field.ErrorList, isWhole bool) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, g.structural)
	defaulting.Default(object.Object, g.structural)
	errs = validation.ValidateObjectMetaAccessor(object, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, schemavalidation.ValidateCustomResource(nil, object.Object, g.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, g.structural, object.Object)...)
	if slices.ContainsFunc(errs, isBlocking) {
		return errs, false
	}
	broken, _ := g.rules.Validate(ctx, nil, g.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...), true
}

// isBlocking tells errors after which an API server evaluates no rules.
func isBlocking(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired,
		field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}, err.Type)
}

func findingsOf(errs field.ErrorList) []finding {
	var found []finding
	for _, err := range errs {
		f := finding{Field: strings.TrimPrefix(err.Field, "<nil>"), Message: err.ErrorBody()}
		isRule := err.Type == field.ErrorTypeInvalid || err.Type == field.ErrorTypeForbidden
		if isRule && err.Detail != "" {
			f.Message = err.Detail // a whole sentence
		}
		found = append(found, f)
	}
	return found
}

// operatorSays is what the operator refuses and warns of, where no schema can say it.
func operatorSays(object *unstructured.Unstructured) []finding {
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	switch object.GetKind() {
	case "EtcdCluster":
		c := &v1alpha1.EtcdCluster{}
		if err := convert(object.Object, c); err != nil {
			return []finding{{Message: err.Error()}}
		}
		found := findingsOf(admission.Validate(c))
		for _, warning := range admission.Warnings(c) {
			found = append(found, finding{Message: warning, Warning: true})
		}
		return found
	case "EtcdBackupSchedule":
		s := &v1alpha1.EtcdBackupSchedule{}
		if err := convert(object.Object, s); err != nil {
			return []finding{{Message: err.Error()}}
		}
		return findingsOf(faultsOf(s))
	}
	return nil
}

func faultsOf(s *v1alpha1.EtcdBackupSchedule) field.ErrorList {
	times := scheduleplan.Schedule{Expression: s.Spec.Schedule}
	if s.Spec.TimeZone != nil {
		times.TimeZone = *s.Spec.TimeZone
	}
	if s.Spec.TestRestore != nil {
		times.TestExpression = s.Spec.TestRestore.Schedule
	}
	var errs field.ErrorList
	for _, fault := range scheduleplan.Faults(times, time.Now()) {
		errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: fault.Field, BadValue: fault.Value,
			Detail: fault.Message})
	}
	return errs
}
