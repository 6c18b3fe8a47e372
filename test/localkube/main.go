// Command localkube runs a real Kubernetes of several nodes on one Linux machine, for tests: real kubelets, real
// containers, real etcd behind the API server, on hosts that are network namespaces. It needs no image from outside and
// no Docker. README.md says how it is restored out.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		// What ran has said what was wrong, and its code is the answer.
		os.Exit(exit.ExitCode())
	default:
		_, _ = fmt.Fprintln(os.Stderr, "localkube:", err)
		os.Exit(1)
	}
}
