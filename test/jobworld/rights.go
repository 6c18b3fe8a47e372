package jobworld

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// MayGetAllBut is what a user may get: everything but this.
func MayGetAllBut(denied ...corev1.ResourceName) func(context.Context, ...corev1.ResourceName) (bool, error) {
	return func(_ context.Context, resources ...corev1.ResourceName) (bool, error) {
		return !slices.ContainsFunc(resources, func(r corev1.ResourceName) bool { return slices.Contains(denied, r) }), nil
	}
}
