package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

type ctlOptions struct {
	member        string
	operator, yes bool
}

func (p program) ctlCommand() *cobra.Command {
	var o ctlOptions
	c := &cobra.Command{
		Use: "ctl CLUSTER -- ARGUMENT...", Short: "Run etcdctl with the endpoints and certificates of a cluster",
		Args: ctlArguments,
		Example: "  kubectl etcd-steward ctl demo -- endpoint status -w table\n" +
			"  kubectl etcd-steward ctl demo -- get greeting\n" +
			"  kubectl etcd-steward ctl demo -- snapshot save demo.db",
		Long: "Runs etcdctl on this machine, which is a part of this plugin, and leads it to a member as " +
			"`kubectl port-forward` does. It connects with the certificate of the Secret that clients share. The " +
			"certificate and its key stay in memory. `endpoint` and `move-leader` ask all members, and other " +
			"commands ask one that is ready. The exit code is that of etcdctl. What the operator does by itself is " +
			"refused, unless you add --yes.",
		RunE: func(c *cobra.Command, args []string) error {
			s, err := p.connect(p.flags)
			if err != nil {
				return err
			}
			return p.ctl(c.Context(), s, args, o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.member, "member", "", "Ask this member alone.")
	flags.BoolVar(&o.operator, "operator", false,
		"Connect with the operator's certificate: the user root, where authentication is on.")
	flags.BoolVar(&o.yes, "yes", false, "Run also what the operator does by itself, or what is seldom meant.")
	_ = c.RegisterFlagCompletionFunc("member", // the flag is there
		func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return p.completing(namesThere["MEMBER"])(c, nil, typed)
		})
	return c
}

// ctlArguments wants the dashes: flags before them are of this plugin, and those after them of etcdctl.
func ctlArguments(c *cobra.Command, args []string) error {
	if c.ArgsLenAtDash() != 1 || len(args) == 1 {
		return fmt.Errorf("%[1]s takes the name of one EtcdCluster, then --, and then what etcdctl takes: `%[1]s demo "+
			"-- member list`", c.CommandPath())
	}
	return nil
}

// ctl runs etcdctl on members of a cluster. The first argument is the cluster, and the others are etcdctl's.
func (p program) ctl(ctx context.Context, s *session, args []string, o ctlOptions) error {
	c, err := s.cluster(ctx, args[0])
	if err != nil {
		return err
	}
	typed, err := o.judge(c, args[1:])
	if err != nil {
		return err
	}
	pods, err := s.runningMembers(ctx, c, o.member)
	if err != nil {
		return err
	}
	secure, err := s.clientTLS(ctx, c, o.operator)
	if err != nil {
		return err
	}
	to := reach{session: s, cluster: c, secure: secure}
	if pods, err = to.choose(ctx, pods, asksAll(typed), p.errOut); err != nil {
		return err
	}
	sockets, err := to.open(context.WithoutCancel(ctx), pods) // etcdctl may have to tidy up after Ctrl-C
	if err != nil {
		return err
	}
	defer sockets.close()
	return p.etcdctl(ctx, append([]string{"--endpoints=" + strings.Join(sockets.urls, ",")}, typed...))
}

// asksAll reports what etcdctl has to ask of all members: how each one is, and where the leader is among them.
func asksAll(typed []string) bool {
	words, _ := wordsOf(typed)
	return means(words, "endpoint") || means(words, "move-leader")
}

// runningMembers are the Pods whose etcd runs, those that are ready first, or the one of a member.
func (s *session) runningMembers(ctx context.Context, c *v1alpha1.EtcdCluster, member string) ([]corev1.Pod, error) {
	var all corev1.PodList
	err := s.list(ctx, c.Namespace, &all, client.MatchingLabels(resources.MemberSelector(c.Name)))
	if err != nil {
		return nil, err
	}
	running := slices.DeleteFunc(all.Items, func(pod corev1.Pod) bool {
		return !isRunning(&pod) || member != "" && pod.Name != member
	})
	slices.SortStableFunc(running, func(a, b corev1.Pod) int { return rank(&a) - rank(&b) })
	switch {
	case len(running) > 0:
		return running, nil
	case member != "" && !slices.Contains(memberNames(c), member):
		return nil, fmt.Errorf("EtcdCluster %s has no member %s. It has: %s", c.Name, member,
			strings.Join(memberNames(c), ", "))
	case member != "":
		return nil, fmt.Errorf("etcd does not run in member %s. `kubectl etcd-steward status %s` says why", member,
			named(c))
	}
	return nil, fmt.Errorf("no member of EtcdCluster %s runs. `kubectl etcd-steward status %s` says why", c.Name,
		named(c))
}

func isRunning(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == etcdContainer && c.State.Running != nil
	})
}

// rank is lower for a Pod that is ready.
func rank(pod *corev1.Pod) int {
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}) {
		return 0
	}
	return 1
}

// takesTLS reports that all members take TLS, as the operator says. Before it says anything, the spec does.
func takesTLS(c *v1alpha1.EtcdCluster) bool {
	if len(c.Status.Endpoints) == 0 {
		return c.Spec.IsTLS()
	}
	return strings.HasPrefix(c.Status.Endpoints[0], "https:")
}

// clientTLS is how clients connect, or the operator; nil without TLS. What it reads stays in memory.
func (s *session) clientTLS(ctx context.Context, c *v1alpha1.EtcdCluster, operator bool) (*tls.Config, error) {
	name := resources.ClientSecret(c.Name)
	switch {
	case operator && !takesTLS(c):
		return nil, errors.New("members take no TLS now, so the operator has no certificate: leave out --operator")
	case operator:
		name = resources.OperatorSecret(c.Name)
	case !takesTLS(c):
		return nil, nil
	}
	var secret corev1.Secret
	err := s.get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Secret %s. The operator makes it: `kubectl etcd-steward status %s` says "+
			"what it waits for", name, named(c))
	}
	if err != nil {
		return nil, err
	}
	config, err := pki.ClientTLS(secret.Data[resources.KeyCA],
		pki.Pair{Cert: secret.Data[resources.KeyCert], Key: secret.Data[resources.KeyKey]})
	if err != nil {
		return nil, fmt.Errorf("the Secret %s cannot be used: %w", name, err)
	}
	config.NextProtos = []string{"h2"} // as gRPC asks for
	return config, nil
}
