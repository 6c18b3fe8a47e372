package main

import (
	"context"
	"fmt"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// A roll is three restarts of one Pod each; the operator may take 2 s more for each to be sure that the member is back.
// The floor of the time is such a restart by hand under a StatefulSet, and the floor of the write gap is one of the very
// leader that the roll will meet: nobody can restart it with less of a gap than whoever hands over first.
var (
	rollTime      = figure{Name: "roll of three members", Unit: unitSeconds, Times: 3, Plus: 3 * 2}
	rollGap       = figure{Name: "longest write gap, roll", Unit: unitSeconds, Times: 1, Plus: writePause}
	rollFailed    = figure{Name: "requests failed, roll", Unit: unitCount, Worst: true}
	rollElections = figure{Name: "leader changes, roll", Unit: unitChanges, Plus: 1, Worst: true}
)

func measureRoll(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, threeOnVolumes, func(ctx context.Context, t *trial, _ int) error {
		if _, err := t.create(ctx); err != nil {
			return err
		}
		if t.side == floor {
			return t.measureRestarts(ctx)
		}
		_, byHand, err := t.restartByHand(ctx, true)
		if err != nil {
			return err
		}
		t.add(t.figure(rollGap), floor, sample{Value: byHand.gap.Seconds(), Note: "the leader of the cluster that is rolled next, by hand"})
		return t.measureRoll(ctx)
	})
}

// measureRestarts takes the floor of one Pod's restart. A leader that has handed over is a follower.
func (t *trial) measureRestarts(ctx context.Context) error {
	for range 2 {
		taken, sum, err := t.restartByHand(ctx, false)
		if err != nil {
			return err
		}
		taken.Note = fmt.Sprintf("one Pod, %s, longest write gap %d ms", taken.Note, sum.gap.Milliseconds())
		t.add(t.figure(rollTime), floor, taken)
	}
	return nil
}

// changeSettings changes a setting that no running Pod can take, and that changes nothing else about it. Each roll has its number.
func (t *trial) changeSettings(ctx context.Context, roll int) error {
	return t.change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
		s.Pod = &v1alpha1.PodSpec{TerminationGracePeriodSeconds: new(resources.DefaultGraceSeconds + int64(roll))}
	})
}

func (t *trial) measureRoll(ctx context.Context) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	before, err := t.status(ctx)
	if err != nil {
		return err
	}
	taken, sum, err := t.underLoad(ctx, "", t.podUIDs(), func(ctx context.Context) error {
		return t.changeSettings(ctx, 1)
	})
	if err != nil {
		return err
	}
	after, err := t.status(ctx)
	if err != nil {
		return err
	}
	t.add(t.figure(rollTime), ours, taken)
	t.add(t.figure(rollGap), ours, sample{Value: sum.gap.Seconds(), Note: fmt.Sprintf("p99 %d ms", sum.p99.Milliseconds())})
	t.add(t.figure(rollFailed), ours, sample{Value: float64(sum.failed), Note: fmt.Sprintf("of %d", sum.acknowledged+sum.failed)})
	// Each election, won or not, is a term of its own: leaders cannot have changed more often.
	t.add(t.figure(rollElections), ours, sample{Value: float64(after.Term - before.Term)})
	return nil
}
