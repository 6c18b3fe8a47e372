package main

import (
	"context"
	"errors"
	"fmt"
)

var (
	createVolumes   = figure{Name: "create → 3 voters, volumes", Unit: unitSeconds, Times: 1.12}
	createPlain     = figure{Name: "create → 3 voters, volumes, no TLS", Unit: unitSeconds, Times: 1.12}
	createEphemeral = figure{Name: "create → 3 voters, ephemeral", Unit: unitSeconds, Times: 1.5}
)

// measureCreations measures nothing else: on a busy machine that alone can be repeated often enough.
func measureCreations(ctx context.Context, b *bench) error {
	plain := threeOnVolumes
	plain.plain = true
	err := b.takeTurns(ctx, threeOnVolumes, func(ctx context.Context, t *trial, _ int) error {
		return t.measureCreation(ctx, createVolumes)
	})
	if err != nil {
		return err
	}
	return b.takeTurns(ctx, plain, func(ctx context.Context, t *trial, _ int) error {
		return t.measureCreation(ctx, createPlain)
	})
}

// measureVolumes measures what befalls clusters with volumes: each lives through two lost Pods and, where somebody
// replaces it, a lost volume.
func measureVolumes(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, threeOnVolumes, func(ctx context.Context, t *trial, run int) error {
		if _, err := t.create(ctx); err != nil {
			return err
		}
		if t.side == ours {
			if err := t.countWrites(ctx); err != nil {
				return err
			}
		}
		if err := t.measurePodDeletions(ctx); err != nil {
			return err
		}
		if t.side == floor {
			return nil
		}
		return t.measureDataLoss(ctx, dataLost, run%2 == 1)
	})
}

func measureEphemeral(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, threeEphemeral, func(ctx context.Context, t *trial, _ int) error {
		return t.measureCreation(ctx, createEphemeral)
	})
}

// takeTurns gives each side its turn in every run, so that what the machine does meanwhile befalls both alike.
func (b *bench) takeTurns(ctx context.Context, like shape, measure func(context.Context, *trial, int) error) error {
	for run := range b.runs {
		for _, s := range sides {
			err := b.takeTurn(ctx, s, like, func(ctx context.Context, t *trial) error { return measure(ctx, t, run) })
			if err != nil {
				return fmt.Errorf("run %d: %w", run+1, err)
			}
		}
	}
	return nil
}

// takeTurn measures in a namespace of its own, and removes it.
func (b *bench) takeTurn(ctx context.Context, s side, like shape, measure func(context.Context, *trial) error) error {
	t, err := b.begin(ctx, s, like)
	if err != nil {
		return err
	}
	if err := errors.Join(measure(ctx, t), t.end(ctx)); err != nil {
		return fmt.Errorf("measuring %s: %w", s, err)
	}
	return nil
}

func (t *trial) measureCreation(ctx context.Context, wanted figure) error {
	taken, err := t.create(ctx)
	if err != nil {
		return err
	}
	t.add(t.figure(wanted), t.side, taken)
	return nil
}
