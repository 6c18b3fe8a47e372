package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Twenty clusters of one member are created at once, and one of them never starts: its image is in no registry. The
// others have to become Ready, all of them, and no cluster may wait because of another. It waits because of another if
//
//   - the slowest of the nineteen takes longer than by hand: twenty StatefulSets of one replica, one of them with that
//     image, share the same machine, scheduler and provisioner, and nobody's queue. What the queue of an operator adds
//     to it is the ratio; it is bounded as that of one cluster created alone is;
//   - the slowest takes longer than the slowest of the same nineteen with no dead one among them, by more than the
//     creation of one more cluster costs the machine.
const fleetSize = 20

var (
	fleetSlowest = figure{Name: "20 of size 1, one dead: slowest", Unit: unitSeconds, Times: 1.3}
	fleetBeside  = figure{Name: "20 of size 1, one dead: slowest, to none dead", Unit: unitSeconds, Times: 1, Plus: 2}
)

func measureFleet(ctx context.Context, b *bench) error {
	for range b.runs {
		for _, turn := range []struct {
			side side
			dead int
			add  func(*trial, sample)
		}{
			{floor, 1, func(t *trial, s sample) { t.add(t.figure(fleetSlowest), floor, s) }},
			{ours, 1, func(t *trial, s sample) {
				t.add(t.figure(fleetSlowest), ours, s)
				t.add(t.figure(fleetBeside), ours, s)
			}},
			{ours, 0, func(t *trial, s sample) { t.add(t.figure(fleetBeside), floor, s) }},
		} {
			err := b.takeTurn(ctx, turn.side, oneOnVolume, func(ctx context.Context, t *trial) error {
				taken, err := t.createFleet(ctx, fleetSize-1, turn.dead)
				if err != nil {
					return err
				}
				turn.add(t, taken)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// createFleet creates clusters, the dead ones first, and takes the time until the slowest of those that can is Ready.
func (t *trial) createFleet(ctx context.Context, alive, dead int) (sample, error) {
	if err := t.untilIdle(ctx); err != nil {
		return sample{}, err
	}
	began := t.start()
	var names []string
	for i := range dead + alive {
		like := t.shape
		like.name, like.dead = fmt.Sprintf("%s-%02d", clusterName, i), i < dead
		if err := t.make(ctx, like); err != nil {
			return sample{}, err
		}
		if !like.dead {
			names = append(names, like.name)
		}
	}
	asked := time.Since(began.at)
	times, err := t.untilServing(ctx, began.at, names)
	if err != nil {
		return sample{}, err
	}
	note := fmt.Sprintf("%d of them, median %.1f s, fastest %.1f s; all were asked for within %.1f s",
		len(times), median(times), times[0], asked.Seconds())
	slowest := times[len(times)-1]
	taken := t.taken(began, began.at.Add(time.Duration(slowest*float64(time.Second))), note)
	if t.side == ours {
		err = t.untilAllReady(ctx, names)
	}
	return taken, err
}

// untilServing waits until the only member of each cluster is Ready, which it is by a linearizable read, and says how
// many seconds each took, the fastest first.
func (t *trial) untilServing(ctx context.Context, since time.Time, names []string) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var times []float64
		for _, pod := range t.watched.members() {
			at := t.watched.when(pod.UID, ready)
			if !at.IsZero() && slices.ContainsFunc(names, func(name string) bool { return etcdutil.MemberName(name, 0) == pod.Name }) {
				times = append(times, at.Sub(since).Seconds())
			}
		}
		if len(times) == len(names) {
			slices.Sort(times)
			return times, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d clusters in %s serve: %w", len(times), len(names), t.namespace, ctx.Err())
		case <-t.watched.changed:
		}
	}
}

// untilAllReady waits until the operator says so too of each, and makes sure that it does not of the dead one.
func (t *trial) untilAllReady(ctx context.Context, names []string) error {
	var missing []string
	err := wait.PollUntilContextTimeout(ctx, again, patience, true, func(ctx context.Context) (bool, error) {
		list := &v1alpha1.EtcdClusterList{}
		if err := t.kube.client.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
			return false, err
		}
		missing = nil
		for _, c := range list.Items {
			isReady := meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
			switch isAlive := slices.Contains(names, c.Name); {
			case isReady && !isAlive:
				return false, fmt.Errorf("%s is Ready, without an image", c.Name)
			case !isReady && isAlive:
				missing = append(missing, c.Name)
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %v in %s to be Ready: %w", missing, t.namespace, err)
	}
	return nil
}
