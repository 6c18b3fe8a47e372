package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// There is no floor: a StatefulSet starts such a member on an empty volume under its old ID, which etcd refuses.
var dataLost = figure{Name: "data of one member lost → 3 voters", Unit: unitSeconds, Plus: 15}

// measureDataLoss deletes a member's claim and its Pod. The clock starts when the claim is gone: from then on the loss is
// certain.
func (t *trial) measureDataLoss(ctx context.Context, wanted figure, isLeader bool) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	pod, err := t.victim(ctx, isLeader)
	if err != nil {
		return err
	}
	lost, err := t.memberID(ctx, pod.Name)
	if err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := t.kube.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: pod.Name}, claim); err != nil {
		return fmt.Errorf("finding the claim of %s: %w", pod.Name, err)
	}
	old, deleted := t.podUIDs(), time.Now()
	for _, object := range []client.Object{claim, pod} {
		if err := t.kube.client.Delete(ctx, object); err != nil {
			return fmt.Errorf("deleting Pod and claim of %s: %w", pod.Name, err)
		}
	}
	if err := t.untilGone(ctx, claim); err != nil {
		return err
	}
	certain := t.start()
	healthy, err := t.untilHealthy(ctx, without{pods: []types.UID{pod.UID}, member: lost})
	if err != nil {
		return err
	}
	taken := t.taken(certain, healthy, "")
	late, err := t.announcedLate(ctx, old)
	if err != nil {
		return err
	}
	taken.Note = fmt.Sprintf("%s; the claim was gone %.1f s after it was deleted; %s", roleOf(isLeader), certain.at.Sub(deleted).Seconds(), late)
	t.add(t.figure(wanted), t.side, taken)
	return nil
}

// untilGone waits until there is no such claim any more.
func (t *trial) untilGone(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for t.watched.hasClaim(claim.UID) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until the claim %s is gone: %w", claim.Name, ctx.Err())
		case <-t.watched.changed:
		}
	}
	return nil
}

func (t *trial) memberID(ctx context.Context, name string) (uint64, error) {
	list, err := t.memberList(ctx)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(list, func(m member) bool { return m.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("%s is not in the member list", name)
	}
	return list[i].ID, nil
}
