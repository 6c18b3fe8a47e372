package main

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What the flag does with each of these, tests of cmd/manager prove: with an empty one the operator looks after all.
func TestTheOperatorIsToldTheNamespacesOfEachInstallMode(t *testing.T) {
	for mode, targets := range map[operators.InstallModeType]string{
		operators.InstallModeTypeAllNamespaces:   "",
		operators.InstallModeTypeOwnNamespace:    "operators",
		operators.InstallModeTypeSingleNamespace: "team-a",
		operators.InstallModeTypeMultiNamespace:  "team-a,team-b",
	} {
		csv := committed(t)
		if !slices.Contains(csv.Spec.InstallModes, operators.InstallMode{Type: mode, Supported: true}) {
			t.Errorf("%s is not supported", mode)
		}
		template := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template
		given := expanded(template.Spec.Containers[0], map[string]string{"olm.targetNamespaces": targets})
		var last string
		for _, arg := range given {
			if value, isIt := strings.CutPrefix(arg, "--namespace"); isIt {
				last = value
			}
		}
		if last != "="+targets {
			t.Errorf("%s: the operator is told %q", mode, given)
		}
	}
}

// expanded are the arguments of a container as the kubelet expands them, in a Pod with these annotations.
func expanded(container corev1.Container, annotations map[string]string) []string {
	var all []string
	for _, arg := range container.Args {
		for _, variable := range container.Env {
			value := variable.Value
			if variable.ValueFrom != nil {
				path := variable.ValueFrom.FieldRef.FieldPath
				value = annotations[strings.TrimSuffix(strings.TrimPrefix(path, "metadata.annotations['"), "']")]
			}
			arg = strings.ReplaceAll(arg, "$("+variable.Name+")", value)
		}
		all = append(all, arg)
	}
	return all
}

// These roles the operator has with OLM.
var (
	inNamespaces = []string{"etcd-steward-manager-role", "etcd-steward-leader-election-role"}
	outside      = []string{"etcd-steward-node-reader-role", "etcd-steward-metrics-auth-role"}
)

func TestTheBundleGrantsWhatConfigGrantsAndNoMore(t *testing.T) {
	strategy := committed(t).Spec.InstallStrategy.StrategySpec
	for _, part := range []struct {
		name    string
		granted []operators.StrategyDeploymentPermissions
		roles   []string
	}{
		{"in each namespace", strategy.Permissions, inNamespaces},
		{"outside namespaces", strategy.ClusterPermissions, outside},
	} {
		var want []rbacv1.PolicyRule
		for _, name := range part.roles {
			want = append(want, ruleOf(t, name)...)
		}
		if len(part.granted) != 1 || part.granted[0].ServiceAccountName != account || !sameRules(part.granted[0].Rules, want) {
			t.Errorf("%s: granted are %+v\nwant %+v", part.name, part.granted, want)
		}
	}
	for _, binding := range configured(t) {
		role, isBinding, _ := unstructured.NestedString(binding, "roleRef", "name")
		if isBinding && !slices.Contains(slices.Concat(inNamespaces, outside), role) {
			t.Errorf("%s binds %s: say here where the operator has it with OLM", binding.name(), role)
		}
	}
}

const account = "etcd-steward-controller-manager"

func ruleOf(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	for _, o := range configured(t) {
		if o.name() == name && strings.HasSuffix(o.kind(), "Role") {
			var role rbacv1.ClusterRole
			if err := convert(o, &role); err != nil {
				t.Fatal(err)
			}
			return role.Rules
		}
	}
	t.Fatalf("config has no role %s", name)
	return nil
}

// sameRules compares rules in any order.
func sameRules(got, want []rbacv1.PolicyRule) bool {
	for _, rule := range want {
		at := slices.IndexFunc(got, func(other rbacv1.PolicyRule) bool { return reflect.DeepEqual(rule, other) })
		if at < 0 {
			return false
		}
		got = slices.Delete(slices.Clone(got), at, at+1)
	}
	return len(got) == 0
}

func configured(t *testing.T) []object {
	t.Helper()
	all, err := build(root, "config/openshift")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// carriedByOLM are the kinds that a bundle may hold beside the ClusterServiceVersion, of those that config makes
// (operator-registry:pkg/lib/bundle/supported_resources.go).
var carriedByOLM = []string{"ClusterRole", "CustomResourceDefinition", "PodDisruptionBudget", "Service"}

func TestTheBundleHoldsEachObjectThatOLMCarries(t *testing.T) {
	want, all := map[string]bool{}, configured(t)
	for _, o := range all {
		isBound := slices.ContainsFunc(all, func(b object) bool {
			role, _, _ := unstructured.NestedString(b, "roleRef", "name")
			return role == o.name() && o.kind() == "ClusterRole"
		})
		if slices.Contains(carriedByOLM, o.kind()) && !isBound {
			want[o.kind()+" "+o.name()] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "config/olm/bundle/manifests/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, file := range files {
		o := object{}
		if err := read(file, &o); err != nil {
			t.Fatal(err)
		}
		if namespace, isThere, _ := unstructured.NestedString(o, "metadata", "namespace"); isThere {
			t.Errorf("%s is in the namespace %s, and OLM chooses it", o.name(), namespace)
		}
		if o.kind() != "ClusterServiceVersion" {
			got[o.kind()+" "+o.name()] = true
		}
	}
	if len(want) < 10 || !maps.Equal(got, want) {
		t.Errorf("the bundle has %v\nwant %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func TestAKindThatIsNewInConfigIsRefusedUntilItIsSaidWhatOLMDoesWithIt(t *testing.T) {
	added := object{"kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": "new"}}
	err := (&objects{}).sort([]object{added})
	if err == nil || !strings.Contains(err.Error(), "MutatingWebhookConfiguration new: say in kinds") {
		t.Errorf("%v", err)
	}
}

func TestThePoliciesHoldTheAccountThatOLMMakes(t *testing.T) {
	policies := 0
	for _, o := range configured(t) {
		if o.kind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policies++
		conditions, _, _ := unstructured.NestedSlice(o, "spec", "matchConditions")
		if !strings.Contains(conditions[0].(map[string]any)["expression"].(string), ".endsWith('"+account+"')") {
			t.Errorf("%s does not look at %s", o.name(), account)
		}
	}
	if policies == 0 {
		t.Error("there are no policies")
	}
}
