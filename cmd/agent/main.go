// Command agent runs the steps of a backup inside the Pod of its Job: snapshot, fetch, compare; those of a restore:
// preflight, fetch-for-restore, activate, hold; those of a restore from a surviving member: stream-survivor,
// read-survivor, activate-survivor; and prune, which removes backups. Each step has a file of its own. It ends with one
// line of JSON in the termination message: what it found, or {"reason","message"} and exit code 1. A person runs list
// and inspect, without any Kubernetes; what they print is for reading.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"syscall"
	"time"

	// an image that is nothing but this program has no CAs of its own
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// version is set when the program is linked.
var version = "dev"

// memoryTarget makes the collector work harder instead of taking more: an upload's parts are 20 MiB of it.
const memoryTarget = 48 << 20

// Exit codes: a step that failed may succeed when it is run again; one that was called wrongly will not.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	debug.SetMemoryLimit(memoryTarget)
	syscall.Umask(0o077) // what is written here is everything the cluster holds
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

func run(ctx context.Context, args []string, stdout io.Writer) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintln(stdout, version)
		return 0
	}
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		report(stdout, o, failed{Reason: reasonUsage, Message: err.Error()})
		return exitUsage
	}
	result, err := runStep(ctx, o)
	if err != nil {
		report(stdout, o, failure(ctx, err))
		return exitFailed
	}
	report(stdout, o, result)
	return 0
}

// options are what the flags of a step say. The first group is of all steps, the second of several, the last of one
// each.
type options struct {
	step            step
	terminationLog  string
	progressAddress string
	stall           time.Duration

	store        store.Config
	storeOptions store.Options
	scratch      string
	whose        backup.Whose
	tlsDir       string
	endpoints    []backup.Endpoint
	clusterID    etcdutil.ID // 0: not known
	place        backup.Place
	origin       backup.Origin // of a preflight the key alone, or nothing
	survivor     string        // name of the surviving member

	snapshot  snapshotOptions
	newest    bool // of fetch
	proofOnly bool // of compare
	preflight preflightOptions
	ended     endedOptions // of read-survivor
	prune     pruneOptions
	file      string // of inspect
	format    string // of what is printed for a person: text or json
}

// flagSet are the flags of one call. What the type of a flag does not refuse is checked once all of them are read.
type flagSet struct {
	*flag.FlagSet
	checks []func() error
}

func (f *flagSet) check(rule func() error) { f.checks = append(f.checks, rule) }

// parseOptions reads the arguments of a call: the name of a step, and its flags.
func parseOptions(args []string) (*options, error) {
	o := &options{terminationLog: defaultTerminationLog}
	if len(args) == 0 {
		return o, errors.New(usage())
	}
	var err error
	if o.step, err = stepNamed(args[0]); err != nil {
		return o, err
	}
	f := flagsOf(o)
	if err := f.Parse(args[1:]); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, check := range f.checks {
		if err := check(); err != nil {
			return o, err
		}
	}
	return o, nil
}

// flagsOf are the flags of the step: those that every step has, and its own.
func flagsOf(o *options) *flagSet {
	f := &flagSet{FlagSet: flag.NewFlagSet("agent "+o.step.name, flag.ContinueOnError)}
	if o.step.isForPeople {
		formatFlag(o, f)
	} else {
		podFlags(o, f)
	}
	f.DurationVar(&o.stall, "stall", 30*time.Second, "How long bytes may stand still.")
	f.check(func() error {
		if o.stall < time.Second {
			return fmt.Errorf("--stall=%s: want 1s or more", o.stall)
		}
		o.storeOptions.Stall = o.stall
		return nil
	})
	o.step.flags(o, f)
	return f
}

// podFlags say how a step of a Pod tells what it does and what came of it.
func podFlags(o *options, f *flagSet) {
	f.StringVar(&o.terminationLog, "termination-log", defaultTerminationLog, "File for the result; empty: none.")
	f.StringVar(&o.progressAddress, "progress-address", ":8099", "Where GET /progress is served; empty: nowhere.")
}

// formatFlag says how a result is printed for a person.
func formatFlag(o *options, f *flagSet) {
	f.StringVar(&o.format, "o", "text", "What is printed: text or json.")
	f.check(func() error {
		if o.format != "text" && o.format != "json" {
			return fmt.Errorf("-o %s: want text or json", o.format)
		}
		return nil
	})
}

// storeFlags name the store, and what it is reached with.
func storeFlags(o *options, f *flagSet) {
	text := storeTextFlags(o, f)
	f.check(func() (err error) {
		if !o.proofOnly {
			o.store, err = store.ParseConfig([]byte(*text))
		}
		return err
	})
}

// storeTextFlags are storeFlags where the caller reads the text, if it needs a store.
func storeTextFlags(o *options, f *flagSet) *string {
	text := f.String("store", "", "The store as JSON.")
	f.StringVar(&o.storeOptions.CredentialsDir, "credentials-dir", "",
		"Directory of the store's credentials; empty: the environment's.")
	f.StringVar(&o.storeOptions.CAFile, "store-ca", "",
		"PEM file of the CAs that the store's certificate is checked with; empty: the system's.")
	f.StringVar(&o.storeOptions.VolumeRoot, "volume-root", "/backups", "Where the volume of a volume store is mounted.")
	return text
}

// scratchFlags name the directory through which the steps of a backup hand on what they have.
func scratchFlags(o *options, f *flagSet) {
	f.StringVar(&o.scratch, "scratch", "/scratch", "Directory that the steps share.")
}

// whoseFlags name the cluster whose backups are meant, and the schedule. checkWhose reads them.
func whoseFlags(o *options, f *flagSet) {
	clusterFlags(o, f)
	f.StringVar(&o.whose.Schedule, "schedule", "",
		"Name of the schedule that makes the backups; empty: no schedule does, or any.")
}

func clusterFlags(o *options, f *flagSet) {
	f.StringVar(&o.whose.Namespace, "cluster-namespace", "", "Namespace of the cluster.")
	f.StringVar(&o.whose.Name, "cluster-name", "", "Name of the cluster.")
	f.StringVar(&o.whose.UID, "cluster-uid", "", "UID of the cluster's object: backups of other clusters are ignored.")
}

func (o *options) checkWhose() error {
	return errors.Join(
		checkName("cluster-namespace", o.whose.Namespace),
		checkName("cluster-name", o.whose.Name),
		checkName("cluster-uid", o.whose.UID),
		checkIfGiven("schedule", o.whose.Schedule),
	)
}

// memberFlags say which members are asked, and how.
func memberFlags(o *options, f *flagSet) {
	endpoints := f.String("endpoints", "", "The members: name=url,name=url.")
	clusterID := f.String("cluster-id", "", "etcd's ID of the cluster, hexadecimal; empty: not known.")
	f.StringVar(&o.tlsDir, "tls-dir", "", "Directory of ca.crt, tls.crt and tls.key for etcd; empty: plain HTTP.")
	f.check(func() (err error) {
		if *clusterID != "" {
			if o.clusterID, err = etcdutil.ParseID(*clusterID); err != nil {
				return fmt.Errorf("--cluster-id: %w", err)
			}
		}
		o.endpoints, err = backup.ParseEndpoints(*endpoints)
		return err
	})
}

// placeFlags say which member's volume is restored.
func placeFlags(o *options, f *flagSet) {
	f.StringVar(&o.place.Volume, "volume", "/var/lib/etcd", "Where the member's volume is mounted.")
	f.StringVar(&o.place.Incarnation, "incarnation", "", "Incarnation that the data is for.")
	f.StringVar(&o.place.Member, "member", "", "Name of the member.")
	f.check(func() error { return o.place.Check() })
}

func keyFlag(o *options, f *flagSet) {
	f.StringVar(&o.origin.Key, "key", "", "Key of the snapshot.")
}

func bumpFlag(o *options, f *flagSet) {
	f.Int64Var(&o.origin.BumpRevision, "bump-revision", 0, "By how much etcdutl raises the revision.")
}

// originFlags say which backup is restored.
func originFlags(o *options, f *flagSet) {
	keyFlag(o, f)
	bumpFlag(o, f)
	f.StringVar(&o.origin.SHA256, "sha256", "", "SHA-256 of the snapshot, hexadecimal.")
	f.Int64Var(&o.origin.SizeBytes, "size-bytes", 0, "Size of the snapshot.")
	f.Int64Var(&o.origin.Revision, "revision", 0, "Revision of the snapshot.")
	f.check(func() error { return o.origin.Check() })
}

// survivorFlags name the member whose data is restored.
func survivorFlags(o *options, f *flagSet) {
	f.StringVar(&o.survivor, "survivor", "", "Name of the surviving member.")
	f.check(func() error { return checkName("survivor", o.survivor) })
}

// nameText is what a part of an object's key may be.
var nameText = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$`)

// checkName refuses what cannot be a part of an object's key, by the flag that it came with.
func checkName(flagName, value string) error {
	if !nameText.MatchString(value) {
		return fmt.Errorf("--%s=%q is not a name", flagName, value)
	}
	return nil
}

// checkIfGiven is checkName for a flag that may be left out.
func checkIfGiven(flagName, value string) error {
	if value == "" {
		return nil
	}
	return checkName(flagName, value)
}
