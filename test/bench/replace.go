package main

import "context"

var replaced = figure{Name: "100 MiB: data of one member lost → 3 voters", Unit: unitSeconds, Plus: 20}

// What is written before the loss, in bytes.
const replacedDatabase = 100 << 20

func measureReplacement(ctx context.Context, b *bench) error {
	for run := range b.runs {
		err := b.takeTurn(ctx, ours, threeOnVolumes, func(ctx context.Context, t *trial) error {
			if _, err := t.create(ctx); err != nil {
				return err
			}
			if err := t.fill(ctx, replacedDatabase); err != nil {
				return err
			}
			return t.measureDataLoss(ctx, replaced, run%2 == 1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
