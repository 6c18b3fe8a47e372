package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// pruning is what is asked of the step prune.
type pruning struct {
	backup.PruneOptions

	since time.Time // by the operator's clock; zero: no limit
	until time.Time // zero: no limit
}

func (f *flagSet) pruneFlags() *pruning {
	o := &pruning{}
	f.storeFlags()
	f.whoseFlags(&o.Whose, always)
	f.Func("hold", "Key of a snapshot that stays; may be given again.", collect(&o.Held))
	f.Func("ask", "Key of a snapshot; the result says whether it is gone; may be given again.", collect(&o.Ask))
	f.timeFlag(&o.until, "not-after",
		"Until when --hold is believed, such as 2006-01-02T15:04:05Z: later nothing is removed; empty: no limit.")
	f.timeFlag(&o.since, "not-before",
		"A clock that says less is behind the operator's, and nothing is removed by it; empty: no limit.")
	f.policyFlags(&o.Policy)
	return o
}

func (f *flagSet) policyFlags(policy *backup.Policy) {
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

// prune stops when its list of held snapshots is too old: a restore may have started since. The next run removes what
// is left, with a newer list. What it removes cannot be put back, so its clock has to agree with the operator's.
func prune(f *flagSet) work {
	o := f.pruneFlags()
	run := f.withStore(func(ctx context.Context, t backup.Transfer) (any, error) {
		o.Transfer, o.Now = t, time.Now()
		return backup.Prune(ctx, o.PruneOptions)
	})
	return func(ctx context.Context, t backup.Transfer) (any, error) {
		if now := time.Now(); now.Before(o.since) {
			return nil, &backup.Failure{Reason: backup.ReasonClocksDiffer, Err: fmt.Errorf(
				"by the clock of this node it is %s, and by that of the operator it is after %s. Nothing is removed. "+
					"Set the wrong one right", now.UTC().Format(time.RFC3339), o.since.Format(time.RFC3339))}
		}
		if o.until.IsZero() {
			return run(ctx, t)
		}
		bounded, cancel := context.WithDeadline(ctx, o.until)
		defer cancel()
		var pruned any
		err := bounded.Err()
		if err == nil {
			pruned, err = run(bounded, t)
		}
		if err != nil && bounded.Err() != nil && ctx.Err() == nil {
			return nil, &backup.Failure{Reason: backup.ReasonHoldsTooOld, Err: fmt.Errorf(
				"it was not done by %s. A restore that began since may need what it would remove. The next run "+
					"continues", o.until.Format(time.RFC3339))}
		}
		return pruned, err
	}
}

// taken is what is said of a snapshot that went well.
type taken struct {
	backup.Manifest
	Unconditional bool `json:"unconditional,omitempty"` // the store knows no conditional writes
}

func snapshot(f *flagSet) work {
	var (
		o     backup.TakeOptions
		whose backup.Whose
		from  members
	)
	f.scratchFlag(&o.Scratch)
	f.storeFlags()
	f.memberFlags(&from)
	f.whoseFlags(&whose, always)
	f.BoolVar(&o.Verify, "verify", true,
		"The manifest is left to compare, which writes it once the backup is proven.")
	f.Int64Var(&o.Identity.Incarnation, "incarnation", 0, "Incarnation of the cluster.")
	f.StringVar(&o.Identity.BackupUID, "backup-uid", "", "UID of the backup's object.")
	f.check(func() error { return checkName("backup-uid", o.Identity.BackupUID) })
	return f.withStore(func(ctx context.Context, t backup.Transfer) (_ any, err error) {
		if o.TLS, err = backup.ReadTLS(from.tlsDir); err != nil {
			return nil, err
		}
		who := &o.Identity
		who.ClusterNamespace, who.ClusterName, who.ClusterUID = whose.Namespace, whose.Name, whose.UID
		who.ClusterID, who.Schedule = from.clusterID, whose.Schedule
		o.Transfer, o.Endpoints = t, from.endpoints
		manifest, err := backup.Take(ctx, o)
		return taken{manifest, t.Bucket.IsUnconditional()}, err
	})
}

func fetch(f *flagSet) work {
	var (
		o     backup.FetchOptions
		whose backup.Whose
	)
	f.scratchFlag(&o.Scratch)
	f.storeFlags()
	isNewest := f.Bool("newest", false,
		"Fetch the newest backup of the named cluster instead of the one that was just taken.")
	f.whoseFlags(&whose, func() bool { return *isNewest })
	return f.withStore(func(ctx context.Context, t backup.Transfer) (any, error) {
		o.Transfer = t
		if *isNewest {
			return backup.FetchNewest(ctx, whose, o)
		}
		return backup.Fetch(ctx, o)
	})
}

func compare(f *flagSet) work {
	var o backup.CompareOptions
	f.scratchFlag(&o.Scratch)
	isProofOnly := f.Bool("proof-only", false, "Prove the backup, and write nothing to the store.")
	f.IntVar(&o.LargestDepth, "largest-depth", 0,
		"How many parts of a key the prefixes have of which the largest are told; 0: none are told.")
	f.check(func() error {
		if o.LargestDepth < 0 {
			return fmt.Errorf("--largest-depth=%d: want 0 or more", o.LargestDepth)
		}
		return nil
	})
	f.storeFlagsIf(func() bool { return !*isProofOnly })
	run := func(ctx context.Context, t backup.Transfer) (any, error) {
		o.Transfer = t
		return backup.Compare(ctx, o)
	}
	return func(ctx context.Context, t backup.Transfer) (any, error) {
		if *isProofOnly {
			return run(ctx, t)
		}
		return f.withStore(run)(ctx, t)
	}
}

func preflight(f *flagSet) work {
	var o backup.PreflightOptions
	f.storeFlags()
	f.scratchFlag(&o.Scratch)
	f.keyFlag(&o.Key)
	latestOf := f.String("latest-of", "", "Instead of a key: the newest backup of the cluster namespace/name.")
	etcdVersion := f.String("etcd-version", "", "Version that is to run on the restored data.")
	f.StringVar(&o.LatestOf.UID, "latest-uid", "",
		"With latest-of: UID of the cluster's object; empty: the only one of that name.")
	f.StringVar(&o.SHA256, "expect-sha256", "",
		"With key: SHA-256 that the snapshot has to have, hexadecimal; empty: any.")
	f.Int64Var(&o.VolumeBytes, "volume-bytes", 0, "Size of each member's volume; 0: not known.")
	f.check(func() (err error) {
		if (*latestOf == "") == (o.Key == "") {
			return errors.New("want exactly one of --key and --latest-of")
		}
		if o.Version, err = etcdutil.ParseVersion(*etcdVersion); err != nil {
			return fmt.Errorf("--etcd-version: %w", err)
		}
		if *latestOf == "" {
			return nil
		}
		return readLatestOf(*latestOf, &o.LatestOf)
	})
	return f.withStore(func(ctx context.Context, t backup.Transfer) (any, error) {
		o.Transfer = t
		return backup.Preflight(ctx, o)
	})
}

func readLatestOf(text string, whose *backup.Whose) error {
	whose.Namespace, whose.Name, _ = strings.Cut(text, "/")
	if !nameText.MatchString(whose.Namespace) || !nameText.MatchString(whose.Name) {
		return fmt.Errorf("--latest-of=%q is not namespace/name", text)
	}
	if whose.UID != "" && !nameText.MatchString(whose.UID) {
		return fmt.Errorf("--latest-uid=%q is not a UID", whose.UID)
	}
	return nil
}

func fetchForRestore(f *flagSet) work {
	var o backup.RestoreOptions
	f.storeFlags()
	f.placeFlags(&o.Place)
	f.originFlags(&o.Origin)
	return f.withStore(func(ctx context.Context, t backup.Transfer) (any, error) {
		o.Transfer = t
		return backup.Restore(ctx, o)
	})
}

func activate(f *flagSet) work {
	var (
		place  backup.Place
		origin backup.Origin
	)
	f.placeFlags(&place)
	f.originFlags(&origin)
	return func(context.Context, backup.Transfer) (any, error) { return backup.Activate(place, origin) }
}

// survivorFlags name the member whose data is restored, and where to.
func (f *flagSet) survivorFlags(o *backup.SurvivorOptions) {
	f.placeFlags(&o.Place)
	f.survivorFlag(&o.Endpoint.Name)
	f.bumpFlag(&o.BumpRevision)
	f.check(func() error {
		if o.BumpRevision < 0 {
			return errors.New("--bump-revision: want no bump below zero")
		}
		return nil
	})
}

// streamSurvivor restores what a member holds that runs.
func streamSurvivor(f *flagSet) work {
	var (
		o    backup.SurvivorOptions
		from members
	)
	f.survivorFlags(&o)
	f.memberFlags(&from)
	f.check(func() error {
		if f.Lookup("cluster-id").Value.String() == "" {
			return errors.New("--cluster-id: want etcd's ID of the cluster")
		}
		if len(from.endpoints) != 1 || from.endpoints[0].Name != o.Endpoint.Name {
			return errors.New("want one endpoint, of the survivor")
		}
		return nil
	})
	return func(ctx context.Context, t backup.Transfer) (_ any, err error) {
		if o.TLS, err = backup.ReadTLS(from.tlsDir); err != nil {
			return nil, err
		}
		o.Transfer, o.Endpoint, o.ClusterID = t, from.endpoints[0], from.clusterID
		return backup.RestoreSurvivor(ctx, o)
	}
}

// readSurvivor restores what lies on the volume of a member whose process has ended, which the database must know.
func readSurvivor(f *flagSet) work {
	var (
		o  backup.SurvivorOptions
		id etcdutil.ID
	)
	f.survivorFlags(&o)
	f.StringVar(&o.Database, "database", "", "Database file of the surviving member.")
	memberID := f.String("member-id", "", "etcd's ID of the surviving member, hexadecimal.")
	f.check(func() (err error) {
		if !filepath.IsAbs(o.Database) {
			return fmt.Errorf("--database=%q is not the path of a file", o.Database)
		}
		if id, err = etcdutil.ParseID(*memberID); err != nil {
			return fmt.Errorf("--member-id: %w", err)
		}
		return nil
	})
	return func(ctx context.Context, t backup.Transfer) (any, error) {
		if err := backup.CheckMember(o.Database, o.Endpoint.Name, id); err != nil {
			return nil, err
		}
		o.Transfer = t
		return backup.RestoreSurvivor(ctx, o)
	}
}

func activateSurvivor(f *flagSet) work {
	var (
		place    backup.Place
		survivor string
	)
	f.placeFlags(&place)
	f.survivorFlag(&survivor)
	return func(context.Context, backup.Transfer) (any, error) { return backup.ActivateSurvivor(place, survivor) }
}

// hold does nothing until it is told to stop. Its Pod is what counts: a node took it by the rules of a member whose
// data is restored, and mounted that member's volume.
func hold(*flagSet) work {
	return func(ctx context.Context, _ backup.Transfer) (any, error) {
		<-ctx.Done()
		return struct{}{}, nil
	}
}
