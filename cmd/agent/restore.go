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
