package main

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// options are the flags of a step.
type options struct {
	step            string
	verify          bool         // of snapshot
	newest          bool         // of fetch
	newestOf        backup.Whose // of fetch
	proofOnly       bool         // of compare
	scratch         string
	terminationLog  string
	progressAddress string
	stall           time.Duration

	store        store.Config
	storeOptions store.Options

	tlsDir      string
	endpoints   []backup.Endpoint
	identity    backup.Identity
	etcdVersion string

	restore restoreOptions
	prune   pruneOptions
}

const usage = "usage: agent snapshot|fetch|compare|prune|preflight|fetch-for-restore|activate|stream-survivor|read-survivor|activate-survivor --flag=value…"

// raw are flags that need more than their type to be read.
type raw struct{ store, endpoints, clusterID, memberID, latestOf, timeZone, notAfter string }

func parseOptions(args []string) (*options, error) {
	o := &options{terminationLog: defaultTerminationLog}
	if len(args) == 0 {
		return o, errors.New(usage)
	}
	o.step = args[0]
	if stepNamed(o.step) == nil {
		return o, fmt.Errorf("%q is not a step; %s", o.step, usage)
	}
	var r raw
	flags := o.flags(&r)
	if err := flags.Parse(args[1:]); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.stall < time.Second {
		return o, fmt.Errorf("--stall=%s: want 1s or more", o.stall)
	}
	o.storeOptions.Stall = o.stall
	return o, o.read(r)
}

func (o *options) flags(r *raw) *flag.FlagSet {
	flags := flag.NewFlagSet("agent "+o.step, flag.ContinueOnError)
	flags.StringVar(&o.terminationLog, "termination-log", defaultTerminationLog, "File for the result; empty: none.")
	flags.StringVar(&o.progressAddress, "progress-address", ":8099", "Where GET /progress is served; empty: nowhere.")
	flags.DurationVar(&o.stall, "stall", 30*time.Second, "How long bytes may stand still.")
	if restoreSteps[o.step] != nil {
		o.restoreFlags(flags, r)
		return flags
	}
	if o.step == stepPrune {
		o.pruneFlags(flags, r)
		return flags
	}
	flags.StringVar(&o.scratch, "scratch", "/scratch", "Directory that the steps share.")
	o.storeFlags(flags, r)
	switch o.step {
	case "fetch":
		flags.BoolVar(&o.newest, "newest", false, "Fetch the newest backup of the cluster that is named, instead of the one that was just taken.")
		whoseFlags(flags, &o.newestOf)
	case "compare":
		flags.BoolVar(&o.proofOnly, "proof-only", false, "Prove it, and write nothing to the store.")
	case "snapshot":
		o.snapshotFlags(flags, r)
	}
	return flags
}

func (o *options) snapshotFlags(flags *flag.FlagSet, r *raw) {
	flags.BoolVar(&o.verify, "verify", true, "The manifest is left to compare, which writes it once the backup is proven.")
	flags.StringVar(&r.endpoints, "endpoints", "", "All members: name=url,name=url.")
	flags.StringVar(&o.tlsDir, "tls-dir", "", "Directory of ca.crt, tls.crt and tls.key for etcd; empty: plain HTTP.")
	flags.StringVar(&r.clusterID, "cluster-id", "", "etcd's ID of the cluster, hexadecimal; empty: not known.")
	flags.StringVar(&o.identity.ClusterNamespace, "cluster-namespace", "", "Namespace of the cluster.")
	flags.StringVar(&o.identity.ClusterName, "cluster-name", "", "Name of the cluster.")
	flags.StringVar(&o.identity.ClusterUID, "cluster-uid", "", "UID of the cluster's object.")
	flags.Int64Var(&o.identity.Incarnation, "incarnation", 0, "Incarnation of the cluster.")
	flags.StringVar(&o.identity.BackupUID, "backup-uid", "", "UID of the backup's object.")
	flags.StringVar(&o.identity.Schedule, "schedule", "", "Name of the schedule that makes the backup; empty: somebody makes it by hand.")
}

func (o *options) storeFlags(flags *flag.FlagSet, r *raw) {
	flags.StringVar(&r.store, "store", "", "The store as JSON.")
	flags.StringVar(&o.storeOptions.CredentialsDir, "credentials-dir", "", "Directory of the store's credentials; empty: the environment's.")
	flags.StringVar(&o.storeOptions.CAFile, "store-ca", "", "PEM file of the authorities of the store's certificate; empty: the system's.")
	flags.StringVar(&o.storeOptions.VolumeRoot, "volume-root", "/backups", "Where the volume of a volume store is mounted.")
}

// nameText is what a part of an object's key may be.
var nameText = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$`)

func (o *options) read(r raw) error {
	if restoreSteps[o.step] != nil {
		return o.readRestore(r)
	}
	if o.step == stepPrune {
		return o.readPrune(r)
	}
	if o.proofOnly {
		return nil
	}
	var err error
	if o.store, err = store.ParseConfig([]byte(r.store)); err != nil {
		return err
	}
	switch {
	case o.newest:
		return checkWhose(o.newestOf)
	case o.step != "snapshot":
		return nil
	}
	return o.readSnapshot(r)
}

func (o *options) readSnapshot(r raw) error {
	var err error
	if o.endpoints, err = backup.ParseEndpoints(r.endpoints); err != nil {
		return err
	}
	if r.clusterID != "" {
		if o.identity.ClusterID, err = etcdutil.ParseID(r.clusterID); err != nil {
			return err
		}
	}
	names := map[string]string{
		"cluster-namespace": o.identity.ClusterNamespace,
		"cluster-name":      o.identity.ClusterName,
		"cluster-uid":       o.identity.ClusterUID,
		"backup-uid":        o.identity.BackupUID,
	}
	if o.identity.Schedule != "" {
		names["schedule"] = o.identity.Schedule
	}
	return checkNames(names)
}

// checkNames refuses what cannot be a part of an object's key, by the flag that it came with.
func checkNames(values map[string]string) error {
	for flagName, value := range values {
		if !nameText.MatchString(value) {
			return fmt.Errorf("--%s=%q is not a name", flagName, value)
		}
	}
	return nil
}
