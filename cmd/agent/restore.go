package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Steps of a restore. Between the last two the cluster's own etcdutl does its work.
const (
	stepPreflight = "preflight"
	stepLay       = "fetch-for-restore"
	stepActivate  = "activate"
)

var restoreSteps = map[string]work{
	stepPreflight: preflight,
	stepLay:       fetchForRestore,
	stepActivate:  activate,

	stepStreamSurvivor:   streamSurvivor,
	stepReadSurvivor:     readEndedSurvivor,
	stepActivateSurvivor: activateSurvivor,
}

// stepNamed finds a step; nil for none.
func stepNamed(name string) work {
	for _, steps := range []map[string]work{steps, restoreSteps, pruneSteps} {
		if of := steps[name]; of != nil {
			return of
		}
	}
	return nil
}

// restoreOptions are the flags of a restore's steps.
type restoreOptions struct {
	latestOf    backup.Whose
	volumeBytes int64
	place       backup.Place
	origin      backup.Origin // of a preflight the key alone, or nothing
	survivor    string
	database    string      // of a survivor that has ended
	survivorID  etcdutil.ID // the member that is to have lived there
}

// restoreFlags adds the flags of a restore's step to those that all steps have.
func (o *options) restoreFlags(flags *flag.FlagSet, r *raw) {
	if isOfSurvivor(o.step) {
		o.survivorFlags(flags, r)
		return
	}
	if o.step != stepActivate {
		o.storeFlags(flags, r)
	}
	flags.StringVar(&o.restore.origin.Key, "key", "", "Key of the snapshot.")
	if o.step == stepPreflight {
		flags.StringVar(&r.latestOf, "latest-of", "", "Instead of a key: the newest backup of the cluster namespace/name.")
		flags.StringVar(&o.restore.latestOf.UID, "latest-uid", "", "With latest-of: UID of the cluster's object; empty: the only one of that name.")
		flags.StringVar(&o.etcdVersion, "etcd-version", "", "Version that is to run on the restored data.")
		flags.Int64Var(&o.restore.volumeBytes, "volume-bytes", 0, "Size of each member's volume; 0: not known.")
		return
	}
	flags.StringVar(&o.restore.place.Volume, "volume", "/var/lib/etcd", "Where the member's volume is mounted.")
	flags.StringVar(&o.restore.place.Incarnation, "incarnation", "", "Incarnation that the data is for.")
	flags.StringVar(&o.restore.place.Member, "member", "", "Name of the member.")
	flags.StringVar(&o.restore.origin.SHA256, "sha256", "", "SHA-256 of the snapshot, hexadecimal.")
	flags.Int64Var(&o.restore.origin.SizeBytes, "size-bytes", 0, "Size of the snapshot.")
	flags.Int64Var(&o.restore.origin.Revision, "revision", 0, "Revision of the snapshot.")
	flags.Int64Var(&o.restore.origin.BumpRevision, "bump-revision", 0, "By how much etcdutl raises the revision.")
}

func (o *options) readRestore(r raw) error {
	if isOfSurvivor(o.step) {
		return o.readSurvivor(r)
	}
	if o.step != stepActivate {
		var err error
		if o.store, err = store.ParseConfig([]byte(r.store)); err != nil {
			return err
		}
	}
	if o.step == stepPreflight {
		return o.readPreflight(r.latestOf)
	}
	return errors.Join(o.restore.place.Check(), o.restore.origin.Check())
}

func (o *options) readPreflight(latestOf string) error {
	if (latestOf == "") == (o.restore.origin.Key == "") {
		return errors.New("want exactly one of --key and --latest-of")
	}
	if _, err := etcdutil.ParseVersion(o.etcdVersion); err != nil {
		return fmt.Errorf("--etcd-version: %w", err)
	}
	if latestOf == "" {
		return nil
	}
	whose := &o.restore.latestOf
	whose.Namespace, whose.Name, _ = strings.Cut(latestOf, "/")
	if !nameText.MatchString(whose.Namespace) || !nameText.MatchString(whose.Name) {
		return fmt.Errorf("--latest-of=%q is not namespace/name", latestOf)
	}
	if whose.UID != "" && !nameText.MatchString(whose.UID) {
		return fmt.Errorf("--latest-uid=%q is not a UID", whose.UID)
	}
	return nil
}

func preflight(ctx context.Context, o *options, _ *backup.Progress) (any, error) {
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	version, err := etcdutil.ParseVersion(o.etcdVersion)
	if err != nil {
		return nil, err
	}
	return backup.Preflight(ctx, backup.PreflightOptions{
		Bucket: bucket, Key: o.restore.origin.Key, LatestOf: o.restore.latestOf, Version: version, VolumeBytes: o.restore.volumeBytes,
	})
}

func fetchForRestore(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	return backup.Lay(ctx, backup.LayOptions{
		Bucket: bucket, Place: o.restore.place, Origin: o.restore.origin, Stall: o.stall, Progress: progress,
	})
}

func activate(_ context.Context, o *options, _ *backup.Progress) (any, error) {
	return backup.Activate(o.restore.place, o.restore.origin)
}
