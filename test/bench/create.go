package main

import (
	"context"
	"errors"
	"fmt"
)

var (
	createVolumes   = figure{Name: "create → 3 voters, volumes", Unit: unitSeconds, Target: 1.3, Ratio: true}
	createEphemeral = figure{Name: "create → 3 voters, ephemeral", Unit: unitSeconds, Target: 1.5, Ratio: true}
)

// measureVolumes measures everything that clusters with volumes are needed for: each lives through creation, two lost
// Pods and, where somebody replaces it, a lost volume.
func measureVolumes(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, false, func(ctx context.Context, t *trial, run int) error {
		if err := t.measureCreation(ctx, createVolumes); err != nil {
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
		return t.measureDataLoss(ctx, run%2 == 1)
	})
}

func measureEphemeral(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, true, func(ctx context.Context, t *trial, _ int) error {
		return t.measureCreation(ctx, createEphemeral)
	})
}

// takeTurns gives each side its turn in every run, so that what the machine does meanwhile befalls both alike.
func (b *bench) takeTurns(ctx context.Context, ephemeral bool, measure func(context.Context, *trial, int) error) error {
	for run := range b.runs {
		for _, s := range sides {
			t, err := b.begin(ctx, s, ephemeral)
			if err != nil {
				return err
			}
			err = measure(ctx, t, run)
			if err := errors.Join(err, t.end(ctx)); err != nil {
				return fmt.Errorf("run %d of %s: %w", run+1, s, err)
			}
		}
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
