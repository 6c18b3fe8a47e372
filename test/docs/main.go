// Docs runs the commands of the pages that users read, in their order, on a Kubernetes that runs the operator: a page whose
// command fails, or shows another table than it says, fails with its line. `make test-docs` brings up what it needs.
//
//	E2E_KUBECONFIG=$(bin/localkube kubeconfig) LOCALKUBE=bin/localkube go run ./test/docs -s3 bin/s3 docs/backup.md
//
// Without pages it takes README.md and all of docs. Each page has a namespace of its own, a terminal that lasts from its
// first command to its last, and an S3 server that stands for every one that the page names.
//
// # What of a page is run
//
//   - ```sh: everything in it, as one would paste it;
//   - ```console: what stands behind "$ ". What is shown below a command is an example, but for a table's head: the command
//     has to print these columns;
//   - ```yaml with apiVersion and kind is applied. If its first line is a comment with the name of a file, "# restore.yaml",
//     it is written to that file instead, for the commands that use it. Other YAML is a fragment and only has to be YAML;
//   - ```text, and everything else, is not.
//
// Paths are those of the repository. Credentials may be written as "…": access-key-id=… and secret-access-key=… become those
// of the server.
//
// # What a page may say about that, in comments that no reader sees
//
//	<!-- test skip: why the next block is not run -->
//	<!-- test expects: a regular expression that the output of the next block matches -->
//	<!-- test run:
//	commands that are run at this place: what the page takes for granted, and what it promises
//	-->
//
// A test without a cluster demands that each block is either run or says why not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.s3, "s3", "bin/s3", "the directory of versitygw, the S3 server")
	flag.StringVar(&o.host, "s3-host", "198.18.0.1", "the address by which Pods reach this machine; the default is localkube's")
	flag.DurationVar(&o.patience, "patience", 12*time.Minute, "how long one command may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "\ndocs: failed\n%v\n", err)
		os.Exit(1)
	}
}

// options are what the command line asks for.
type options struct {
	root, s3, host string
	patience       time.Duration
}

// run runs these pages, or all, and says in the last line what came of it.
func (o options) run(ctx context.Context, names []string) error {
	pages, err := readPages(o.root, names)
	if err != nil {
		return err
	}
	if o.root, err = filepath.Abs(o.root); err != nil { // commands run elsewhere
		return fmt.Errorf("finding the repository: %w", err)
	}
	cluster, err := connect()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "docs-")
	if err != nil {
		return fmt.Errorf("making a directory to work in: %w", err)
	}
	defer os.RemoveAll(dir)
	server, err := s3server.Run(ctx, s3server.Versitygw, s3server.Options{Host: o.host, TLS: true, Dir: filepath.Join(dir, "s3"), Binaries: o.s3})
	if err != nil {
		return err
	}
	defer server.Stop()
	var total tally
	var failed []string
	for i, p := range pages {
		t := &terminal{options: o, cluster: cluster, store: store{server.Access}, dir: filepath.Join(dir, fmt.Sprintf("page-%d", i))}
		did, err := t.read(ctx, p)
		total.add(did)
		if err != nil {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "\n\n"))
	}
	fmt.Printf("\ndocs: %s\n", total)
	return nil
}

// tally counts what was done with blocks and commands.
type tally struct{ pages, commands, applied, skipped int }

func (t *tally) add(o tally) {
	t.pages += o.pages
	t.commands += o.commands
	t.applied += o.applied
	t.skipped += o.skipped
}

func (t tally) String() string {
	return fmt.Sprintf("%d commands ran and %d manifests were applied, of %d pages; %d blocks say why they are not", t.commands, t.applied, t.pages, t.skipped)
}
