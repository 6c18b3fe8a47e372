// Command agent runs the steps of a backup inside the Pod of its Job: snapshot, fetch, compare; those of a restore:
// preflight, fetch-for-restore, activate, hold; those of a restore from a surviving member: stream-survivor,
// read-survivor, activate-survivor; prune, which removes backups; and disk, which measures one for the kubectl plugin.
// Each step has a file of its own. It ends with one line of JSON in the termination message: what it found, or
// {"reason","message"} and exit code 1. A person runs list and inspect, without any Kubernetes; what they print is for
// reading.
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
	_ "time/tzdata" // the image has no time zones of its own

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
		logWhole(o, err)
		report(stdout, o, failure(ctx, err))
		return exitFailed
	}
	report(stdout, o, result)
	return 0
}

// options are what the flags say that many steps have, and what the step does by its own.
type options struct {
	step            step
	work            work
	terminationLog  string
	progressAddress string
	format          string // of what is printed for a person: text or json
	stall           time.Duration
	store           store.Config
	storeOptions    store.Options
}

// flagSet are the flags of one call. What the type of a flag does not refuse is checked once all of them are read.
type flagSet struct {
	*flag.FlagSet
	*options

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
	f := &flagSet{FlagSet: flag.NewFlagSet("agent "+o.step.name, flag.ContinueOnError), options: o}
	if o.step.isForPeople {
		f.StringVar(&o.format, "o", "text", "What is printed: text or json.")
		f.check(func() error {
			if o.format != "text" && o.format != "json" {
				return fmt.Errorf("-o %s: want text or json", o.format)
			}
			return nil
		})
	} else {
		f.StringVar(&o.terminationLog, "termination-log", defaultTerminationLog, "File for the result; empty: none.")
		f.StringVar(&o.progressAddress, "progress-address", ":8099", "Where GET /progress is served; empty: nowhere.")
	}
	f.DurationVar(&o.stall, "stall", 30*time.Second, "How long bytes may stand still.")
	f.check(func() error {
		if o.stall < time.Second {
			return fmt.Errorf("--stall=%s: want 1s or more", o.stall)
		}
		o.storeOptions.Stall = o.stall
		return nil
	})
	o.work = o.step.prepare(f)
	return f
}

func always() bool { return true }

// storeFlags name the store, and what it is reached with.
func (f *flagSet) storeFlags() { f.storeFlagsIf(always) }

// storeFlagsIf are for a step that can do without a store.
func (f *flagSet) storeFlagsIf(isNeeded func() bool) {
	text := f.String("store", "", "The store as JSON.")
	f.StringVar(&f.storeOptions.CredentialsDir, "credentials-dir", "",
		"Directory of the store's credentials; empty: the environment's.")
	if !f.step.isForPeople {
		f.StringVar(&f.storeOptions.CredentialsSecret, "credentials-secret", "",
			"Name of the Secret that is mounted there, for messages; empty: of none.")
	}
	f.StringVar(&f.storeOptions.CAFile, "store-ca", "",
		"PEM file of the CAs that the store's certificate is checked with; empty: the system's.")
	f.StringVar(&f.storeOptions.VolumeRoot, "volume-root", "/backups", "Where the volume of a volume store is mounted.")
	f.check(func() (err error) {
		if isNeeded() {
			f.store, err = store.ParseConfig([]byte(*text))
		}
		return err
	})
}

func (f *flagSet) scratchFlag(dir *string) {
	f.StringVar(dir, "scratch", "/scratch", "Directory that the steps share.")
}

func (f *flagSet) clusterFlags(whose *backup.Whose) {
	f.StringVar(&whose.Namespace, "cluster-namespace", "", "Namespace of the cluster.")
	f.StringVar(&whose.Name, "cluster-name", "", "Name of the cluster.")
	f.StringVar(&whose.UID, "cluster-uid", "", "UID of the cluster's object: backups of other clusters are ignored.")
}

// whoseFlags name the schedule as well, and all of them have to be names where they are needed.
func (f *flagSet) whoseFlags(whose *backup.Whose, isNeeded func() bool) {
	f.clusterFlags(whose)
	f.StringVar(&whose.Schedule, "schedule", "",
		"Name of the schedule that makes the backups; empty: no schedule does, or any.")
	f.check(func() error {
		if !isNeeded() {
			return nil
		}
		return errors.Join(
			checkName("cluster-namespace", whose.Namespace),
			checkName("cluster-name", whose.Name),
			checkName("cluster-uid", whose.UID),
			checkIfGiven("schedule", whose.Schedule),
		)
	})
}

// members are those that are asked, and how.
type members struct {
	endpoints []backup.Endpoint
	clusterID etcdutil.ID // 0: not known
	tlsDir    string
}

func (f *flagSet) memberFlags(m *members) {
	endpoints := f.String("endpoints", "", "The members: name=url,name=url.")
	clusterID := f.String("cluster-id", "", "etcd's ID of the cluster, hexadecimal; empty: not known.")
	f.StringVar(&m.tlsDir, "tls-dir", "", "Directory of ca.crt, tls.crt and tls.key for etcd; empty: plain HTTP.")
	f.check(func() (err error) {
		if *clusterID != "" {
			if m.clusterID, err = etcdutil.ParseID(*clusterID); err != nil {
				return fmt.Errorf("--cluster-id: %w", err)
			}
		}
		m.endpoints, err = backup.ParseEndpoints(*endpoints)
		return err
	})
}

func (f *flagSet) placeFlags(place *backup.Place) {
	f.StringVar(&place.Volume, "volume", "/var/lib/etcd", "Where the member's volume is mounted.")
	f.StringVar(&place.WAL, "wal-volume", "", "Where the volume of its write-ahead log is mounted; empty: it has none.")
	f.StringVar(&place.Incarnation, "incarnation", "", "Incarnation that the data is for.")
	f.StringVar(&place.Member, "member", "", "Name of the member.")
	f.check(func() error { return place.Check() })
}

func (f *flagSet) keyFlag(key *string) { f.StringVar(key, "key", "", "Key of the snapshot.") }

func (f *flagSet) bumpFlag(bump *int64) {
	f.Int64Var(bump, "bump-revision", 0, "By how much etcdutl raises the revision.")
}

func (f *flagSet) originFlags(origin *backup.Origin) {
	f.keyFlag(&origin.Key)
	f.bumpFlag(&origin.BumpRevision)
	f.StringVar(&origin.SHA256, "sha256", "", "SHA-256 of the snapshot, hexadecimal.")
	f.Int64Var(&origin.SizeBytes, "size-bytes", 0, "Size of the snapshot.")
	f.Int64Var(&origin.Revision, "revision", 0, "Revision of the snapshot.")
	f.check(func() error { return origin.Check() })
}

func (f *flagSet) survivorFlag(name *string) {
	f.StringVar(name, "survivor", "", "Name of the surviving member.")
	f.check(func() error { return checkName("survivor", *name) })
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

func (f *flagSet) timeFlag(into *time.Time, name, usage string) {
	text := f.String(name, "", usage)
	f.check(func() (err error) {
		if *text == "" {
			return nil
		}
		if *into, err = time.Parse(time.RFC3339, *text); err != nil {
			return fmt.Errorf("--%s=%q is not a time", name, *text)
		}
		return nil
	})
}

func collect(into *[]string) func(string) error {
	return func(value string) error {
		*into = append(*into, value)
		return nil
	}
}
