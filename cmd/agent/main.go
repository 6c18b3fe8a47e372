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
	"runtime/debug"
	"syscall"

	// an image that is nothing but this program has no authorities of its own
	_ "golang.org/x/crypto/x509roots/fallback"
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
