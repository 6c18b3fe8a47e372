package observe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const subresourceStatus = "status"

// KeepStatusTimes is what the cache keeps of a Pod's managed fields: when its status was written, and not which fields.
// A kubelet dates a status by its own clock, the API server by its own.
func KeepStatusTimes(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil
	}
	pod.ManagedFields = slices.DeleteFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource != subresourceStatus
	})
	for i := range pod.ManagedFields {
		pod.ManagedFields[i].FieldsV1 = nil
	}
	return pod, nil
}

// statusWritten is when the Pod's status was last written, by the API server's clock: it dates each manager's fields
// (kubernetes/apimachinery:pkg/apis/meta/v1/types.go ManagedFieldsEntry). Zero where nothing says it.
func statusWritten(pod *corev1.Pod) time.Time {
	return lastWritten(pod.ManagedFields, subresourceStatus)
}

// lastWritten is when an object, or its subresource, was last written; zero where nothing says it.
func lastWritten(fields []metav1.ManagedFieldsEntry, subresource string) time.Time {
	var last time.Time
	for _, entry := range fields {
		if entry.Subresource == subresource && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}
