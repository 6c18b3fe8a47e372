package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// preflightOptions are the flags of this step alone.
type preflightOptions struct {
	latestOf    backup.Whose
	etcdVersion etcdutil.Version
	volumeBytes int64
	sha256      string
}

func preflightFlags(o *options, f *flagSet) {
	storeFlags(o, f)
	scratchFlags(o, f)
	keyFlag(o, f)
	latestOf := f.String("latest-of", "", "Instead of a key: the newest backup of the cluster namespace/name.")
	etcdVersion := f.String("etcd-version", "", "Version that is to run on the restored data.")
	f.StringVar(&o.preflight.latestOf.UID, "latest-uid", "",
		"With latest-of: UID of the cluster's object; empty: the only one of that name.")
	f.StringVar(&o.preflight.sha256, "expect-sha256", "",
		"With key: SHA-256 that the snapshot has to have, hexadecimal; empty: any.")
	f.Int64Var(&o.preflight.volumeBytes, "volume-bytes", 0, "Size of each member's volume; 0: not known.")
	f.check(func() (err error) {
		if (*latestOf == "") == (o.origin.Key == "") {
			return errors.New("want exactly one of --key and --latest-of")
		}
		if o.preflight.etcdVersion, err = etcdutil.ParseVersion(*etcdVersion); err != nil {
			return fmt.Errorf("--etcd-version: %w", err)
		}
		if *latestOf == "" {
			return nil
		}
		return o.preflight.readLatestOf(*latestOf)
	})
}

func (p *preflightOptions) readLatestOf(text string) error {
	whose := &p.latestOf
	whose.Namespace, whose.Name, _ = strings.Cut(text, "/")
	if !nameText.MatchString(whose.Namespace) || !nameText.MatchString(whose.Name) {
		return fmt.Errorf("--latest-of=%q is not namespace/name", text)
	}
	if whose.UID != "" && !nameText.MatchString(whose.UID) {
		return fmt.Errorf("--latest-uid=%q is not a UID", whose.UID)
	}
	return nil
}

func preflight(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (backup.Found, error) {
		return backup.Preflight(ctx, backup.PreflightOptions{
			Transfer: transfer, Key: o.origin.Key, SHA256: o.preflight.sha256, LatestOf: o.preflight.latestOf,
			Version: o.preflight.etcdVersion, VolumeBytes: o.preflight.volumeBytes, Scratch: o.scratch,
		})
	})
}

func fetchForRestoreFlags(o *options, f *flagSet) {
	storeFlags(o, f)
	placeFlags(o, f)
	originFlags(o, f)
}

func fetchForRestore(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (backup.Restored, error) {
		return backup.Restore(ctx, backup.RestoreOptions{Transfer: transfer, Place: o.place, Origin: o.origin})
	})
}

func activateFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	originFlags(o, f)
}

func activate(_ context.Context, o *options, _ *backup.Progress) (any, error) {
	return backup.Activate(o.place, o.origin)
}

func streamSurvivorFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	survivorFlags(o, f)
	survivorBumpFlag(o, f)
	memberFlags(o, f)
	f.check(func() error {
		if f.Lookup("cluster-id").Value.String() == "" {
			return errors.New("--cluster-id: want etcd's ID of the cluster")
		}
		if len(o.endpoints) != 1 || o.endpoints[0].Name != o.survivor {
			return errors.New("want one endpoint, of the survivor")
		}
		return nil
	})
}

// survivorBumpFlag is checked here: no origin is.
func survivorBumpFlag(o *options, f *flagSet) {
	bumpFlag(o, f)
	f.check(func() error {
		if o.origin.BumpRevision < 0 {
			return errors.New("--bump-revision: want no bump below zero")
		}
		return nil
	})
}

// streamSurvivor restores what a member holds that runs.
func streamSurvivor(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	tlsConfig, err := backup.ReadTLS(o.tlsDir)
	if err != nil {
		return nil, err
	}
	return backup.RestoreSurvivor(ctx, backup.SurvivorOptions{
		Transfer: o.transfer(progress), Endpoint: o.endpoints[0], TLS: tlsConfig, ClusterID: o.clusterID,
		Place:        o.place,
		BumpRevision: o.origin.BumpRevision,
	})
}

// endedOptions are the flags of this step alone.
type endedOptions struct {
	database string
	memberID etcdutil.ID // that the database must know
}

func readSurvivorFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	survivorFlags(o, f)
	survivorBumpFlag(o, f)
	f.StringVar(&o.ended.database, "database", "", "Database file of the surviving member.")
	memberID := f.String("member-id", "", "etcd's ID of the surviving member, hexadecimal.")
	f.check(func() (err error) {
		if !filepath.IsAbs(o.ended.database) {
			return fmt.Errorf("--database=%q is not the path of a file", o.ended.database)
		}
		if o.ended.memberID, err = etcdutil.ParseID(*memberID); err != nil {
			return fmt.Errorf("--member-id: %w", err)
		}
		return nil
	})
}

// readSurvivor restores what lies on the volume of a member whose process has ended.
func readSurvivor(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	if err := backup.CheckMember(o.ended.database, o.survivor, o.ended.memberID); err != nil {
		return nil, err
	}
	return backup.RestoreSurvivor(ctx, backup.SurvivorOptions{
		Transfer: o.transfer(progress), Endpoint: backup.Endpoint{Name: o.survivor}, Database: o.ended.database,
		Place:        o.place,
		BumpRevision: o.origin.BumpRevision,
	})
}

func activateSurvivorFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	survivorFlags(o, f)
}

func activateSurvivor(_ context.Context, o *options, _ *backup.Progress) (any, error) {
	return backup.ActivateSurvivor(o.place, o.survivor)
}

func holdFlags(*options, *flagSet) {}

// hold does nothing until it is told to stop. Its Pod is what counts: a node took it by the rules of a member whose
// data is restored, and mounted that member's volume.
func hold(ctx context.Context, _ *options, _ *backup.Progress) (any, error) {
	<-ctx.Done()
	return struct{}{}, nil
}
