package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// serverSideApply puts the fields that are ours back on an object that is there. The UID goes along, so that an object
// that was deleted meanwhile gives a conflict and is not made anew, and another of its name is not changed. Applying
// blindly would merge into anybody's object.
//
// shape is given the wanted object as plain data, to take out what is not to be owned.
func (s step) serverSideApply(ctx context.Context, have, want ctrlclient.Object, shape func(map[string]any)) error {
	doing := fmt.Sprintf("correcting %s", want.GetName())
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	kind, err := s.Client.GroupVersionKindFor(want)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	delete(fields, "status")
	shape(fields)
	config := &unstructured.Unstructured{Object: fields}
	config.SetGroupVersionKind(kind)
	config.SetUID(have.GetUID())
	config.SetResourceVersion(want.GetResourceVersion())
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	err = s.Client.Apply(ctx, ctrlclient.ApplyConfigurationFromUnstructured(config), FieldOwner,
		ctrlclient.ForceOwnership)
	if apierrors.IsInvalid(err) && s.isAnother(ctx, want, want.GetName(), string(have.GetUID())) {
		return ErrStale
	}
	return Answer(err, doing)
}

// serviceFields says "false" where leaving it out would leave the "true" that another client wrote, and "none" where it
// would leave the source ranges that the Service was created with.
func serviceFields(fields map[string]any) {
	spec := fields["spec"].(map[string]any)
	if _, ok := spec["publishNotReadyAddresses"]; !ok {
		spec["publishNotReadyAddresses"] = false
	}
	if _, ok := spec["loadBalancerSourceRanges"]; !ok {
		spec["loadBalancerSourceRanges"] = []any{}
	}
}
