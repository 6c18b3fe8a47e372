package main

import (
	"context"
	"fmt"
)

var (
	podDeleted = figure{Name: "Pod deleted → 3 healthy", Unit: unitSeconds, Target: 1.2, Ratio: true}
	podGap     = figure{Name: "longest write gap, Pod deleted", Unit: unitSeconds, Target: 2, Ratio: true}
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
	traffic, err := t.write(ctx, 1, gapRate)
	if err != nil {
		return err
	}
	began := t.start()
	if err := t.kube.client.Delete(ctx, pod); err != nil {
		traffic.abandon()
		return fmt.Errorf("deleting the Pod %s: %w", pod.Name, err)
	}
	healthy, err := t.untilHealthy(ctx, without{pod: pod.UID})
	if err != nil {
		traffic.abandon()
		return err
	}
	role := roleOf(isLeader)
	t.add(t.figure(podDeleted), t.side, t.taken(began, healthy, role))
	report, err := traffic.finish(ctx)
	if err != nil {
		return err
	}
	t.add(t.figure(podGap), t.side, sample{Value: report.gap.Seconds(), Note: role})
	return nil
}
