package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func validateBackups(backups *v1alpha1.BackupsSpec, at *field.Path) field.ErrorList {
	if backups == nil || backups.MaxAge == nil || v1alpha1.IsBackupAge(backups.MaxAge.Duration) {
		return nil
	}
	return invalid(at.Child("maxAge"), backups.MaxAge.Duration.String(),
		"it must be a time of at least 1m, such as 26h, or 0 for any age")
}
