// Bench measures how fast the operator is and what it costs, each figure against its floor in the same run: the same work
// done by a hand-written StatefulSet on the same nodes, judged by the same criterion, the two taking turns. `make bench`
// brings up what it needs and runs it.
//
//	E2E_KUBECONFIG=$(bin/localkube kubeconfig) LOCALKUBE=bin/localkube go run ./test/bench -figures volumes -runs 5
//	make bench FLAGS="-figures backup -database 100Mi -databases 100Mi -runs 1"
//
// It ends with a table of every figure beside its target, and writes the same with every single sample as JSON. It exits with 1 when
// a figure misses its target, unless -report asks for the table alone, and when something could not be measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are what the command line asks for.
type options struct {
	runs    int
	settle  time.Duration // how long the settled cluster is watched
	timeout time.Duration
	idle    time.Duration // how long each sample waits for an idle machine
	json    string
	report  bool // a missed target is no error
	groups  []string
	verbose bool

	database  int64   // bytes, for the rates of backups and restores
	databases []int64 // for the memory that a backup takes
	keys      int     // small ones, for the same; 0 for none
}

// group is a set of figures that are measured together.
type group struct {
	name    string
	measure func(context.Context, *bench) error
}

// groups of figures that share clusters, in the order in which they are measured.
var groups = []group{
	{"creation", measureCreations},
	{"volumes", measureVolumes},
	{"starts", measureStarts},
	{"ephemeral", measureEphemeral},
	{"roll", measureRoll},
	{"minors", measureMinors},
	{"service", measureServiceRolls},
	{"ca", measureCARolls},
	{"cuts", measureServiceCuts},
	{"eviction", measureEvictions},
	{"growth", measureGrowth},
	{"replacement", measureReplacement},
	{"moves", measureMoves},
	{"fleet", measureFleet},
	{"settled", measureSettled},
	{"clients", measureClients},
	{"flood", measureFlood},
	{"room", measureRoom},
	{"backup", measureBackups},
}

// groupNames are what -figures may name.
func groupNames() []string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	return names
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the namespaces to go
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench: failed:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var figures, database, databases string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.runs, "runs", 5, "how often each side is measured")
	flags.DurationVar(&o.settle, "settle", 10*time.Minute, "how long the settled cluster is watched under load")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Hour, "how long all of it may take")
	flags.DurationVar(&o.idle, "idle", 90*time.Second, "how long each sample waits for the machine to be idle; 0 to see that it works at all")
	flags.StringVar(&o.json, "json", "bin/bench.json", "the file to write the result to")
	flags.BoolVar(&o.report, "report", false, "only show which figures miss their targets; do not fail for it")
	flags.StringVar(&figures, "figures", strings.Join(groupNames(), ","), "what to measure")
	flags.StringVar(&database, "database", "1Gi", "the size of the database whose backup and restore are timed")
	flags.StringVar(&databases, "databases", "100Mi,1Gi,4Gi", "the sizes of databases at which the memory of a backup is looked at")
	flags.IntVar(&o.keys, "keys", 4_000_000, "the number of small keys at which the memory of a backup is looked at; 0 for none")
	flags.BoolVar(&o.verbose, "v", false, "show when each Pod got how far in every sample")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.database, err = parseSize(database); err != nil {
		return o, err
	}
	for size := range strings.SplitSeq(databases, ",") {
		bytes, err := parseSize(size)
		if err != nil {
			return o, err
		}
		o.databases = append(o.databases, bytes)
	}
	o.groups = strings.Split(figures, ",")
	for _, name := range o.groups {
		if !slices.Contains(groupNames(), name) {
			return o, fmt.Errorf("there is no figure %q, but %s", name, strings.Join(groupNames(), ", "))
		}
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	cluster, err := connect(ctx)
	if err != nil {
		return err
	}
	b := &bench{options: o, kube: cluster, began: time.Now(), loadBefore: loadAverage()}
	if err := cluster.sweep(ctx); err != nil {
		return err
	}
	defer func() { _ = cluster.sweep(context.WithoutCancel(ctx)) }()
	var failed error
	for _, g := range groups {
		if slices.Contains(o.groups, g.name) && failed == nil {
			failed = g.measure(ctx, b)
		}
	}
	result := b.result()
	if err := result.write(o.json); err != nil {
		return err
	}
	result.print(os.Stdout)
	if failed == nil && !o.report {
		failed = result.missed()
	}
	return failed
}
