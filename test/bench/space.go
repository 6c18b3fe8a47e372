package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// labelBench marks the namespaces of this program, so that none outlives it, not even one of a run that was killed.
const labelBench = "bench.etcdsteward.dev/run"

// Cleaning up is no part of any figure, and bounded all the same.
const sweepTimeout = 3 * time.Minute

// makeSpace makes a namespace that a Pod can start in at once.
func (k *kube) makeSpace(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "bench-",
		Labels:       map[string]string{labelBench: "true", "pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := k.client.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("making a namespace: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		account := &corev1.ServiceAccount{}
		err := k.client.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, account)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the default account of %s: %w", namespace.Name, err)
	}
	return namespace.Name, nil
}

// clear deletes a namespace and waits until nothing of it is left to disturb the next sample. What runs in it goes first:
// the namespace controller would look again only after half of the Pods' grace period.
func (k *kube) clear(ctx context.Context, name string) error {
	for _, owner := range []client.Object{&v1alpha1.EtcdBackup{}, &v1alpha1.EtcdCluster{}, &appsv1.StatefulSet{}} {
		if err := k.client.DeleteAllOf(ctx, owner, client.InNamespace(name), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return fmt.Errorf("deleting the cluster in %s: %w", name, err)
		}
	}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, sweepTimeout, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := k.client.List(ctx, pods, client.InNamespace(name))
		return len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting until no Pod runs in %s: %w", name, err)
	}
	return k.clearSpace(ctx, name)
}

func (k *kube) clearSpace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(k.client.Delete(ctx, namespace)); err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, sweepTimeout, true, func(ctx context.Context) (bool, error) {
		err := k.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if apierrors.IsNotFound(err) {
			return k.hasNoVolumes(ctx, name)
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("waiting until %s is gone: %w", name, err)
	}
	return nil
}

// hasNoVolumes says that the provisioner has cleaned up after a namespace as well.
func (k *kube) hasNoVolumes(ctx context.Context, namespace string) (bool, error) {
	volumes := &corev1.PersistentVolumeList{}
	if err := k.client.List(ctx, volumes); err != nil {
		return false, err
	}
	for _, v := range volumes.Items {
		if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == namespace {
			return false, nil
		}
	}
	return true, nil
}

// sweep deletes every namespace of this program, of earlier runs too.
func (k *kube) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	namespaces := &corev1.NamespaceList{}
	if err := k.client.List(ctx, namespaces, client.HasLabels{labelBench}); err != nil {
		return fmt.Errorf("looking for namespaces of earlier runs: %w", err)
	}
	for _, n := range namespaces.Items {
		if err := k.clear(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}
