package main

import (
	"context"
	"errors"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func streamSurvivorFlags(o *options, f *flagSet) {
	placeFlags(o, f)
	survivorFlags(o, f)
	survivorBumpFlag(o, f)
	memberFlags(o, f)
	f.check(func() error {
		if f.Lookup("cluster-id").Value.String() == "" {
			return errors.New("--cluster-id: want etcd's ID of the cluster")
		}
		if len(o.endpoints) != 1 || o.endpoints[0].Name != o.survivor {
			return errors.New("want one endpoint, of the survivor")
		}
		return nil
	})
}

// survivorBumpFlag is checked here: no origin is.
func survivorBumpFlag(o *options, f *flagSet) {
	bumpFlag(o, f)
	f.check(func() error {
		if o.origin.BumpRevision < 0 {
			return errors.New("--bump-revision: want no bump below zero")
		}
		return nil
	})
}

// streamSurvivor restores what a member holds that runs.
func streamSurvivor(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	tlsConfig, err := backup.ReadTLS(o.tlsDir)
	if err != nil {
		return nil, err
	}
	return backup.LaySurvivor(ctx, backup.SurvivorOptions{
		Transfer: o.transfer(progress), Endpoint: o.endpoints[0], TLS: tlsConfig, ClusterID: o.clusterID,
		Place:        o.place,
		BumpRevision: o.origin.BumpRevision,
	})
}
