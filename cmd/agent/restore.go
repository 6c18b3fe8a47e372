package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// preflightOptions are the flags of this step alone.
type preflightOptions struct {
	latestOf    backup.Whose
	etcdVersion etcdutil.Version
	volumeBytes int64
	sha256      string
}

func preflightFlags(o *options, f *flagSet) {
	storeFlags(o, f)
	scratchFlags(o, f)
	keyFlag(o, f)
	latestOf := f.String("latest-of", "", "Instead of a key: the newest backup of the cluster namespace/name.")
	etcdVersion := f.String("etcd-version", "", "Version that is to run on the restored data.")
	f.StringVar(&o.preflight.latestOf.UID, "latest-uid", "",
		"With latest-of: UID of the cluster's object; empty: the only one of that name.")
	f.StringVar(&o.preflight.sha256, "expect-sha256", "",
		"With key: SHA-256 that the snapshot has to have, hexadecimal; empty: any.")
	f.Int64Var(&o.preflight.volumeBytes, "volume-bytes", 0, "Size of each member's volume; 0: not known.")
	f.check(func() (err error) {
		if (*latestOf == "") == (o.origin.Key == "") {
			return errors.New("want exactly one of --key and --latest-of")
		}
		if o.preflight.etcdVersion, err = etcdutil.ParseVersion(*etcdVersion); err != nil {
			return fmt.Errorf("--etcd-version: %w", err)
		}
		if *latestOf == "" {
			return nil
		}
		return o.preflight.readLatestOf(*latestOf)
	})
}

func (p *preflightOptions) readLatestOf(text string) error {
	whose := &p.latestOf
	whose.Namespace, whose.Name, _ = strings.Cut(text, "/")
	if !nameText.MatchString(whose.Namespace) || !nameText.MatchString(whose.Name) {
		return fmt.Errorf("--latest-of=%q is not namespace/name", text)
	}
	if whose.UID != "" && !nameText.MatchString(whose.UID) {
		return fmt.Errorf("--latest-uid=%q is not a UID", whose.UID)
	}
	return nil
}

func preflight(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (backup.Found, error) {
		return backup.Preflight(ctx, backup.PreflightOptions{
			Transfer: transfer, Key: o.origin.Key, SHA256: o.preflight.sha256, LatestOf: o.preflight.latestOf,
			Version: o.preflight.etcdVersion, VolumeBytes: o.preflight.volumeBytes, Scratch: o.scratch,
		})
	})
}
