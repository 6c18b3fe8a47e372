package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) hibernateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "hibernate CLUSTER", Short: "Let a cluster sleep: no member runs, and all data stays", Args: oneCluster,
		Example: "  kubectl etcd-steward hibernate demo",
		Long: "Sets spec.size of the EtcdCluster to 0. All members stop, and clients are not served. Volumes, " +
			"certificates and Services stay.",
		RunE: p.telling((*session).hibernate),
	}
}

func (p program) wakeCommand() *cobra.Command {
	var size int32
	c := &cobra.Command{
		Use: "wake CLUSTER", Short: "Wake a cluster that sleeps", Args: oneCluster,
		Example: "  kubectl etcd-steward wake demo\n" +
			"  kubectl etcd-steward wake demo --size 3",
		Long: "Sets spec.size of the EtcdCluster. Its members start on their volumes, and then it gets that size.",
		RunE: p.telling(func(s *session, ctx context.Context, name string) (string, error) {
			return s.wake(ctx, name, size)
		}),
	}
	c.Flags().Int32Var(&size, "size", 0, "how many members it is to have; 0 is as many as it has volumes")
	return c
}

// hibernate asks for no member, and says how to wait for that.
func (s *session) hibernate(ctx context.Context, name string) (string, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return "", err
	}
	if c.Spec.Size == 0 {
		return "spec.size of EtcdCluster " + name + " is 0 already. Nothing was written.", nil
	}
	was := c.Spec.Size
	if err := s.resize(ctx, c, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("EtcdCluster %[1]s is to sleep. It had the size %[2]d. To wait for it: `kubectl wait etcd "+
		`%[1]s -n %[3]s --for='jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Asleep'`+" --timeout=10m`. To "+
		"wake it: `kubectl etcd-steward wake %[1]s -n %[3]s --size %[2]d`.", name, was, c.Namespace), nil
}

// wake asks for so many members, or for as many as there were.
func (s *session) wake(ctx context.Context, name string, size int32) (string, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return "", err
	}
	if c.Spec.Size > 0 {
		return fmt.Sprintf("EtcdCluster %s does not sleep: its spec.size is %d. Nothing was written.", name,
			c.Spec.Size), nil
	}
	if size == 0 {
		if size = int32(len(c.Status.Members)); !slices.Contains([]int32{1, 3, 5, 7}, size) {
			return "", fmt.Errorf("EtcdCluster %s shows %d members, which is no size that a cluster may have. Say "+
				"with --size how many it is to have: 1, 3, 5 or 7", name, size)
		}
	}
	if err := s.resize(ctx, c, size); err != nil {
		return "", err
	}
	return fmt.Sprintf("EtcdCluster %[1]s wakes with %[2]d members. To wait for it: `kubectl wait etcd %[3]s "+
		"--for=condition=Ready --timeout=10m`.", name, size, named(c)), nil
}

func (s *session) resize(ctx context.Context, c *v1alpha1.EtcdCluster, size int32) error {
	before := c.DeepCopy()
	c.Spec.Size = size
	return explain(s.Patch(ctx, c, client.MergeFrom(before), fieldOwner), s.namespace)
}
