// Command kubectl-etcd_steward is a plugin of kubectl: `kubectl etcd-steward status demo`. It reads and writes objects
// of the API server alone. It runs nothing inside a Pod, talks to no etcd, and reads no Secret.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// version is set when the program is linked.
var version = "dev"

// Exit codes.
const (
	exitFailed       = 1
	exitNotAvailable = 2
)

// errNotAvailable ends `status` of a cluster that does not serve, after the page has said so.
var errNotAvailable = errors.New("the cluster is not available")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], program{connect: connect, out: os.Stdout, errOut: os.Stderr}))
}

// program is what all commands share.
type program struct {
	flags       *genericclioptions.ConfigFlags
	connect     func(*genericclioptions.ConfigFlags) (*session, error)
	out, errOut io.Writer
}

func run(ctx context.Context, args []string, p program) int {
	root := p.root() //nolint:contextcheck // cobra hands the context on to each command
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNotAvailable):
		return exitNotAvailable
	}
	fmt.Fprintln(p.errOut, "error:", err)
	return exitFailed
}

// root is the command above all others, with kubectl's own flags.
func (p program) root() *cobra.Command {
	p.flags = genericclioptions.NewConfigFlags(true)
	root := &cobra.Command{
		Use:           "kubectl-etcd_steward",
		Short:         "See, report, back up and restart etcd clusters of etcd-steward",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcd-steward"},
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	p.flags.AddFlags(root.PersistentFlags())
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	root.AddCommand(p.statusCommand(), p.reportCommand(), p.backupCommand(), p.restartCommand(), p.versionCommand())
	return root
}

func (p program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this plugin", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, version)
			return err
		},
	}
}

// oneCluster is what each command takes that is about a cluster.
func oneCluster(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one EtcdCluster, and got %d names. "+
			"`kubectl get etcd` lists the clusters of the namespace", c.CommandPath(), len(args))
	}
	return nil
}
