package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// load starts the clients that write while members are restarted.
func (t *trial) load(ctx context.Context) (*traffic, error) {
	if t.clients > 0 {
		return t.write(ctx, t.clients, clientRate)
	}
	return t.write(ctx, 1, gapRate)
}

// underLoad does something to the cluster with clients writing, and takes the time from its beginning until the cluster
// is healthy without these Pods.
func (t *trial) underLoad(ctx context.Context, note string, old []types.UID, do func(context.Context) error) (sample, wrote, error) {
	traffic, err := t.load(ctx)
	if err != nil {
		return sample{}, wrote{}, err
	}
	began := t.start()
	if err := do(ctx); err != nil {
		traffic.abandon()
		return sample{}, wrote{}, err
	}
	healthy, err := t.untilHealthy(ctx, without{pods: old})
	if err != nil {
		traffic.abandon()
		return sample{}, wrote{}, err
	}
	taken := t.taken(began, healthy, note)
	sum, err := traffic.finish(ctx)
	return taken, sum, err
}

func (t *trial) deletePod(ctx context.Context, pod *corev1.Pod) error {
	if err := t.kube.client.Delete(ctx, pod); err != nil {
		return fmt.Errorf("deleting the Pod %s: %w", pod.Name, err)
	}
	return nil
}

// byHand is how a careful person touches one member: leadership is handed over first, where the member has it.
func (t *trial) byHand(ctx context.Context, isLeader bool, touch func(context.Context, *corev1.Pod) error) (sample, wrote,
	error) {
	if err := t.calm(ctx); err != nil {
		return sample{}, wrote{}, err
	}
	pod, err := t.victim(ctx, isLeader)
	if err != nil {
		return sample{}, wrote{}, err
	}
	return t.underLoad(ctx, roleOf(isLeader)+", by hand", []types.UID{pod.UID}, func(ctx context.Context) error {
		if isLeader {
			if err := t.moveLeader(ctx, pod.Name); err != nil {
				return err
			}
		}
		return touch(ctx, pod)
	})
}

// restartByHand deletes the member's Pod. The next one is not the person's to make.
func (t *trial) restartByHand(ctx context.Context, isLeader bool) (sample, wrote, error) {
	return t.byHand(ctx, isLeader, t.deletePod)
}

// moveLeader hands leadership from a member to any other.
func (t *trial) moveLeader(ctx context.Context, from string) error {
	list, err := t.memberList(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(m member) bool { return m.Name != from })
	if i < 0 {
		return errors.New("there is nobody to hand leadership to")
	}
	_, err = t.etcdctlIn(ctx, from, "move-leader", strconv.FormatUint(list[i].ID, 16))
	return err
}
