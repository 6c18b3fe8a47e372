package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

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
