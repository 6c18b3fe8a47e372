package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// startSizes are the numbers of members that start at once. Members that waited for each other took longer with each
// member.
var startSizes = []int{1, 3, 5}

// startKilled is what kubelets do by themselves, as after a loss of power: they start all processes anew in their Pods.
func startKilled(size int) figure {
	return figure{Name: fmt.Sprintf("start of all members, %d killed", size), Unit: unitSeconds, Times: 1, Plus: 3}
}

// startAgain is a cluster that is made again over the volumes that it left.
func startAgain(size int) figure {
	return figure{Name: fmt.Sprintf("start of all members, %d made again", size), Unit: unitSeconds, Times: 1, Plus: 2}
}

// startWoken is a cluster that slept, beside a StatefulSet that is scaled to 0 and back.
func startWoken(size int) figure {
	return figure{Name: fmt.Sprintf("start of all members, %d woken", size), Unit: unitSeconds, Times: 1, Plus: 2}
}

func measureStarts(ctx context.Context, b *bench) error {
	for _, size := range startSizes {
		like := shape{name: clusterName, size: size}
		err := b.takeTurns(ctx, like, func(ctx context.Context, t *trial, _ int) error {
			if _, err := t.create(ctx); err != nil {
				return err
			}
			if err := t.measureKilled(ctx); err != nil {
				return err
			}
			if err := t.measureWoken(ctx); err != nil {
				return err
			}
			return t.measureMadeAgain(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) measureKilled(ctx context.Context) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	var pids []int
	var containers []string
	for _, pod := range t.watched.members() {
		text, err := t.kube.pid(ctx, t.namespace, pod.Name, etcdContainer)
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(text)
		if err != nil || pid < 2 {
			return fmt.Errorf("the process of %s is %q", pod.Name, text)
		}
		pids, containers = append(pids, pid), append(containers, containerOf(pod))
	}
	began := t.start()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing process %d: %w", pid, err)
		}
	}
	return t.measureStart(ctx, startKilled(t.size), began, containers)
}

func (t *trial) measureWoken(ctx context.Context) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	if err := t.scale(ctx, 0); err != nil {
		return err
	}
	if err := t.untilPods(ctx, func(pods []*corev1.Pod) bool { return len(pods) == 0 }); err != nil {
		return err
	}
	if err := t.untilIdle(ctx); err != nil {
		return err
	}
	began := t.start()
	if err := t.scale(ctx, t.size); err != nil {
		return err
	}
	return t.measureStart(ctx, startWoken(t.size), began, nil)
}

// scale asks for so many members, or replicas.
func (t *trial) scale(ctx context.Context, size int) error {
	if t.side == ours {
		return t.change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size = int32(size) })
	}
	set := &appsv1.StatefulSet{}
	if err := t.kube.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, set); err != nil {
		return fmt.Errorf("reading the StatefulSet of the floor: %w", err)
	}
	before := set.DeepCopy()
	set.Spec.Replicas = new(int32(size))
	if err := t.kube.client.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("scaling the StatefulSet of the floor: %w", err)
	}
	return nil
}

func (t *trial) measureMadeAgain(ctx context.Context) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	if err := t.remove(ctx); err != nil {
		return err
	}
	if err := t.untilIdle(ctx); err != nil {
		return err
	}
	began := t.start()
	if err := t.makeAgain(ctx); err != nil {
		return err
	}
	return t.measureStart(ctx, startAgain(t.size), began, nil)
}

// measureStart takes the time until all members run in other containers than these, are healthy, and clients of ours
// are led to each.
func (t *trial) measureStart(ctx context.Context, wanted figure, began moment, old []string) error {
	isBack := func(pods []*corev1.Pod) bool {
		isAway := func(pod *corev1.Pod) bool {
			isLed := t.side == floor || pod.Labels[v1alpha1.LabelRole] == v1alpha1.RoleVoter
			return !isReady(pod) || !isLed || containerOf(pod) == "" || slices.Contains(old, containerOf(pod))
		}
		return len(pods) == t.size && !slices.ContainsFunc(pods, isAway)
	}
	if err := t.untilPods(ctx, isBack); err != nil {
		return err
	}
	healthy, err := t.untilHealthy(ctx, without{})
	if err != nil {
		return err
	}
	t.add(t.figure(wanted), t.side, t.taken(began, healthy, ""))
	return nil
}

// untilPods waits until the members' Pods are so.
func (t *trial) untilPods(ctx context.Context, isSo func([]*corev1.Pod) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !isSo(t.watched.members()) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Pods of %s in %s: %w", t.side, t.namespace, ctx.Err())
		case <-t.watched.changed:
		}
	}
	return nil
}

// containerOf names the container in which etcd runs, or "".
func containerOf(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == etcdContainer && c.State.Running != nil {
			return c.ContainerID
		}
	}
	return ""
}

// remove deletes the cluster and leaves its volumes.
func (t *trial) remove(ctx context.Context) error {
	var object client.Object = &v1alpha1.EtcdCluster{}
	if t.side == floor {
		object = &appsv1.StatefulSet{}
	}
	object.SetNamespace(t.namespace)
	object.SetName(t.name)
	if err := t.kube.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return fmt.Errorf("deleting the %T in %s: %w", object, t.namespace, err)
	}
	return t.untilPods(ctx, func(pods []*corev1.Pod) bool { return len(pods) == 0 })
}

// makeAgain makes what remove deleted.
func (t *trial) makeAgain(ctx context.Context) error {
	if t.side == ours {
		return t.createOurs(ctx, t.shape)
	}
	set, err := floorSet(t.shape)
	if err != nil {
		return err
	}
	if err := t.kube.client.Create(ctx, set); err != nil {
		return fmt.Errorf("creating the StatefulSet of the floor again: %w", err)
	}
	return nil
}
