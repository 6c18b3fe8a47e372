package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// notingClient notes what is written through it: a Secret that was written is not believed from memory any more, and the
// next pass waits until the cache shows the rest.
type notingClient struct {
	client.Client
	secrets *SecretCache
	unseen  *unseenWrites
}

func (c notingClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, object, opts...)
	return c.note(object, err, (&client.CreateOptions{}).ApplyOptions(opts).DryRun)
}

func (c notingClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	err := c.Client.Update(ctx, object, opts...)
	return c.note(object, err, (&client.UpdateOptions{}).ApplyOptions(opts).DryRun)
}

func (c notingClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, object, patch, opts...)
	return c.note(object, err, (&client.PatchOptions{}).ApplyOptions(opts).DryRun)
}

func (c notingClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, object, opts...)
	c.forget(object)
	if options := (&client.DeleteOptions{}).ApplyOptions(opts); err == nil && len(options.DryRun) == 0 {
		c.unseen.deleted(clusterOf(object), object, uidOf(object, options))
	}
	return err
}

func (c notingClient) note(object client.Object, err error, dryRun []string) error {
	c.forget(object)
	if err == nil && len(dryRun) == 0 {
		c.unseen.wrote(clusterOf(object), object)
	}
	return err
}

func (c notingClient) forget(object client.Object) {
	if _, ok := object.(*corev1.Secret); ok {
		c.secrets.Forget(client.ObjectKeyFromObject(object))
	}
}

// clusterOf is the cluster that an object says it belongs to.
func clusterOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[v1alpha1.LabelInstance]}
}

// uidOf is which object of that name was deleted, as far as the caller said.
func uidOf(object client.Object, options *client.DeleteOptions) types.UID {
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		return *options.Preconditions.UID
	}
	return object.GetUID()
}
