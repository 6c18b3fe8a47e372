package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What follows would otherwise be said only when a Pod is created, and then once for each Pod and pass.

func validateTolerations(tolerations []corev1.Toleration, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range tolerations {
		errs = append(errs, validateToleration(t, at.Index(i))...)
	}
	return errs
}

func validateToleration(t corev1.Toleration, at *field.Path) field.ErrorList {
	errs := validateKey(t.Key, at.Child("key"), t.Key == "")
	errs = append(errs, oneOf(at.Child("operator"), string(t.Operator), "Exists", "Equal", "Lt", "Gt")...)
	errs = append(errs, oneOf(at.Child("effect"), string(t.Effect), "NoSchedule", "PreferNoSchedule", "NoExecute")...)
	if t.Key == "" && t.Operator != corev1.TolerationOpExists {
		errs = append(errs, invalid(at.Child("operator"), string(t.Operator),
			"it must be Exists when there is no key: all taints are then tolerated")...)
	}
	if t.Operator == corev1.TolerationOpExists && t.Value != "" {
		errs = append(errs, invalid(at.Child("value"), t.Value, "there must be none when operator is Exists")...)
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, invalid(at.Child("tolerationSeconds"), *t.TolerationSeconds,
			"it needs effect NoExecute")...)
	}
	return errs
}

// oneOf refuses a value that is neither absent nor in the list.
func oneOf(at *field.Path, value string, accepted ...string) field.ErrorList {
	if value == "" || slices.Contains(accepted, value) {
		return nil
	}
	return invalid(at, value, "it must be one of "+strings.Join(accepted, ", "))
}

func validateAffinity(affinity *corev1.Affinity, at *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	errs := validateNodeAffinity(affinity.NodeAffinity, at.Child("nodeAffinity"))
	if a := affinity.PodAffinity; a != nil {
		errs = append(errs, validatePodTerms(a.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity"))...)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		errs = append(errs, validatePodTerms(a.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAntiAffinity"))...)
	}
	return errs
}

func validateNodeAffinity(affinity *corev1.NodeAffinity, at *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	var errs field.ErrorList
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms := at.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(terms, terms.String()+" must have at least one term"))
		}
		for i, term := range required.NodeSelectorTerms {
			errs = append(errs, validateNodeTerm(term, terms.Index(i))...)
		}
	}
	for i, term := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		at := at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, validateWeight(term.Weight, at)...)
		errs = append(errs, validateNodeTerm(term.Preference, at.Child("preference"))...)
	}
	return errs
}

func validateNodeTerm(term corev1.NodeSelectorTerm, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range term.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		errs = append(errs, validateKey(r.Key, at.Child("key"), false)...)
		errs = append(errs, validateNodeOperator(r, at)...)
	}
	return errs
}

func validateNodeOperator(r corev1.NodeSelectorRequirement, at *field.Path) field.ErrorList {
	values := at.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return field.ErrorList{field.Required(values,
				fmt.Sprintf("%s must have at least one value when operator is %s", values, r.Operator))}
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return field.ErrorList{field.Forbidden(values,
				fmt.Sprintf("%s must be empty when operator is %s", values, r.Operator))}
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return field.ErrorList{field.Invalid(values, r.Values,
				fmt.Sprintf("%s must be one number when operator is %s", values, r.Operator))}
		}
	default:
		return invalid(at.Child("operator"), string(r.Operator),
			"it must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt")
	}
	return nil
}

func validatePodTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm,
	at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, term := range required {
		errs = append(errs, validatePodTerm(term,
			at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))...)
	}
	for i, term := range preferred {
		at := at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, validateWeight(term.Weight, at)...)
		errs = append(errs, validatePodTerm(term.PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

func validatePodTerm(term corev1.PodAffinityTerm, at *field.Path) field.ErrorList {
	errs := validateKey(term.TopologyKey, at.Child("topologyKey"), false)
	errs = append(errs, validateSelector(term.LabelSelector, at.Child("labelSelector"))...)
	return append(errs, validateSelector(term.NamespaceSelector, at.Child("namespaceSelector"))...)
}

func validateSpread(constraints []corev1.TopologySpreadConstraint, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, c := range constraints {
		at := at.Index(i)
		if c.MaxSkew < 1 {
			errs = append(errs, invalid(at.Child("maxSkew"), c.MaxSkew, "it must be at least 1")...)
		}
		errs = append(errs, validateKey(c.TopologyKey, at.Child("topologyKey"), false)...)
		if !slices.Contains([]corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway},
			c.WhenUnsatisfiable) {
			errs = append(errs, invalid(at.Child("whenUnsatisfiable"), string(c.WhenUnsatisfiable),
				"it must be one of DoNotSchedule, ScheduleAnyway")...)
		}
		if c.MinDomains != nil && (*c.MinDomains < 1 || c.WhenUnsatisfiable != corev1.DoNotSchedule) {
			errs = append(errs, invalid(at.Child("minDomains"), *c.MinDomains,
				"it must be at least 1, and needs whenUnsatisfiable DoNotSchedule")...)
		}
		errs = append(errs, validateSelector(c.LabelSelector, at.Child("labelSelector"))...)
	}
	return errs
}

func validateWeight(weight int32, at *field.Path) field.ErrorList {
	if weight >= 1 && weight <= 100 {
		return nil
	}
	return invalid(at.Child("weight"), weight, "it must be from 1 to 100")
}

func validateKey(key string, at *field.Path, mayBeEmpty bool) field.ErrorList {
	if mayBeEmpty {
		return nil
	}
	if why := validation.IsQualifiedName(key); len(why) > 0 {
		return invalid(at, key, "it must be the key of a label, such as topology.kubernetes.io/zone: "+why[0])
	}
	return nil
}

func validateSelector(selector *metav1.LabelSelector, at *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at)
	for _, err := range errs {
		err.Detail = fmt.Sprintf("%s is %q: %s", err.Field, fmt.Sprint(err.BadValue), err.Detail)
	}
	return errs
}
