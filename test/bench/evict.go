package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The clock starts when the watch of Pods tells that the evicted one is gone, and stops when the same watch tells that
// another Pod of its name was created: before the old one is gone there cannot be another. How long etcd took to stop is
// in the note.
var podEvicted = figure{Name: "evicted Pod gone → its successor created", Unit: unitSeconds, Plus: 1}

// measureEvictions evicts a follower's Pod and then the leader's, as kubectl drain does.
func measureEvictions(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, threeOnVolumes, func(ctx context.Context, t *trial, _ int) error {
		if _, err := t.create(ctx); err != nil {
			return err
		}
		for _, isLeader := range []bool{false, true} {
			if err := t.measureEviction(ctx, isLeader); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *trial) measureEviction(ctx context.Context, isLeader bool) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	pod, err := t.victim(ctx, isLeader)
	if err != nil {
		return err
	}
	began := t.start()
	if err := t.evict(ctx, pod); err != nil {
		return err
	}
	if _, err := t.untilHealthy(ctx, without{pods: []types.UID{pod.UID}}); err != nil {
		return err
	}
	left, back := t.watched.when(pod.UID, gone), t.watched.successor(pod)
	if left.IsZero() || back.IsZero() {
		return errors.New("the evicted Pod was not seen to go, or its successor to come")
	}
	note := fmt.Sprintf("%s; it was gone %.1f s after its eviction", roleOf(isLeader), left.Sub(began.at).Seconds())
	taken := t.taken(moment{left, began.ticks}, back, note)
	t.add(t.figure(podEvicted), t.side, taken)
	return nil
}

// evict asks again while the budget has not counted the last member to come back.
func (t *trial) evict(ctx context.Context, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err = t.kube.clientset.CoreV1().Pods(pod.Namespace).EvictV1(ctx, eviction); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
	return fmt.Errorf("evicting %s: %w", pod.Name, err)
}
