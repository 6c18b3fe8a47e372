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
	asked  []string
	until  time.Time // zero: for ever
}

func (o *options) pruneFlags(flags *flag.FlagSet, r *raw) {
	o.storeFlags(flags, r)
	whoseFlags(flags, &o.prune.whose)
	flags.IntVar(&o.prune.policy.KeepLast, "keep-last", 0, "Keep the newest N; 0: no such rule.")
	flags.IntVar(&o.prune.policy.KeepDaily, "keep-daily", 0, "Keep the newest of each of the last N days that have one; 0: no such rule.")
	flags.IntVar(&o.prune.policy.KeepWeekly, "keep-weekly", 0, "Keep the newest of each of the last N weeks that have one; 0: no such rule.")
	flags.DurationVar(&o.prune.policy.KeepWithin, "keep-within", 0, "Keep all that are at most so much older than the newest; 0: no such rule.")
	flags.StringVar(&r.timeZone, "time-zone", "UTC", "Where days and weeks begin.")
	flags.Func("hold", "Key of a snapshot that stays; may be given again.", collect(&o.prune.held))
	flags.StringVar(&r.notAfter, "not-after", "", "Until when what is held is believed, such as 2006-01-02T15:04:05Z: later nothing is removed; empty: for ever.")
	flags.Func("ask", "Key of a snapshot, of which it is said whether it is gone; may be given again.", collect(&o.prune.asked))
}

// whoseFlags name the backups of one cluster.
func whoseFlags(flags *flag.FlagSet, whose *backup.Whose) {
	flags.StringVar(&whose.Namespace, "cluster-namespace", "", "Namespace of the cluster.")
	flags.StringVar(&whose.Name, "cluster-name", "", "Name of the cluster.")
	flags.StringVar(&whose.UID, "cluster-uid", "", "UID of the cluster's object: backups of no other are looked at.")
	flags.StringVar(&whose.Schedule, "schedule", "", "Name of the schedule that made the backups; empty: all are looked at.")
}

func checkWhose(whose backup.Whose) error {
	names := map[string]string{"cluster-namespace": whose.Namespace, "cluster-name": whose.Name, "cluster-uid": whose.UID}
	if whose.Schedule != "" {
		names["schedule"] = whose.Schedule
	}
	return checkNames(names)
}

func collect(into *[]string) func(string) error {
	return func(value string) error {
		*into = append(*into, value)
		return nil
	}
}

func (o *options) readPrune(r raw) error {
	var err error
	if o.store, err = store.ParseConfig([]byte(r.store)); err != nil {
		return err
	}
	if err := checkWhose(o.prune.whose); err != nil {
		return err
	}
	if r.notAfter != "" {
		if o.prune.until, err = time.Parse(time.RFC3339, r.notAfter); err != nil {
			return fmt.Errorf("--not-after=%q is not a time", r.notAfter)
		}
	}
	policy := &o.prune.policy
	if policy.KeepLast < 0 || policy.KeepDaily < 0 || policy.KeepWeekly < 0 || policy.KeepWithin < 0 {
		return errors.New("a rule that keeps less than nothing")
	}
	if policy.Location, err = time.LoadLocation(r.timeZone); err != nil || r.timeZone == "Local" {
		return fmt.Errorf("--time-zone=%q is not a time zone", r.timeZone)
	}
	return nil
}

// prune is over when the time of what is held is: somebody may have begun to restore something else since. What is left then goes
// with the next run, which has a newer list.
func prune(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	if o.prune.until.IsZero() {
		return pruneStore(ctx, o, progress)
	}
	bounded, cancel := context.WithDeadline(ctx, o.prune.until)
	defer cancel()
	pruned, err := backup.Pruned{}, bounded.Err()
	if err == nil {
		pruned, err = pruneStore(bounded, o, progress)
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, &backup.Failure{Reason: backup.ReasonHoldsTooOld, Err: fmt.Errorf(
			"by %s it was not done, and a restore that began since may need what this would remove; the rest is left to the next run", o.prune.until.Format(time.RFC3339))}
	}
	return pruned, err
}

func pruneStore(ctx context.Context, o *options, progress *backup.Progress) (backup.Pruned, error) {
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return backup.Pruned{}, err
	}
	defer bucket.Close()
	return backup.Prune(ctx, backup.PruneOptions{
		Bucket: bucket, Whose: o.prune.whose, Policy: o.prune.policy, Held: o.prune.held, Ask: o.prune.asked, Now: time.Now(), Stall: o.stall, Progress: progress,
	})
}
