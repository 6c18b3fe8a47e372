package manifests

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	kindPolicy  = "ValidatingAdmissionPolicy"
	kindBinding = "ValidatingAdmissionPolicyBinding"
)

// policy is what both kinds have, as far as it is looked at.
type policy struct {
	FailurePolicy    string `json:"failurePolicy"`
	MatchConstraints struct {
		ResourceRules []struct {
			APIGroups  []string `json:"apiGroups"`
			Resources  []string `json:"resources"`
			Operations []string `json:"operations"`
		} `json:"resourceRules"`
	} `json:"matchConstraints"`
	MatchConditions []struct {
		Expression string `json:"expression"`
	} `json:"matchConditions"`
	Validations []struct {
		Expression        string `json:"expression"`
		Message           string `json:"message"`
		MessageExpression string `json:"messageExpression"`
		Reason            string `json:"reason"`
	} `json:"validations"`
	PolicyName        string   `json:"policyName"`
	ValidationActions []string `json:"validationActions"`
}

func policyOf(t *testing.T, o object) policy {
	t.Helper()
	var whole struct {
		Spec policy `json:"spec"`
	}
	if err := yaml.Unmarshal(o.text, &whole); err != nil {
		t.Fatal(err)
	}
	return whole.Spec
}

func ofKind(objects []object, kind string) []object {
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return o.Kind != kind })
}

func TestEachPolicyIsInForceAndNamesObjectAndRemedy(t *testing.T) {
	for _, directory := range []string{"config/default", "config/openshift", "config/namespaced/policy"} {
		objects := built(t, directory)
		policies := ofKind(objects, kindPolicy)
		if len(policies) < 6 {
			t.Errorf("%s has only %d policies", directory, len(policies))
		}
		for _, o := range policies {
			p, binding := policyOf(t, o), policyOf(t, named(t, objects, kindBinding, o.Metadata.Name))
			if binding.PolicyName != o.Metadata.Name || !slices.Equal(binding.ValidationActions, []string{"Deny"}) || p.FailurePolicy != "Fail" {
				t.Errorf("%s: %s is not in force: %+v", directory, o.Metadata.Name, binding)
			}
			for _, v := range p.Validations {
				if v.Message == "" || v.Reason != "Forbidden" || !strings.Contains(v.MessageExpression, "request.namespace") && !strings.Contains(v.MessageExpression, "variables.which") {
					t.Errorf("%s: a refusal names no object: %+v", o.Metadata.Name, v)
				}
			}
		}
	}
}

// accountEnd is the end of the name of the account that a policy looks at.
var accountEnd = regexp.MustCompile(`endsWith\('([^']+)'\)`)

func TestThePoliciesKnowTheAccountOfEachInstall(t *testing.T) {
	for name, objects := range map[string][]object{
		"config/default":           built(t, "config/default"),
		"config/openshift":         built(t, "config/openshift"),
		"config/namespaced":        append(built(t, "config/namespaced"), built(t, "config/namespaced/policy")...),
		"another namespace":        overlaid(t, "namespace: team-a\nresources: [../default]\n"),
		"a prefix":                 overlaid(t, "namePrefix: team-a-\nresources: [../default]\n"),
		"one namespace by overlay": append(overlaid(t, "namespace: team-a\nresources: [../namespaced]\n"), built(t, "config/namespaced/policy")...),
	} {
		accounts := ofKind(objects, "ServiceAccount")
		if len(accounts) != 1 {
			t.Fatalf("%s: %d accounts", name, len(accounts))
		}
		user := "system:serviceaccount:" + accounts[0].Metadata.Namespace + ":" + accounts[0].Metadata.Name
		for _, o := range ofKind(objects, kindPolicy) {
			conditions := policyOf(t, o).MatchConditions
			if len(conditions) == 0 {
				t.Fatalf("%s: %s has no condition", name, o.Metadata.Name)
			}
			end := accountEnd.FindStringSubmatch(conditions[0].Expression)
			if end == nil || !strings.HasSuffix(user, end[1]) || !strings.Contains(conditions[0].Expression, "startsWith('system:serviceaccount:')") {
				t.Errorf("%s: %s does not know %s: %s", name, o.Metadata.Name, user, conditions[0].Expression)
			}
			if named(t, objects, kindBinding, o.Metadata.Name).Metadata.Name != policyOf(t, named(t, objects, kindBinding, o.Metadata.Name)).PolicyName {
				t.Errorf("%s: the binding %s is of another policy", name, o.Metadata.Name)
			}
		}
	}
}

func TestAnOperatorOfOneNamespaceHasTheSamePolicies(t *testing.T) {
	whole, one := built(t, "config/default"), built(t, "config/namespaced/policy")
	for _, kind := range []string{kindPolicy, kindBinding} {
		if len(ofKind(one, kind)) != len(ofKind(whole, kind)) {
			t.Errorf("%s: %d and %d", kind, len(ofKind(one, kind)), len(ofKind(whole, kind)))
		}
		for _, o := range ofKind(one, kind) {
			if !reflect.DeepEqual(policyOf(t, o), policyOf(t, named(t, whole, kind, o.Metadata.Name))) {
				t.Errorf("%s %s differs", kind, o.Metadata.Name)
			}
		}
	}
}

// unlimited are writes that no policy looks at, and why not.
var unlimited = map[string]string{
	"events":                         "they change nothing",
	"tokenreviews":                   "they are questions",
	"subjectaccessreviews":           "they are questions",
	"leases":                         "only the operator's own, by name and namespace",
	"etcdclusters/finalizers":        "it lets objects be owned",
	"etcdbackups/finalizers":         "it lets objects be owned",
	"etcdbackupschedules/finalizers": "it lets objects be owned",
	"etcdclients/finalizers":         "it lets objects be owned",
	"etcdclients/status":             "it is what the operator says of its own kinds",
	"etcdclusters/status":            "it is what the operator says of its own kinds",
	"etcdbackups/status":             "it is what the operator says of its own kinds",
	"etcdbackupschedules/status":     "it is what the operator says of its own kinds",
	"etcdrestores/status":            "it is what the operator says of its own kinds",
}

func TestEachWriteThatARoleAllowsIsLimitedByAPolicy(t *testing.T) {
	objects := installed(t)
	limited := map[string][]string{}
	for _, o := range ofKind(objects, kindPolicy) {
		for _, rule := range policyOf(t, o).MatchConstraints.ResourceRules {
			for _, resource := range rule.Resources {
				limited[resource] = append(limited[resource], rule.Operations...)
			}
		}
	}
	operations := map[string]string{"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}
	for _, o := range append(ofKind(objects, "ClusterRole"), ofKind(objects, "Role")...) {
		if strings.Contains(o.Metadata.Name, "-editor-") || strings.Contains(o.Metadata.Name, "-viewer-") {
			continue // of people
		}
		for _, r := range o.Rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					if operation := operations[verb]; operation != "" && unlimited[resource] == "" && !slices.Contains(limited[resource], operation) {
						t.Errorf("%s may %s %s, and no policy of config/policy looks at it", o.Metadata.Name, verb, resource)
					}
				}
			}
		}
	}
}
