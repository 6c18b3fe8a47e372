package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
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

// validateNodeAffinity says what the scheduler says of it.
func validateNodeAffinity(affinity *corev1.NodeAffinity, at *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	var errs field.ErrorList
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := at.Child("requiredDuringSchedulingIgnoredDuringExecution")
		if terms := at.Child("nodeSelectorTerms"); len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(terms, terms.String()+" must have at least one term"))
		}
		_, err := nodeaffinity.NewNodeSelector(required, field.WithPath(at))
		errs = append(errs, said(err)...)
	}
	preferred := affinity.PreferredDuringSchedulingIgnoredDuringExecution
	at = at.Child("preferredDuringSchedulingIgnoredDuringExecution")
	for i, term := range preferred {
		errs = append(errs, validateWeight(term.Weight, at.Index(i))...)
	}
	_, err := nodeaffinity.NewPreferredSchedulingTerms(preferred, field.WithPath(at))
	return append(errs, said(err)...)
}

// said are the errors of a library, as sentences.
func said(err error) field.ErrorList {
	var (
		all  utilerrors.Aggregate
		errs field.ErrorList
	)
	if !errors.As(err, &all) {
		return nil
	}
	for _, one := range all.Errors() {
		var wrong *field.Error
		if errors.As(one, &wrong) {
			wrong.Detail = fmt.Sprintf("%s is %q: %s", wrong.Field, fmt.Sprint(wrong.BadValue), wrong.Detail)
			errs = append(errs, wrong)
		}
	}
	return errs
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
	return said(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{},
		at).ToAggregate())
}
