package main

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// createOurs applies the smallest manifest: TLS is on unless the shape says otherwise.
func (t *trial) createOurs(ctx context.Context, like shape) error {
	if err := t.kube.client.Create(ctx, manifest(like)); err != nil {
		return fmt.Errorf("creating an EtcdCluster in %s: %w", t.namespace, err)
	}
	return nil
}

// noSuchImage is in no registry; the name is reserved for that.
const noSuchImage = "registry.invalid/no/etcd"

func manifest(like shape) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: like.namespace, Name: like.name},
		Spec:       v1alpha1.EtcdClusterSpec{Size: int32(like.size), Version: like.etcd()},
	}
	if like.ephemeral {
		c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	}
	if quota := like.maximum(); quota > 0 {
		c.Spec.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: resource.NewQuantity(quota, resource.BinarySI)}
		c.Spec.Storage = &v1alpha1.StorageSpec{Size: resource.NewQuantity(2*quota+1<<30, resource.BinarySI)}
	}
	if like.compares {
		c.Spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"corrupt-check-time": "3s"}}
	}
	if like.from != nil {
		c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: like.from}
	}
	if like.plain {
		c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	}
	if like.dead {
		c.Spec.Image = &v1alpha1.ImageSpec{Repository: noSuchImage}
	}
	return c
}

// etcd is the version that a cluster begins with.
func (s shape) etcd() string { return cmp.Or(s.version, etcdVersion) }

// change changes the spec, in one request.
func (t *trial) change(ctx context.Context, change func(*v1alpha1.EtcdClusterSpec)) error {
	c, err := t.get(ctx)
	if err != nil {
		return err
	}
	before := c.DeepCopy()
	change(&c.Spec)
	if err := t.kube.client.Patch(ctx, c, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing the EtcdCluster in %s: %w", t.namespace, err)
	}
	return nil
}

func (t *trial) get(ctx context.Context) (*v1alpha1.EtcdCluster, error) {
	c := &v1alpha1.EtcdCluster{}
	if err := t.kube.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, c); err != nil {
		return nil, fmt.Errorf("reading the EtcdCluster in %s: %w", t.namespace, err)
	}
	return c, nil
}

// isSettled reports whether the operator itself says that all is as it should be.
func (t *trial) isSettled(ctx context.Context) (bool, error) {
	c, err := t.get(ctx)
	if err != nil {
		return false, err
	}
	return c.Status.ObservedGeneration == c.Generation && meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady), nil
}
