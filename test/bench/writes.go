package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// quiet is how long the operator has to be silent for what it was doing to count as done.
const quiet = 3 * time.Second

var writesOfCreation = figure{Name: "API writes to create three members", Unit: unitCount, Plus: 36}

// untilQuiet waits until the operator calls the cluster settled and then writes nothing for a while, and returns what it
// wrote about this cluster since it began.
func (t *trial) untilQuiet(ctx context.Context) ([]world.Request, error) {
	var writes []world.Request
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		settled, err := t.isSettled(ctx)
		if err != nil || !settled {
			return false, err
		}
		if writes, err = t.kube.world.OperatorWrites(ctx, t.mark, t.namespace); err != nil || len(writes) == 0 {
			return false, err
		}
		return time.Since(writes[len(writes)-1].Received) > quiet, nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting until the operator is quiet about %s, after %d writes: %w", t.namespace, len(writes), err)
	}
	return writes, nil
}

// countWrites notes how many writes it took to create the cluster. Lease, events and reviews do not count.
func (t *trial) countWrites(ctx context.Context) error {
	writes, err := t.untilQuiet(ctx)
	if err != nil {
		return err
	}
	kinds := breakdown(writes)
	f := t.figure(writesOfCreation)
	f.Detail = kinds
	t.add(f, ours, sample{Value: float64(len(writes)), Note: strings.Join(kinds, ", ")})
	return nil
}

// breakdown counts requests by verb and resource, most frequent first.
func breakdown(requests []world.Request) []string {
	counts := map[string]int{}
	for _, r := range requests {
		what := r.Verb + " " + strings.Trim(r.Object.Resource+"/"+r.Object.Subresource, "/")
		if r.Response.Code >= 400 {
			what += fmt.Sprintf(" (refused: %d)", r.Response.Code)
		}
		counts[what]++
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", counts[kind], kind)
	}
	return kinds
}
