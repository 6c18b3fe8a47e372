package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func validateRepair(repair *v1alpha1.RepairSpec, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if repair == nil {
		return nil
	}
	if after := repair.ReplaceAfter; after != nil && !v1alpha1.IsReplaceAfter(after.Duration) {
		faults = append(faults, invalid(at.Child("replaceAfter"), after.Duration.String(),
			"it must be a time of at least 30s, such as 5m, or 0 for never")...)
	}
	if keep := repair.KeepVolumes; keep != nil && keep.Duration < 0 {
		faults = append(faults, invalid(at.Child("keepVolumes"), keep.Duration.String(),
			"it must be a time such as 24h, or 0 to keep none")...)
	}
	return faults
}
