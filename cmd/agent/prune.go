package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// stepPrune removes from a store what a schedule's retention does not keep.
const stepPrune = "prune"

var pruneSteps = map[string]work{stepPrune: prune}

// pruneOptions are the flags of that step.
type pruneOptions struct {
	whose  backup.Whose
	policy backup.Policy
	held   []string
}

func (o *options) pruneFlags(flags *flag.FlagSet, r *raw) {
	o.storeFlags(flags, r)
	flags.StringVar(&o.prune.whose.Namespace, "cluster-namespace", "", "Namespace of the cluster.")
	flags.StringVar(&o.prune.whose.Name, "cluster-name", "", "Name of the cluster.")
	flags.StringVar(&o.prune.whose.UID, "cluster-uid", "", "UID of the cluster's object: backups of no other are looked at.")
	flags.IntVar(&o.prune.policy.KeepLast, "keep-last", 0, "Keep the newest N; 0: no such rule.")
	flags.IntVar(&o.prune.policy.KeepDaily, "keep-daily", 0, "Keep the newest of each of the last N days that have one; 0: no such rule.")
	flags.IntVar(&o.prune.policy.KeepWeekly, "keep-weekly", 0, "Keep the newest of each of the last N weeks that have one; 0: no such rule.")
	flags.DurationVar(&o.prune.policy.KeepWithin, "keep-within", 0, "Keep all that are at most so much older than the newest; 0: no such rule.")
	flags.StringVar(&r.timeZone, "time-zone", "UTC", "Where days and weeks begin.")
	flags.Func("hold", "Key of a snapshot that stays; may be given again.", func(key string) error {
		o.prune.held = append(o.prune.held, key)
		return nil
	})
}

func (o *options) readPrune(r raw) error {
	var err error
	if o.store, err = store.ParseConfig([]byte(r.store)); err != nil {
		return err
	}
	whose, policy := o.prune.whose, &o.prune.policy
	if err := checkNames(map[string]string{"cluster-namespace": whose.Namespace, "cluster-name": whose.Name, "cluster-uid": whose.UID}); err != nil {
		return err
	}
	if policy.KeepLast < 0 || policy.KeepDaily < 0 || policy.KeepWeekly < 0 || policy.KeepWithin < 0 {
		return errors.New("a rule that keeps less than nothing")
	}
	if policy.Location, err = time.LoadLocation(r.timeZone); err != nil || r.timeZone == "Local" {
		return fmt.Errorf("--time-zone=%q is not a time zone", r.timeZone)
	}
	return nil
}

func prune(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	return backup.Prune(ctx, backup.PruneOptions{
		Bucket: bucket, Whose: o.prune.whose, Policy: o.prune.policy, Held: o.prune.held, Now: time.Now(), Stall: o.stall, Progress: progress,
	})
}
