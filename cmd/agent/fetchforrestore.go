package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func fetchForRestoreFlags(o *options, f *flagSet) {
	storeFlags(o, f)
	placeFlags(o, f)
	originFlags(o, f)
}

func fetchForRestore(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (backup.Laid, error) {
		return backup.Lay(ctx, backup.LayOptions{Transfer: transfer, Place: o.place, Origin: o.origin})
	})
}
