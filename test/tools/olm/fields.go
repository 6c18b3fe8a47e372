package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// own completes what is by hand of each kind: names from the chart, and words on fields from the definition.
func own(csv *operators.ClusterServiceVersion, about *chart, carried []object) error {
	var described []operators.CRDDescription
	if err := about.annotation("crds", &described); err != nil {
		return err
	}
	owned := csv.Spec.CustomResourceDefinitions.Owned
	if len(owned) != len(described) {
		return fmt.Errorf("config/olm/base.yaml describes %d kinds, and config/crd has %d", len(owned), len(described))
	}
	for i := range owned {
		at := slices.IndexFunc(described, func(d operators.CRDDescription) bool { return d.Kind == owned[i].Kind })
		if at < 0 {
			return fmt.Errorf("config/olm/base.yaml describes %s, which config/crd lacks", owned[i].Kind)
		}
		owned[i].Name, owned[i].Version = described[at].Name, described[at].Version
		owned[i].DisplayName, owned[i].Description = described[at].DisplayName, described[at].Description
		schema, err := schemaOf(owned[i].Name, carried)
		if err != nil {
			return err
		}
		if err := tell(&owned[i], schema); err != nil {
			return err
		}
	}
	return nil
}

// schemaOf is that of a definition.
func schemaOf(name string, carried []object) (*apiextensions.JSONSchemaProps, error) {
	for _, o := range carried {
		if o.name() != name {
			continue
		}
		crd := &apiextensions.CustomResourceDefinition{}
		if err := convert(o, crd); err != nil {
			return nil, err
		}
		return crd.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
	}
	return nil, fmt.Errorf("there is no definition %s", name)
}

// tell gives each field that base.yaml names its words. A name that base.yaml gives it stays.
func tell(kind *operators.CRDDescription, schema *apiextensions.JSONSchemaProps) error {
	for i := range kind.SpecDescriptors {
		d := &kind.SpecDescriptors[i]
		said, err := sentence(schema, "spec."+d.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
		d.DisplayName, d.Description = cmp.Or(d.DisplayName, title(d.Path)), said
	}
	for i := range kind.StatusDescriptors {
		d := &kind.StatusDescriptors[i]
		said, err := sentence(schema, "status."+d.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
		d.DisplayName, d.Description = cmp.Or(d.DisplayName, title(d.Path)), said
	}
	return nil
}

// sentence is the first one that the definition has on a field.
func sentence(schema *apiextensions.JSONSchemaProps, path string) (string, error) {
	for name := range strings.SplitSeq(path, ".") {
		field, isThere := schema.Properties[name]
		if !isThere {
			return "", fmt.Errorf("config/olm/base.yaml names %s, which is no field", path)
		}
		schema = &field
	}
	said := strings.Join(strings.Fields(schema.Description), " ")
	first, _, _ := strings.Cut(said, ". ")
	return strings.TrimSuffix(first, ".") + ".", nil
}

// title is a path as people read it: storage.storageClassName is "Storage: Storage Class Name".
func title(path string) string {
	var words strings.Builder
	previous := '.'
	for _, letter := range path {
		switch {
		case previous == '.':
			letter = unicode.ToUpper(letter)
		case unicode.IsUpper(letter) && !unicode.IsUpper(previous):
			words.WriteByte(' ')
		}
		if previous = letter; letter == '.' {
			words.WriteString(": ")
			continue
		}
		words.WriteRune(letter)
	}
	return words.String()
}
