package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "pause CLUSTER", Short: "Keep the operator from changing a cluster", Args: oneCluster,
		Long: "Sets spec.paused of the EtcdCluster. The operator looks at the cluster and reports, and changes " +
			"nothing: it replaces no member, renews no certificate, and follows no change of the spec. Members " +
			"serve on, and backups and their schedules go on.",
		Example: "  kubectl etcd-steward pause demo",
		RunE:    p.telling((*session).pause),
	}
}

func (p program) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume CLUSTER", Short: "Let the operator change a cluster again", Args: oneCluster,
		Long:    "Takes spec.paused of the EtcdCluster away. What the operator held back begins, one change at a time.",
		Example: "  kubectl etcd-steward resume demo",
		RunE:    p.telling((*session).resume),
	}
}

// pause says what goes on without the operator, and for how long that can be.
func (s *session) pause(ctx context.Context, name string) (string, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return "", err
	}
	if c.Spec.Paused {
		return "EtcdCluster " + name + " is paused already. Nothing was written.", nil
	}
	if err := s.setPaused(ctx, c, true); err != nil {
		return "", err
	}
	says := fmt.Sprintf("EtcdCluster %s is paused. The operator replaces no member, renews no certificate, and "+
		"follows no change of the spec. Members serve on, and backups and their schedules go on.", name)
	if first := firstExpiry(c.Status.Members); first != nil {
		says += fmt.Sprintf(" The first certificate, of %s, expires on %s: resume long before.", first.Member,
			date(first.Time.Time))
	}
	return says + " To resume: `kubectl etcd-steward resume " + named(c) + "`.", nil
}

// resume says how to follow what begins.
func (s *session) resume(ctx context.Context, name string) (string, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return "", err
	}
	if !c.Spec.Paused {
		return "EtcdCluster " + name + " is not paused. Nothing was written.", nil
	}
	if err := s.setPaused(ctx, c, false); err != nil {
		return "", err
	}
	if held := heldBack(c); held != "" {
		return "EtcdCluster " + name + " is not paused any more. " + held + "goes on.", nil
	}
	return fmt.Sprintf("EtcdCluster %[1]s is not paused any more. What the operator held back begins, one change at a "+
		"time: `kubectl etcd-steward status %[2]s` shows the next step. To wait for it: `kubectl wait etcd %[2]s "+
		"--for=condition=Ready --timeout=10m`.", name, named(c)), nil
}

func (s *session) setPaused(ctx context.Context, c *v1alpha1.EtcdCluster, paused bool) error {
	before := c.DeepCopy()
	c.Spec.Paused = paused
	return explain(s.Patch(ctx, c, client.MergeFrom(before), fieldOwner), s.namespace)
}
