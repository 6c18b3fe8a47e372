package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func holdFlags(*options, *flagSet) {}

// hold does nothing until it is told to stop. Its Pod is what counts: a node took it by the rules of a member whose
// data is restored, and mounted that member's volume.
func hold(ctx context.Context, _ *options, _ *backup.Progress) (any, error) {
	<-ctx.Done()
	return struct{}{}, nil
}
