package admission_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

func TestNoRuleOfTheSchemaCouldBeTakenAwayUnnoticed(t *testing.T) {
	eachRuleIsNeeded(t, definitionFile, 20, isNoticed)
}

// eachRuleIsNeeded takes each rule of a definition away in turn, each fifth one in the gate: a row of the tables must
// then miss its sentence. There must be at least so many rules.
func eachRuleIsNeeded(t *testing.T, file string, atLeast int, isNoticed func(*testing.T, *gate) bool) {
	t.Parallel()
	total, whole := 0, readDefinitionFrom(t, file)
	for ; ; total += needs.Stride(5) {
		definition := whole.DeepCopy()
		n := total
		rule := takeRule(schemaIn(definition), &n)
		if rule == "" {
			break
		}
		if !isNoticed(t, opened(t, definition)) {
			t.Errorf("no row needs this rule: %s", rule)
		}
	}
	if total < atLeast {
		t.Errorf("only %d rules were found", total)
	}
}

// takeRule removes the n-th rule at or below the schema and gives its text; empty when there are not so many.
func takeRule(schema *apiextensions.JSONSchemaProps, n *int) string {
	if *n < len(schema.XValidations) {
		rule := schema.XValidations[*n].Rule
		schema.XValidations = slices.Delete(schema.XValidations, *n, *n+1)
		return rule
	}
	*n -= len(schema.XValidations)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		child := schema.Properties[name]
		if rule := takeRule(&child, n); rule != "" {
			schema.Properties[name] = child
			return rule
		}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		return takeRule(schema.AdditionalProperties.Schema, n)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		return takeRule(schema.Items.Schema, n)
	}
	return ""
}

func isNoticed(t *testing.T, g *gate) bool {
	t.Helper()
	for _, row := range refused {
		if row.says != "" && !contains(g.create(t, cluster(t, row.change)), row.schemaField(), row.says) {
			return true
		}
	}
	for _, row := range changes {
		if row.says != "" && !contains(g.update(t, cluster(t, row.after), cluster(t, row.before)), row.field, row.says) {
			return true
		}
	}
	return false
}

func contains(errs field.ErrorList, at, sentence string) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool {
		return err.Field == at && strings.Contains(err.Error(), sentence)
	})
}
