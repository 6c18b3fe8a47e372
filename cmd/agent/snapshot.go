package main

import (
	"context"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

// snapshotOptions are the flags of this step alone.
type snapshotOptions struct {
	verify      bool
	incarnation int64
	backupUID   string
}

// taken is what is said of a snapshot that went well.
type taken struct {
	backup.Manifest
	Unconditional bool `json:"unconditional,omitempty"` // the store knows no conditional writes
}

func snapshotFlags(o *options, f *flagSet) {
	scratchFlags(o, f)
	storeFlags(o, f)
	memberFlags(o, f)
	whoseFlags(o, f)
	f.BoolVar(&o.snapshot.verify, "verify", true,
		"The manifest is left to compare, which writes it once the backup is proven.")
	f.Int64Var(&o.snapshot.incarnation, "incarnation", 0, "Incarnation of the cluster.")
	f.StringVar(&o.snapshot.backupUID, "backup-uid", "", "UID of the backup's object.")
	f.check(o.checkWhose)
	f.check(func() error { return checkName("backup-uid", o.snapshot.backupUID) })
}

func snapshot(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	tlsConfig, err := backup.ReadTLS(o.tlsDir)
	if err != nil {
		return nil, err
	}
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (taken, error) {
		manifest, err := backup.Take(ctx, backup.TakeOptions{
			Identity: backup.Identity{
				ClusterNamespace: o.whose.Namespace, ClusterName: o.whose.Name, ClusterUID: o.whose.UID,
				ClusterID:   o.clusterID,
				Incarnation: o.snapshot.incarnation, BackupUID: o.snapshot.backupUID, Schedule: o.whose.Schedule,
			},
			Transfer: transfer, Endpoints: o.endpoints, TLS: tlsConfig, Scratch: o.scratch, Verify: o.snapshot.verify,
		})
		return taken{manifest, transfer.Bucket.IsUnconditional()}, err
	})
}
