package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

type logOptions struct {
	since       time.Duration
	tail        int64
	follow, raw bool
	hasTail     bool // --tail was given
}

func (p program) logsCommand() *cobra.Command {
	var o logOptions
	c := &cobra.Command{
		Use: "logs CLUSTER", Short: "Show the logs of all members, merged by time", Args: oneCluster,
		Example: "  kubectl etcd-steward logs demo\n" +
			"  kubectl etcd-steward logs demo --since 10m\n" +
			"  kubectl etcd-steward logs demo --follow\n" +
			"  kubectl etcd-steward logs demo --tail 1000 --raw",
		Long: "Shows what etcd wrote in all members, as time, member, level, message and fields. A line that is no " +
			"JSON stays as it is. The time is that of the member's node. The exit code is 1 where the log of a " +
			"member could not be read.",
	}
	p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		o.hasTail = c.Flags().Changed("tail")
		if err := o.refuse(c.Flag("output").Value.String()); err != nil {
			return err
		}
		return s.showLogs(ctx, args[0], o, show)
	})
	flags := c.Flags()
	flags.DurationVar(&o.since, "since", 0, "Only lines that are not older, such as 10m; 0: of any age.")
	flags.Int64Var(&o.tail, "tail", 100,
		"How many of the last lines of each member are shown; -1: all. With --since alone: all.")
	flags.BoolVarP(&o.follow, "follow", "f", false, "Go on with new lines until Ctrl-C.")
	flags.BoolVar(&o.raw, "raw", false, "Print each line as etcd wrote it, and nothing else.")
	return c
}

// refuse says what of the command line cannot be.
func (o logOptions) refuse(format string) error {
	switch {
	case o.tail < -1:
		return fmt.Errorf("--tail is %d; it must be a number of lines, or -1 for all", o.tail)
	case o.since < 0:
		return fmt.Errorf("--since is %s; it must not be negative", o.since)
	case o.raw && format != "text":
		return fmt.Errorf("--raw prints lines as they are, and --output is %q: give one of the two", format)
	}
	return nil
}

// of is what the API server is asked for.
func (o logOptions) of() *corev1.PodLogOptions {
	asked := &corev1.PodLogOptions{Container: etcdContainer, Timestamps: true, Follow: o.follow}
	if o.since > 0 {
		seconds := max(1, int64(o.since.Seconds()))
		asked.SinceSeconds = &seconds
	}
	if o.tail >= 0 && (o.hasTail || o.since == 0) {
		asked.TailLines = &o.tail
	}
	return asked
}

// showLogs shows the lines of all members, the oldest first.
func (s *session) showLogs(ctx context.Context, name string, o logOptions, show show) error {
	if _, err := s.cluster(ctx, name); err != nil {
		return err
	}
	var pods corev1.PodList
	err := s.list(ctx, s.namespace, &pods, client.MatchingLabels{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelInstance: name})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var streams []*stream
	var failed []error
	for _, pod := range pods.Items {
		opened, err := s.logs(ctx, client.ObjectKeyFromObject(&pod), o.of())
		if err != nil {
			failed = append(failed, fmt.Errorf("the log of %s cannot be read: %w", pod.Name,
				explain(err, s.namespace)))
			continue
		}
		defer opened.Close()
		streams = append(streams, newStream(pod.Name, opened))
	}
	if len(pods.Items) == 0 {
		return fmt.Errorf("no member of EtcdCluster %s has a Pod", name)
	}
	quiet := time.Duration(0)
	if o.follow {
		quiet = quietFor
	}
	err = merge(ctx, streams, quiet, func(l line) error { return show(l.sight(o.raw)) })
	for _, one := range streams {
		if one.failed != nil && ctx.Err() == nil {
			failed = append(failed, fmt.Errorf("the rest of the log of %s cannot be read: %w", one.member, one.failed))
		}
	}
	return errors.Join(append(failed, err)...)
}
