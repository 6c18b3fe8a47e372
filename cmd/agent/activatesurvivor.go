package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func activateSurvivorFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	survivorFlags(o, f)
}

func activateSurvivor(_ context.Context, o *options, _ *backup.Progress) (any, error) {
	return backup.ActivateSurvivor(o.place, o.survivor)
}
