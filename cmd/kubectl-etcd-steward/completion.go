package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// completer begins the name under which kubectl runs what completes a plugin
// (kubernetes/kubectl:pkg/cmd/plugin/plugin_completion.go). A link of that name to this program is enough.
const completer = "kubectl_complete-"

// argumentsOf are the arguments of the program, which completes if its name says so.
func argumentsOf(called []string) []string {
	if strings.HasPrefix(filepath.Base(called[0]), completer) {
		return append([]string{cobra.ShellCompRequestCmd}, called[1:]...)
	}
	return called[1:]
}

// shells are those that a script can be written for.
var shells = map[string]func(*cobra.Command, io.Writer) error{
	"bash":       func(c *cobra.Command, out io.Writer) error { return c.GenBashCompletionV2(out, true) },
	"zsh":        (*cobra.Command).GenZshCompletion,
	"fish":       func(c *cobra.Command, out io.Writer) error { return c.GenFishCompletion(out, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
}

func (p program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a script by which a shell completes kubectl-etcd_steward",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || shells[args[0]] == nil {
				return errors.New("completion takes one shell: bash, zsh, fish or powershell")
			}
			return nil
		},
		Example: "  kubectl etcd-steward completion bash > ~/.kubectl-etcd_steward.bash\n" +
			"  kubectl etcd-steward completion zsh > ~/.zfunc/_kubectl-etcd_steward",
		Long: "The script completes commands, flags, and names of clusters, members and restores where you type " +
			"kubectl-etcd_steward. For `kubectl etcd-steward` kubectl's own completion does it. It looks for the " +
			"program kubectl_complete-etcd_steward, which is a link to this one.",
		RunE: func(c *cobra.Command, args []string) error { return shells[args[0]](c.Root(), p.out) },
	}
}

// answerWithin is how long a person who presses the key waits at most.
const answerWithin = 5 * time.Second

// complete gives each command below one what completes its argument, which the command's use names.
func (p program) complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		p.complete(c)
		argument := strings.Fields(c.Use + " -")[1]
		if c.ValidArgs == nil && argument != "FILE..." { // a shell completes files itself
			c.ValidArgsFunction = p.completing(namesThere[strings.Trim(argument, "[]")])
		}
	}
}

// completing completes one argument by the names that there are. Where they cannot be read, nothing is completed.
func (p program) completing(names func(context.Context, *session) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if names == nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := p.connect(p.flags)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), answerWithin)
		defer cancel()
		return names(ctx, s), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesThere are the names that an argument may have.
var namesThere = map[string]func(context.Context, *session) []string{
	"CLUSTER": func(ctx context.Context, s *session) []string {
		return clusterNames(s.clusters(ctx))
	},
	"MEMBER": func(ctx context.Context, s *session) []string {
		var names []string
		for _, c := range s.clusters(ctx) {
			names = append(names, memberNames(&c)...)
		}
		return names
	},
	"RESTORE": func(ctx context.Context, s *session) []string {
		var all v1alpha1.EtcdRestoreList
		_ = s.List(ctx, &all, client.InNamespace(s.namespace))
		return restoreNames(all.Items)
	},
}

// clusters are those of the namespace, or none.
func (s *session) clusters(ctx context.Context) []v1alpha1.EtcdCluster {
	var all v1alpha1.EtcdClusterList
	_ = s.List(ctx, &all, client.InNamespace(s.namespace))
	return all.Items
}

func clusterNames(clusters []v1alpha1.EtcdCluster) []string {
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = c.Name
	}
	return names
}

func restoreNames(restores []v1alpha1.EtcdRestore) []string {
	names := make([]string, len(restores))
	for i, r := range restores {
		names[i] = r.Name
	}
	return names
}
