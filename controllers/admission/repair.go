package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func validateRepair(repair *v1alpha1.RepairSpec, at *field.Path) field.ErrorList {
	if repair == nil || repair.ReplaceAfter == nil || v1alpha1.IsReplaceAfter(repair.ReplaceAfter.Duration) {
		return nil
	}
	return invalid(at.Child("replaceAfter"), repair.ReplaceAfter.Duration.String(), "it must be a time of at least 30s, such as 5m, or 0 for never")
}
