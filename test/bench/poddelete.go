package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// writePause is how much longer writes may stand still than when the same is done by hand.
const writePause = 0.3

var (
	podDeleted = figure{Name: "Pod deleted → 3 healthy", Unit: unitSeconds, Times: 1.2}
	podGap     = figure{Name: "longest write gap, Pod deleted", Unit: unitSeconds, Times: 1, Plus: writePause}
)

// measurePodDeletions deletes a follower's Pod and then the leader's, with a client writing.
func (t *trial) measurePodDeletions(ctx context.Context) error {
	for _, isLeader := range []bool{false, true} {
		if err := t.measurePodDeletion(ctx, isLeader); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) measurePodDeletion(ctx context.Context, isLeader bool) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	pod, err := t.victim(ctx, isLeader)
	if err != nil {
		return err
	}
	taken, sum, err := t.underLoad(ctx, roleOf(isLeader), []types.UID{pod.UID}, func(ctx context.Context) error {
		return t.deletePod(ctx, pod)
	})
	if err != nil {
		return err
	}
	t.add(t.figure(podDeleted), t.side, taken)
	t.add(t.figure(podGap), t.side, sample{Value: sum.gap.Seconds(), Note: roleOf(isLeader)})
	return sum.complaint()
}
