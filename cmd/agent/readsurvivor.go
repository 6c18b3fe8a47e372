package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

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
	return backup.LaySurvivor(ctx, backup.SurvivorOptions{
		Transfer: o.transfer(progress), Endpoint: backup.Endpoint{Name: o.survivor}, Database: o.ended.database,
		Place:        o.place,
		BumpRevision: o.origin.BumpRevision,
	})
}
