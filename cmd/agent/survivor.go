package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Steps of a restore from what a member without quorum still holds. Between them etcdutl does its work.
const (
	stepStreamSurvivor   = "stream-survivor" // of a member that runs
	stepReadSurvivor     = "read-survivor"   // of one that has ended
	stepActivateSurvivor = "activate-survivor"
)

// isOfSurvivor reports whether the step knows no backup.
func isOfSurvivor(step string) bool {
	return step == stepStreamSurvivor || step == stepReadSurvivor || step == stepActivateSurvivor
}

// survivorFlags are the flags of these steps.
func (o *options) survivorFlags(flags *flag.FlagSet, r *raw) {
	flags.StringVar(&o.restore.place.Volume, "volume", "/var/lib/etcd", "Where the member's volume is mounted.")
	flags.StringVar(&o.restore.place.Incarnation, "incarnation", "", "Incarnation that the data is for.")
	flags.StringVar(&o.restore.place.Member, "member", "", "Name of the member.")
	flags.StringVar(&o.restore.survivor, "survivor", "", "Name of the member that is left.")
	if o.step == stepActivateSurvivor {
		return
	}
	flags.Int64Var(&o.restore.origin.BumpRevision, "bump-revision", 0, "By how much etcdutl raises the revision.")
	if o.step == stepReadSurvivor {
		flags.StringVar(&o.restore.database, "database", "", "Database file of the member that is left.")
		flags.StringVar(&r.memberID, "member-id", "", "etcd's ID of the member that is left, hexadecimal.")
		return
	}
	flags.StringVar(&r.endpoints, "endpoints", "", "The member that is left: name=url.")
	flags.StringVar(&o.tlsDir, "tls-dir", "", "Directory of ca.crt, tls.crt and tls.key for etcd; empty: plain HTTP.")
	flags.StringVar(&r.clusterID, "cluster-id", "", "etcd's ID of the cluster, hexadecimal.")
}

func (o *options) readSurvivor(r raw) error {
	if !nameText.MatchString(o.restore.survivor) {
		return fmt.Errorf("--survivor=%q is not a name", o.restore.survivor)
	}
	if o.restore.origin.BumpRevision < 0 {
		return errors.New("--bump-revision: want no bump below zero")
	}
	if o.step == stepReadSurvivor && !filepath.IsAbs(o.restore.database) {
		return fmt.Errorf("--database=%q is not the path of a file", o.restore.database)
	}
	if err := o.restore.place.Check(); err != nil {
		return err
	}
	var err error
	switch o.step {
	case stepReadSurvivor:
		if o.restore.survivorID, err = etcdutil.ParseID(r.memberID); err != nil {
			return fmt.Errorf("--member-id: %w", err)
		}
	case stepStreamSurvivor:
		return o.readSurvivorsAddress(r)
	}
	return nil
}

func (o *options) readSurvivorsAddress(r raw) error {
	var err error
	if o.identity.ClusterID, err = etcdutil.ParseID(r.clusterID); err != nil {
		return fmt.Errorf("--cluster-id: %w", err)
	}
	if o.endpoints, err = backup.ParseEndpoints(r.endpoints); err != nil {
		return err
	}
	if len(o.endpoints) != 1 || o.endpoints[0].Name != o.restore.survivor {
		return errors.New("want one endpoint, of the survivor")
	}
	return nil
}

func streamSurvivor(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	tlsConfig, err := backup.ReadTLS(o.tlsDir)
	if err != nil {
		return nil, err
	}
	return backup.LaySurvivor(ctx, backup.SurvivorOptions{
		Endpoint: o.endpoints[0], TLS: tlsConfig, ClusterID: o.identity.ClusterID, Place: o.restore.place,
		BumpRevision: o.restore.origin.BumpRevision, Stall: o.stall, Progress: progress,
	})
}

func readEndedSurvivor(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	if err := backup.CheckMember(o.restore.database, o.restore.survivor, o.restore.survivorID); err != nil {
		return nil, err
	}
	return backup.LaySurvivor(ctx, backup.SurvivorOptions{
		Endpoint: backup.Endpoint{Name: o.restore.survivor}, Database: o.restore.database, Place: o.restore.place,
		BumpRevision: o.restore.origin.BumpRevision, Stall: o.stall, Progress: progress,
	})
}

func activateSurvivor(_ context.Context, o *options, _ *backup.Progress) (any, error) {
	return backup.ActivateSurvivor(o.restore.place, o.restore.survivor)
}
