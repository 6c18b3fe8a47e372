// Command agent runs the steps of a backup inside the Pod of its Job: snapshot, fetch, compare; those of a restore:
// preflight, fetch-for-restore, activate; those of a restore from a member that is left: stream-survivor, read-survivor,
// activate-survivor; and prune, which removes backups. Each step ends with one line of JSON in the termination message: what it
// found, or {"reason","message"} and exit code 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // an image that is nothing but this program has no authorities of its own

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// version is set when the program is linked.
var version = "dev"

// memoryTarget makes the collector work harder instead of taking more: an upload's parts are 20 MiB of it.
const memoryTarget = 48 << 20

// stopGrace is how long a step that was told to stop, or that stands still, may take to tidy up. What hangs in the kernel,
// such as a write to a volume whose server is away, does not hear of it at all.
const stopGrace = 20 * time.Second

func main() {
	debug.SetMemoryLimit(memoryTarget)
	syscall.Umask(0o077) // what is written here is everything the cluster holds
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// work is a subcommand. What it returns is the termination message.
type work func(ctx context.Context, o *options, progress *backup.Progress) (any, error)

// steps are those of a backup.
var steps = map[string]work{
	"snapshot": snapshot,
	"fetch":    fetch,
	"compare":  compare,
}

// Exit codes: a step that failed may succeed when it is run again; one that was called wrongly will not.
const (
	exitFailed = 1
	exitUsage  = 2
)

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
	stalled := make(chan error, 1)
	progress := &backup.Progress{OnStall: func(err error) {
		select {
		case stalled <- err:
		default:
		}
	}}
	stopServing, err := serveProgress(o.progressAddress, progress)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err) // a backup without a visible progress is a backup
	} else {
		defer stopServing()
	}
	result, err := within(ctx, stalled, func() (any, error) { return stepNamed(o.step)(ctx, o, progress) })
	if err != nil {
		report(stdout, o, failure(ctx, err))
		return exitFailed
	}
	report(stdout, o, result)
	return 0
}

// within waits for a step, and after the context has ended or its bytes stood still no longer than stopGrace.
func within(ctx context.Context, stalled <-chan error, step func() (any, error)) (any, error) {
	type outcome struct {
		result any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := step()
		done <- outcome{result, err}
	}()
	var why error
	select {
	case o := <-done:
		return o.result, o.err
	case why = <-stalled:
	case <-ctx.Done():
		why = fmt.Errorf("stop: %w", context.Cause(ctx))
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-time.After(stopGrace):
		return nil, why
	}
}

func snapshot(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	tlsConfig, err := backup.ReadTLS(o.tlsDir)
	if err != nil {
		return nil, err
	}
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	return backup.Take(ctx, backup.TakeOptions{
		Identity: o.identity, Endpoints: o.endpoints, TLS: tlsConfig,
		Bucket: bucket, Scratch: o.scratch, Verify: o.verify, Stall: o.stall, Progress: progress,
	})
}

func fetch(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	options := backup.FetchOptions{Bucket: bucket, Scratch: o.scratch, Stall: o.stall, Progress: progress}
	if o.newest {
		return backup.FetchNewest(ctx, o.newestOf, options)
	}
	return backup.Fetch(ctx, options)
}

func compare(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	options := backup.CompareOptions{Scratch: o.scratch, Stall: o.stall, Progress: progress}
	if o.proofOnly {
		return backup.Compare(ctx, options)
	}
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	options.Bucket = bucket
	return backup.Compare(ctx, options)
}
