package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var settledWrites = figure{Name: "API writes while settled under load", Unit: unitCount}

// What the settled cluster is loaded with: a little more than the 100 puts a second that it must take.
const (
	loadWriters = 4
	loadEach    = 30.0
	loadMinimum = 100.0
)

// measureSettled watches one cluster that has nothing to do but serve, and then weighs the managers.
func measureSettled(ctx context.Context, b *bench) error {
	t, err := b.begin(ctx, ours, threeOnVolumes)
	if err != nil {
		return err
	}
	err = t.measureSettled(ctx)
	if err == nil {
		err = b.measureMemory(ctx)
	}
	return errors.Join(err, t.end(ctx))
}

func (t *trial) measureSettled(ctx context.Context) error {
	if _, err := t.create(ctx); err != nil {
		return err
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	traffic, err := t.write(ctx, loadWriters, loadEach)
	if err != nil {
		return err
	}
	mark, err := t.kube.world.Mark(ctx)
	if err != nil {
		traffic.abandon()
		return err
	}
	t.say("watching a settled cluster for %s", t.settle)
	select {
	case <-ctx.Done():
		traffic.abandon()
		return ctx.Err()
	case <-time.After(t.settle):
	}
	writes, err := t.kube.world.OperatorWrites(ctx, mark, t.namespace)
	if err != nil {
		traffic.abandon()
		return err
	}
	sum, err := traffic.finish(ctx)
	if err != nil {
		return err
	}
	return t.noteSettled(writes, sum)
}

func (t *trial) noteSettled(writes []world.Request, sum wrote) error {
	note := fmt.Sprintf("%s at %.0f puts/s, longest gap %d ms, p99 %d ms", t.settle, sum.perSecond, sum.gap.Milliseconds(), sum.p99.Milliseconds())
	if kinds := breakdown(writes); len(kinds) > 0 {
		note += "; " + strings.Join(kinds, ", ")
	}
	f := t.figure(settledWrites)
	f.Detail = note
	t.add(f, ours, sample{Value: float64(len(writes)), Note: note})
	if err := sum.complaint(); err != nil {
		return err
	}
	if sum.perSecond < loadMinimum {
		return fmt.Errorf("the load was %.0f puts/s, and %.0f are asked for", sum.perSecond, loadMinimum)
	}
	return nil
}
