package main

import (
	"fmt"
	"path/filepath"
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// object is one of Kubernetes, as kustomize makes it.
type object map[string]any

func (o object) kind() string { return (&unstructured.Unstructured{Object: o}).GetKind() }
func (o object) name() string { return (&unstructured.Unstructured{Object: o}).GetName() }

// kinds are what becomes of each kind of object that config makes. A kind that is not here is refused: say what OLM does
// with it.
var kinds = map[string]string{
	"CustomResourceDefinition": "carried",
	"ClusterRole":              "carried, or a permission where it is bound to the operator",
	"PodDisruptionBudget":      "carried",
	"Service":                  "carried",
	"ClusterRoleBinding":       "a permission",
	"RoleBinding":              "a permission",
	"Role":                     "a permission",
	"Deployment":               "the strategy",
	"ServiceAccount":           "OLM makes it from the permissions",
	"Namespace":                "a suggestion: an administrator makes it",
	// No bundle may hold these kinds.
	"ValidatingAdmissionPolicy":        "an administrator's: config/namespaced/policy",
	"ValidatingAdmissionPolicyBinding": "an administrator's: config/namespaced/policy",
}

// objects are what config makes, as OLM takes it.
type objects struct {
	carried            []object // beside the ClusterServiceVersion, in its order
	deployment         appsv1.Deployment
	namespace          object                                  // that the operator is best in
	permissions        operators.StrategyDeploymentPermissions // by a Role in each namespace that the operator looks after
	clusterPermissions operators.StrategyDeploymentPermissions
}

// readObjects takes the objects of config/openshift: no user and no group is fixed, which every Kubernetes accepts. What
// config/namespaced grants by a Role, OLM grants by a Role in each namespace, or by a ClusterRole for all.
func readObjects(root string) (*objects, error) {
	whole, err := build(root, "config/openshift")
	if err != nil {
		return nil, err
	}
	one, err := build(root, "config/namespaced")
	if err != nil {
		return nil, err
	}
	all := &objects{}
	inNamespaces := rolesOf(one)
	for _, binding := range whole {
		if binding.kind() != "ClusterRoleBinding" && binding.kind() != "RoleBinding" {
			continue
		}
		role, _, _ := unstructured.NestedString(binding, "roleRef", "name")
		granted := &all.clusterPermissions
		if slices.Contains(inNamespaces, role) {
			granted = &all.permissions
		}
		if err := grant(granted, binding, role, whole); err != nil {
			return nil, err
		}
	}
	return all, all.sort(whole)
}

// build makes the objects of a kustomization.
func build(root, directory string) ([]object, error) {
	options := krusty.MakeDefaultOptions()
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(root, directory))
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", directory, err)
	}
	all := make([]object, 0, made.Size())
	for _, resource := range made.Resources() {
		o, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", directory, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// rolesOf are the names of Roles.
func rolesOf(all []object) []string {
	var names []string
	for _, o := range all {
		if o.kind() == "Role" {
			names = append(names, o.name())
		}
	}
	return names
}

// grant adds the rules of the role that a binding names.
func grant(to *operators.StrategyDeploymentPermissions, binding object, role string, all []object) error {
	subjects, _, _ := unstructured.NestedSlice(binding, "subjects")
	if len(subjects) != 1 {
		return fmt.Errorf("%s binds %d subjects, and OLM knows the operator alone", binding.name(), len(subjects))
	}
	account, _, _ := unstructured.NestedString(subjects[0].(map[string]any), "name")
	to.ServiceAccountName = account
	for _, o := range all {
		if o.name() != role || o.kind() != "Role" && o.kind() != "ClusterRole" {
			continue
		}
		var rules rbacv1.ClusterRole
		if err := convert(o, &rules); err != nil {
			return err
		}
		to.Rules = append(to.Rules, rules.Rules...)
		return nil
	}
	return fmt.Errorf("%s binds the role %s, which is not there", binding.name(), role)
}

// sort finds the Deployment, and what a bundle carries as it is.
func (s *objects) sort(all []object) error {
	bound := map[string]bool{}
	for _, o := range all {
		if role, isThere, _ := unstructured.NestedString(o, "roleRef", "name"); isThere {
			bound[role] = true
		}
	}
	for _, o := range all {
		becomes, isKnown := kinds[o.kind()]
		switch {
		case !isKnown:
			return fmt.Errorf("%s %s: say in kinds what OLM does with a %s", o.kind(), o.name(), o.kind())
		case o.kind() == "Deployment":
			if err := convert(o, &s.deployment); err != nil {
				return err
			}
		case o.kind() == "Namespace":
			s.namespace = plain(o)
		case becomes == "carried", o.kind() == "ClusterRole" && !bound[o.name()]:
			s.carried = append(s.carried, plain(o))
		}
	}
	return nil
}

// plain is an object without what kustomize wrote, and without a namespace: OLM chooses it.
func plain(o object) object {
	unstructured.RemoveNestedField(o, "metadata", "namespace")
	unstructured.RemoveNestedField(o, "metadata", "labels", "app.kubernetes.io/managed-by")
	return o
}

// convert reads an object as its type, in which each field must be known.
func convert(o object, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o, into, true); err != nil {
		return fmt.Errorf("%s %s: %w", o.kind(), o.name(), err)
	}
	return nil
}
