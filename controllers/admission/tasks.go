package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func validateTasks(tasks *v1alpha1.TaskSpec, at *field.Path) field.ErrorList {
	if tasks == nil {
		return nil
	}
	errs := validatePodLabels(tasks.Labels, at.Child("labels"))
	errs = append(errs, validateAnnotations(tasks.Annotations, at.Child("annotations"))...)
	errs = append(errs, validateResources(tasks.Resources, at.Child("resources"))...)
	errs = append(errs, validateLabels(tasks.NodeSelector, at.Child("nodeSelector"))...)
	errs = append(errs, validateTolerations(tasks.Tolerations, at.Child("tolerations"))...)
	for i, variable := range tasks.Env {
		errs = append(errs, validateTaskEnv(variable, at.Child("env").Index(i))...)
	}
	errs = append(errs, validateClass(tasks.PriorityClassName, at.Child("priorityClassName"))...)
	if name := tasks.ServiceAccountName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, invalid(at.Child("serviceAccountName"), name,
			`it must be the name of a ServiceAccount: lower-case letters, digits, "-" and "."`)...)
	}
	return errs
}

// validateTaskEnv refuses what would let a task read a Secret, and what would have it write elsewhere than it may.
func validateTaskEnv(variable v1alpha1.TaskEnv, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if variable.ValueFrom != nil {
		errs = append(errs, field.Forbidden(at.Child("valueFrom"), "spec.tasks.env takes values only: the operator "+
			"reads no Secret for a task; name what a store is reached with in the store's credentialsSecretRef"))
	}
	if variable.Name == "TMPDIR" || len(validation.IsCIdentifier(variable.Name)) > 0 {
		errs = append(errs, field.Invalid(at.Child("name"), variable.Name, fmt.Sprintf("spec.tasks.env.name is %q; it "+
			`must be letters, digits and "_", not starting with a digit, and not TMPDIR`, variable.Name)))
	}
	return errs
}
