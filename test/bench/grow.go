package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Members join one after the other, so two cost what two Pods with volumes do, and 4 s for joining and getting a vote
// twice. The floor is a StatefulSet of one replica, from its creation until it serves.
var grown = figure{Name: "3 → 5 voters, volumes", Unit: unitSeconds, Times: 2, Plus: 4}

func measureGrowth(ctx context.Context, b *bench) error {
	for range b.runs {
		err := b.takeTurn(ctx, floor, oneOnVolume, func(ctx context.Context, t *trial) error {
			return t.measureCreation(ctx, grown)
		})
		if err != nil {
			return err
		}
		if err := b.takeTurn(ctx, ours, threeOnVolumes, grow); err != nil {
			return err
		}
	}
	return nil
}

func grow(ctx context.Context, t *trial) error {
	if _, err := t.create(ctx); err != nil {
		return err
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	t.size = 5
	old := t.podUIDs()
	began := t.start()
	if err := t.change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size = 5 }); err != nil {
		return err
	}
	healthy, err := t.untilHealthy(ctx, without{})
	if err != nil {
		return err
	}
	taken := t.taken(began, healthy, "")
	if taken.Note, err = t.announcedLate(ctx, old); err != nil {
		return err
	}
	t.add(t.figure(grown), ours, taken)
	return nil
}
