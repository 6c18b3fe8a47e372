package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

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
