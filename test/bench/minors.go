package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Both ways lead through etcdVersion, the only version of 3.6 that the operator stops at between these two.
const (
	lowVersion  = "3.5.35"
	highVersion = "3.7.3"
)

const (
	// minorClients write through both minors, clientRate puts a second each, and minorLoad is what has to come of that.
	minorClients = 16
	minorLoad    = 200.0
	// minorPatience bounds each wait on the way.
	minorPatience = 5 * time.Minute
	// calmLoad is how long clients write before the edit. What they see then is what a flush is held against.
	calmLoad = 10 * time.Second
	// flushLimit is how many seconds it may take to cover what 3.5 wrote to raft's log.
	flushLimit = 30
)

// way is one edit of spec.version that leads through two minors, and what is measured on it.
//
// The floor of the time of one minor is the same step by hand under a StatefulSet: three restarts, and what etcd itself
// takes to move the cluster version and the format of the data. The operator may take 2 s more for each restart. The
// floor of the write gap is that of the same step, with the same clients: each minor hands leadership over once, and a
// put that a member forwards at that moment may wait for its deadline.
type way struct {
	from, to                     string
	isDown                       bool
	minor, gap, failed, election figure
}

func newWay(direction, from, to string) way {
	both := "two minors " + direction
	return way{
		from: from, to: to, isDown: direction == "down",
		minor: figure{Name: "one minor " + direction, Unit: unitSeconds, Times: 1, Plus: 3 * 2},
		gap: figure{Name: "longest write gap, one minor " + direction, Unit: unitSeconds, Times: 1,
			Plus: writePause},
		failed:   figure{Name: "requests failed, " + both, Unit: unitCount, Worst: true},
		election: figure{Name: "leader changes, " + both, Unit: unitChanges, Plus: 2, Worst: true},
	}
}

var (
	wayUp   = newWay("up", lowVersion, highVersion)
	wayDown = newWay("down", highVersion, lowVersion)
)

// A flush is the time during which the operator has entries added to raft's log before 3.7. It counts from the moment
// at which etcd has moved all versions to 3.6 until the first member is stopped for 3.7. The reason in the status begins
// later, since it is written after the first entries, and every 2 s at most.
var (
	flushTime   = figure{Name: "flush of raft's log before 3.7", Unit: unitSeconds, Plus: flushLimit}
	flushWrites = figure{Name: "p99 of writes, flush, to before it", Unit: unitMilliseconds, Times: 1.5}
)

func measureMinors(ctx context.Context, b *bench) error {
	for _, w := range []way{wayUp, wayDown} {
		like := threeOnVolumes
		like.version, like.clients, like.patience = w.from, minorClients, minorPatience
		err := b.takeTurns(ctx, like, func(ctx context.Context, t *trial, _ int) error {
			if _, err := t.create(ctx); err != nil {
				return err
			}
			if t.side == floor {
				return t.measureMinorByHand(ctx, w)
			}
			return t.measureWay(ctx, w)
		})
		if err != nil {
			return fmt.Errorf("from %s to %s: %w", w.from, w.to, err)
		}
	}
	return nil
}

// measureWay lets the operator go the way.
func (t *trial) measureWay(ctx context.Context, w way) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	before, err := t.status(ctx)
	if err != nil {
		return err
	}
	sum, err := t.goUnderLoad(ctx, w)
	if err != nil {
		return err
	}
	after, err := t.status(ctx)
	if err != nil {
		return err
	}
	t.add(t.figure(w.failed), ours, sample{Value: float64(sum.failed),
		Note: fmt.Sprintf("of %d, at %.0f puts/s, p99 %d ms",
			sum.acknowledged+sum.failed, sum.perSecond, sum.p99.Milliseconds())})
	// Each election, won or not, is a term of its own: leaders cannot have changed more often.
	t.add(t.figure(w.election), ours, sample{Value: float64(after.Term - before.Term)})
	return sum.enough(minorLoad)
}

// enough is an error for a load that was too small to tell anything.
func (w wrote) enough(perSecond float64) error {
	if w.perSecond < perSecond {
		return fmt.Errorf("the load was %.0f puts/s, and %.0f are asked for", w.perSecond, perSecond)
	}
	return nil
}

// goUnderLoad goes the way while clients write, after a while in which they have the cluster to themselves.
func (t *trial) goUnderLoad(ctx context.Context, w way) (wrote, error) {
	traffic, err := t.load(ctx)
	if err != nil {
		return wrote{}, err
	}
	if err := t.goes(ctx, w, traffic); err != nil {
		traffic.abandon()
		return wrote{}, err
	}
	return traffic.finish(ctx)
}

func (t *trial) goes(ctx context.Context, w way, traffic *traffic) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(calmLoad):
	}
	began := t.start()
	err := t.change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = w.to })
	if err != nil {
		return err
	}
	var second moment
	if !w.isDown {
		second, err = t.firstMinorUp(ctx, began, traffic)
	} else {
		second, err = t.firstMinorDown(ctx, began)
	}
	if err != nil {
		return err
	}
	if err := t.lastMinor(ctx, w, second); err != nil {
		return err
	}
	for _, minor := range []span{{began.at, second.at}, {second.at, time.Now()}} {
		t.add(t.figure(w.gap), ours, sample{Value: traffic.gapBetween(minor.from, minor.to).Seconds()})
	}
	return nil
}

// firstMinorUp is over when etcd has moved all versions. The flush follows, and then the second minor begins.
func (t *trial) firstMinorUp(ctx context.Context, began moment, traffic *traffic) (moment, error) {
	rolled, err := t.untilRuns(ctx, etcdVersion)
	if err != nil {
		return moment{}, err
	}
	moved, err := t.untilMoved(ctx, etcdVersion)
	if err != nil {
		return moment{}, err
	}
	t.add(t.figure(wayUp.minor), ours, t.taken(began, moved, movedNote(etcdVersion, moved.Sub(rolled))))
	calm := span{traffic.began, began.at}
	began = t.start()
	covered, err := t.untilCovered(ctx, moved)
	if err != nil {
		return moment{}, err
	}
	t.add(t.figure(flushTime), ours, t.taken(moment{moved, began.ticks}, covered, ""))
	return moment{covered, readTicks()}, t.addFlushWrites(traffic, calm, span{moved, covered})
}

// firstMinorDown is over when the last member is back. How long the second one waits for etcd counts as part of it.
func (t *trial) firstMinorDown(ctx context.Context, began moment) (moment, error) {
	rolled, err := t.untilRuns(ctx, etcdVersion)
	if err != nil {
		return moment{}, err
	}
	t.add(t.figure(wayDown.minor), ours, t.taken(began, rolled, "to "+etcdVersion))
	return moment{rolled, readTicks()}, nil
}

// lastMinor is over when etcd has moved, as by hand. It expects that all is then as it should be, by the criterion of
// every other figure.
func (t *trial) lastMinor(ctx context.Context, w way, began moment) error {
	rolled, err := t.untilRuns(ctx, w.to)
	if err != nil {
		return err
	}
	moved, err := t.untilMoved(ctx, w.to)
	if err != nil {
		return err
	}
	if _, err := t.untilHealthy(ctx, without{}); err != nil {
		return err
	}
	t.add(t.figure(w.minor), ours, t.taken(began, moved, movedNote(w.to, moved.Sub(rolled))))
	return nil
}

func movedNote(version string, took time.Duration) string {
	return fmt.Sprintf("to %s, whose cluster version was there %.1f s after the last Pod", version, took.Seconds())
}

// span is a time from one moment to another.
type span struct{ from, to time.Time }

// addFlushWrites holds writes in the flush against those of the same clients before the edit.
func (t *trial) addFlushWrites(traffic *traffic, calm, flush span) error {
	for _, part := range []struct {
		side side
		span span
	}{{floor, calm}, {ours, flush}} {
		worst, puts := traffic.between(part.span.from, part.span.to)
		if puts == 0 {
			return fmt.Errorf("no put was acknowledged within %s", part.span.to.Sub(part.span.from))
		}
		t.add(t.figure(flushWrites), part.side, sample{Value: worst.Seconds() * 1000,
			Note: fmt.Sprintf("of %d puts", puts)})
	}
	return nil
}

// untilRuns waits until every member was Ready with this version, and says when the last one was.
func (t *trial) untilRuns(ctx context.Context, version string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	for {
		times := t.watched.readyWith(version)
		if len(times) == t.size {
			return slices.MaxFunc(slices.Collect(maps.Values(times)), time.Time.Compare), nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%d of %d members in %s were Ready with etcd %s: %w",
				len(times), t.size, t.namespace, version, ctx.Err())
		case <-t.watched.changed:
		}
	}
}

// untilCovered waits until the first member is stopped for 3.7, and says when. The operator must have said before that
// it adds entries: without them there was no flush, and its time would say nothing.
func (t *trial) untilCovered(ctx context.Context, since time.Time) (time.Time, error) {
	var covered time.Time
	isCovering := false
	err := wait.PollUntilContextTimeout(ctx, again, t.patience, true, func(ctx context.Context) (bool, error) {
		covered = t.watched.firstStop(since)
		if !covered.IsZero() {
			return true, nil
		}
		c, err := t.get(ctx)
		if err != nil {
			return false, err
		}
		isCovering = isCovering || c.Status.NextStep != nil && c.Status.NextStep.Reason == "AppendEntries"
		return false, nil
	})
	if err != nil {
		return covered, fmt.Errorf("waiting until %s is ready for %s: %w", t.namespace, highVersion, err)
	}
	if !isCovering {
		return covered, errors.New("a member was stopped for " + highVersion + ", and no step was " + "AppendEntries")
	}
	return covered, nil
}
