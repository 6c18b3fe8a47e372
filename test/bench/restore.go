package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// measureRestore restores a backup in the bucket to a new cluster, after doing by hand what that is at the least.
func (t *trial) measureRestore(ctx context.Context, store *store, taken backup, run int) error {
	wanted := restoreTime(sizeName(t.database))
	byHand, err := t.restoreByHand(ctx, taken, run)
	if err != nil {
		return err
	}
	err = t.takeTurn(ctx, floor, threeOnVolumes, func(ctx context.Context, t *trial) error {
		created, err := t.create(ctx)
		if err == nil {
			note := fmt.Sprintf("etcdutl %.1f s, create → 3 voters %.1f s", byHand, created.Value)
			t.add(t.figure(wanted), floor, sample{Value: byHand + created.Value, Note: note, Busy: created.Busy})
		}
		return err
	})
	if err != nil {
		return err
	}
	like := threeOnVolumes
	like.database, like.patience = t.database, backupPatience
	like.from = &v1alpha1.RestoreSource{Store: new(store.at(run).store), Key: taken.status.Key}
	err = t.takeTurn(ctx, ours, like, func(ctx context.Context, restored *trial) error {
		if err := store.secrets(ctx, restored.kube, restored.namespace); err != nil {
			return err
		}
		taken, err := restored.create(ctx)
		if err != nil {
			return err
		}
		restored.add(restored.figure(wanted), ours, taken)
		return restored.holdsAll(ctx)
	})
	if err != nil {
		return err
	}
	return store.empty(ctx)
}

// restoreByHand is how many seconds etcdutl takes to restore one member to a volume like a member's.
func (t *trial) restoreByHand(ctx context.Context, source backup, run int) (float64, error) {
	claim := "restored-" + strconv.Itoa(run)
	if err := t.claim(ctx, claim); err != nil {
		return 0, err
	}
	if err := t.untilIdle(ctx); err != nil {
		return 0, err
	}
	source.node = "" // where the scheduler puts the claim
	seen, err := watching(ctx, func(ctx context.Context) error { return t.save(ctx, source, claim) })
	if err != nil {
		return 0, err
	}
	restore, err := seen.only(stepRestore)
	if err != nil {
		return 0, err
	}
	return restore.seconds(), t.unclaim(ctx, claim)
}

// holdsAll counts the keys: a restore that lost some measured nothing.
func (t *trial) holdsAll(ctx context.Context) error {
	out, err := t.etcdctl(ctx, "get", dataPrefix, "--prefix", "--count-only", "-w", "fields")
	if err != nil {
		return err
	}
	if got, wanted := countIn(out), strconv.Itoa(keysOf(t.database)); got != wanted {
		return fmt.Errorf("the restored cluster has %s keys, not %s", got, wanted)
	}
	return nil
}

// countIn is the number of keys in what etcdctl prints as fields.
func countIn(fields string) string {
	_, rest, _ := strings.Cut(fields, `"Count" :`)
	count, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(count)
}
