package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// createOurs applies the smallest manifest: TLS is on.
func (t *trial) createOurs(ctx context.Context) error {
	if err := t.kube.client.Create(ctx, manifest(t.namespace, t.ephemeral)); err != nil {
		return fmt.Errorf("creating an EtcdCluster in %s: %w", t.namespace, err)
	}
	return nil
}

func manifest(namespace string, ephemeral bool) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName},
		Spec:       v1alpha1.EtcdClusterSpec{Size: members, Version: etcdVersion},
	}
	if ephemeral {
		c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	}
	return c
}

// isSettled reports whether the operator itself says that all is as it should be.
func (t *trial) isSettled(ctx context.Context) (bool, error) {
	c := &v1alpha1.EtcdCluster{}
	if err := t.kube.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: clusterName}, c); err != nil {
		return false, fmt.Errorf("reading the EtcdCluster in %s: %w", t.namespace, err)
	}
	return c.Status.ObservedGeneration == c.Generation && meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady), nil
}
