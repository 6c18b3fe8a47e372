package main

import (
	"context"
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

// pruneOptions are the flags of this step alone.
type pruneOptions struct {
	policy backup.Policy
	held   []string
	asked  []string
	since  time.Time // by the operator's clock; zero: no limit
	until  time.Time // zero: no limit
}

func pruneFlags(o *options, f *flagSet) {
	storeFlags(o, f)
	whoseFlags(o, f)
	f.check(o.checkWhose)
	f.Func("hold", "Key of a snapshot that stays; may be given again.", collect(&o.prune.held))
	f.Func("ask", "Key of a snapshot; the result says whether it is gone; may be given again.", collect(&o.prune.asked))
	timeFlag(f, &o.prune.until, "not-after",
		"Until when --hold is believed, such as 2006-01-02T15:04:05Z: later nothing is removed; empty: no limit.")
	timeFlag(f, &o.prune.since, "not-before",
		"A clock that says less is behind the operator's, and nothing is removed by it; empty: no limit.")
	policyFlags(&o.prune.policy, f)
}

func timeFlag(f *flagSet, into *time.Time, name, usage string) {
	text := f.String(name, "", usage)
	f.check(func() (err error) {
		if *text == "" {
			return nil
		}
		if *into, err = time.Parse(time.RFC3339, *text); err != nil {
			return fmt.Errorf("--%s=%q is not a time", name, *text)
		}
		return nil
	})
}

// policyFlags are the rules of a retention.
func policyFlags(policy *backup.Policy, f *flagSet) {
	f.IntVar(&policy.KeepLast, "keep-last", 0, "Keep the newest N; 0: no such rule.")
	f.IntVar(&policy.KeepDaily, "keep-daily", 0,
		"Keep the newest of each of the last N days that have one; 0: no such rule.")
	f.IntVar(&policy.KeepWeekly, "keep-weekly", 0,
		"Keep the newest of each of the last N weeks that have one; 0: no such rule.")
	f.DurationVar(&policy.KeepWithin, "keep-within", 0,
		"Keep all that are at most so much older than the newest; 0: no such rule.")
	timeZone := f.String("time-zone", "UTC", "Where days and weeks begin.")
	f.check(func() (err error) {
		if policy.KeepLast < 0 || policy.KeepDaily < 0 || policy.KeepWeekly < 0 || policy.KeepWithin < 0 {
			return errors.New("a rule that keeps less than nothing")
		}
		if policy.Location, err = time.LoadLocation(*timeZone); err != nil || *timeZone == "Local" {
			return fmt.Errorf("--time-zone=%q is not a time zone", *timeZone)
		}
		return nil
	})
}

func collect(into *[]string) func(string) error {
	return func(value string) error {
		*into = append(*into, value)
		return nil
	}
}

// prune stops when its list of held snapshots is too old: a restore may have started since. The next run removes what
// is left, with a newer list. What it removes cannot be put back, so its clock has to agree with the operator's.
func prune(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	if now := time.Now(); now.Before(o.prune.since) {
		return nil, &backup.Failure{Reason: backup.ReasonClocksDiffer, Err: fmt.Errorf(
			"by the clock of this node it is %s, and by that of the operator it is after %s. Nothing is removed. Set "+
				"the wrong one right", now.UTC().Format(time.RFC3339), o.prune.since.Format(time.RFC3339))}
	}
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
			"it was not done by %s. A restore that began since may need what it would remove. The next run continues",
			o.prune.until.Format(time.RFC3339))}
	}
	return pruned, err
}

func pruneStore(ctx context.Context, o *options, progress *backup.Progress) (backup.Pruned, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (backup.Pruned, error) {
		return backup.Prune(ctx, backup.PruneOptions{
			Transfer: transfer, Whose: o.whose, Policy: o.prune.policy, Held: o.prune.held, Ask: o.prune.asked,
			Now: time.Now(),
		})
	})
}

// snapshotOptions are the flags of this step alone.
type snapshotOptions struct {
	verify      bool
	incarnation int64
	backupUID   string
}

// taken is what is said of a snapshot that went well.
type taken struct {
	backup.Manifest
	Unconditional bool `json:"unconditional,omitempty"` // the store knows no conditional writes
}

func snapshotFlags(o *options, f *flagSet) {
	scratchFlags(o, f)
	storeFlags(o, f)
	memberFlags(o, f)
	whoseFlags(o, f)
	f.BoolVar(&o.snapshot.verify, "verify", true,
		"The manifest is left to compare, which writes it once the backup is proven.")
	f.Int64Var(&o.snapshot.incarnation, "incarnation", 0, "Incarnation of the cluster.")
	f.StringVar(&o.snapshot.backupUID, "backup-uid", "", "UID of the backup's object.")
	f.check(o.checkWhose)
	f.check(func() error { return checkName("backup-uid", o.snapshot.backupUID) })
}

func snapshot(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	tlsConfig, err := backup.ReadTLS(o.tlsDir)
	if err != nil {
		return nil, err
	}
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (taken, error) {
		manifest, err := backup.Take(ctx, backup.TakeOptions{
			Identity: backup.Identity{
				ClusterNamespace: o.whose.Namespace, ClusterName: o.whose.Name, ClusterUID: o.whose.UID,
				ClusterID:   o.clusterID,
				Incarnation: o.snapshot.incarnation, BackupUID: o.snapshot.backupUID, Schedule: o.whose.Schedule,
			},
			Transfer: transfer, Endpoints: o.endpoints, TLS: tlsConfig, Scratch: o.scratch, Verify: o.snapshot.verify,
		})
		return taken{manifest, transfer.Bucket.IsUnconditional()}, err
	})
}

func fetchFlags(o *options, f *flagSet) {
	scratchFlags(o, f)
	storeFlags(o, f)
	whoseFlags(o, f)
	f.BoolVar(&o.newest, "newest", false,
		"Fetch the newest backup of the named cluster instead of the one that was just taken.")
	f.check(func() error {
		if !o.newest {
			return nil
		}
		return o.checkWhose()
	})
}

func fetch(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (any, error) {
		options := backup.FetchOptions{Transfer: transfer, Scratch: o.scratch}
		if o.newest {
			return backup.FetchNewest(ctx, o.whose, options)
		}
		return backup.Fetch(ctx, options)
	})
}

func compareFlags(o *options, f *flagSet) {
	scratchFlags(o, f)
	storeFlags(o, f)
	f.BoolVar(&o.proofOnly, "proof-only", false, "Prove the backup, and write nothing to the store.")
}

func compare(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	if o.proofOnly {
		return backup.Compare(ctx, backup.CompareOptions{Transfer: o.transfer(progress), Scratch: o.scratch})
	}
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (backup.Compared, error) {
		return backup.Compare(ctx, backup.CompareOptions{Transfer: transfer, Scratch: o.scratch})
	})
}
