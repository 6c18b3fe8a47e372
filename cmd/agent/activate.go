package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func activateFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	originFlags(o, f)
}

func activate(_ context.Context, o *options, _ *backup.Progress) (any, error) {
	return backup.Activate(o.place, o.origin)
}
