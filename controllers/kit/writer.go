package kit

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// NotingClient notes what is written through it: a Secret that was written is not believed from memory any more, and
// the next pass waits until the cache shows the rest.
type NotingClient struct {
	client.Client
	Secrets interface {
		Forget(key types.NamespacedName)
	}
	Unseen *UnseenWrites
}

// Create implements client.Client.
func (c NotingClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, object, opts...)
	return c.note(object, err, (&client.CreateOptions{}).ApplyOptions(opts).DryRun)
}

// Update implements client.Client.
func (c NotingClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	err := c.Client.Update(ctx, object, opts...)
	return c.note(object, err, (&client.UpdateOptions{}).ApplyOptions(opts).DryRun)
}

// Patch implements client.Client.
func (c NotingClient) Patch(ctx context.Context, object client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, object, patch, opts...)
	return c.note(object, err, (&client.PatchOptions{}).ApplyOptions(opts).DryRun)
}

// Delete implements client.Client.
func (c NotingClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, object, opts...)
	c.forget(object)
	if options := (&client.DeleteOptions{}).ApplyOptions(opts); err == nil && len(options.DryRun) == 0 {
		c.Unseen.Deleted(clusterOf(object), object, uidOf(object, options))
	}
	return err
}

func (c NotingClient) note(object client.Object, err error, dryRun []string) error {
	c.forget(object)
	if err == nil && len(dryRun) == 0 {
		c.Unseen.Wrote(clusterOf(object), object)
	}
	return err
}

func (c NotingClient) forget(object client.Object) {
	if _, ok := object.(*corev1.Secret); ok {
		c.Secrets.Forget(client.ObjectKeyFromObject(object))
	}
}

// clusterOf is the cluster that an object says it belongs to.
func clusterOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: v1alpha1.ClusterOf(object.GetLabels())}
}

// uidOf is which object of that name was deleted, as far as the caller said.
func uidOf(object client.Object, options *client.DeleteOptions) types.UID {
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		return *options.Preconditions.UID
	}
	return object.GetUID()
}
