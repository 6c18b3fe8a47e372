package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// headroom is what a volume must have beyond twice the database's quota: the write-ahead log and snapshots.
const headroom = 1 << 30

func validateStorage(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.Storage != nil {
		errs = validateStorageFields(spec.Storage, at.Child("storage"))
	}
	if spec.IsEphemeral() {
		if spec.Bootstrap != nil && spec.Bootstrap.Restore != nil {
			errs = append(errs, field.Forbidden(at.Child("bootstrap"),
				"spec.bootstrap.restore cannot be given together with "+
					"spec.storage.ephemeral: a backup is restored to volumes before members start, and an ephemeral "+
					"member has none"))
		}
		return append(errs, validateMemory(spec, at)...)
	}
	return append(errs, validateVolumeSize(spec, at.Child("storage", "size"))...)
}

func validateStorageFields(storage *v1alpha1.StorageSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if storage.Ephemeral != nil {
		if storage.Size != nil || storage.StorageClassName != nil || storage.AccessMode != "" {
			errs = append(errs, field.Forbidden(at.Child("ephemeral"),
				"spec.storage.ephemeral cannot be given together with size, "+
					"storageClassName or accessMode: those describe a volume, and an ephemeral member has none"))
		}
		errs = append(errs, oneOf(at.Child("ephemeral", "medium"), storage.Ephemeral.Medium,
			corev1.StorageMediumMemory)...)
	}
	if class := storage.StorageClassName; class != nil && *class != "" &&
		len(validation.IsDNS1123Subdomain(*class)) > 0 {
		errs = append(errs, invalid(at.Child("storageClassName"), *class,
			`it must be the name of a StorageClass: lower-case letters, digits, "-" and "."`)...)
	}
	errs = append(errs, oneOf(at.Child("accessMode"), storage.AccessMode, corev1.ReadWriteOnce,
		corev1.ReadWriteOncePod)...)
	return append(errs, oneOf(at.Child("deletionPolicy"), storage.DeletionPolicy, v1alpha1.DeletionRetain,
		v1alpha1.DeletionDelete)...)
}

func validateVolumeSize(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	size := spec.StorageSizeOrDefault()
	if size.Cmp(room(spec)) >= 0 {
		return nil
	}
	given := spec.Storage != nil && spec.Storage.Size != nil
	return field.ErrorList{field.Invalid(at, size.String(),
		fmt.Sprintf("spec.storage.size is %s; it must be at least twice "+
			"spec.etcd.quotaBackendBytes, which is %s, and 1Gi more, so that defragmentation and snapshots have room",
			orDefault(size, given), shownQuota(spec)))}
}

// validateMemory looks at data that is kept in memory: it counts against the container's limit, and a container over
// its limit is killed.
func validateMemory(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	if spec.Storage.Ephemeral.Medium != corev1.StorageMediumMemory || spec.Pod == nil || spec.Pod.Resources == nil {
		return nil
	}
	limit, err := spec.Pod.Resources.Limits[corev1.ResourceMemory].Quantity()
	if err != nil || limit.Cmp(room(spec)) >= 0 { // there is none, or it is refused as such
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("pod", "resources"), limit.String(), fmt.Sprintf(
		"spec.pod.resources.limits.memory is %s; with spec.storage.ephemeral.medium Memory it must be at least twice "+
			"spec.etcd.quotaBackendBytes, which is %s, and 1Gi more, because the data counts against it",
		limit.String(), shownQuota(spec)))}
}

// room is the space that a member needs: the database, its copy while it is defragmented, and the headroom.
func room(spec *v1alpha1.EtcdClusterSpec) resource.Quantity {
	total := spec.QuotaOrDefault()
	total.Add(spec.QuotaOrDefault())
	total.Add(*resource.NewQuantity(headroom, resource.BinarySI))
	return total
}

func shownQuota(spec *v1alpha1.EtcdClusterSpec) string {
	return orDefault(spec.QuotaOrDefault(), spec.Etcd != nil && spec.Etcd.QuotaBackendBytes != nil)
}

func orDefault(q resource.Quantity, given bool) string {
	if given {
		return q.String()
	}
	return q.String() + " (the default)"
}
