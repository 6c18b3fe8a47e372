package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) fenceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "fence MEMBER", Short: "Stop one member, and keep its volume for yourself", Args: oneMember,
		Example: "  kubectl etcd-steward fence demo-1",
		Long: "Writes the name into the annotation " + v1alpha1.AnnotationFence + " on the EtcdCluster. The operator " +
			"stops the member once all others serve and are a quorum. It starts no Pod on the volume before " +
			"`unfence`, or before the others are no quorum.",
		RunE: p.telling((*session).fence),
	}
}

func (p program) unfenceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unfence MEMBER", Short: "Start a member that was fenced", Args: oneMember,
		Example: "  kubectl etcd-steward unfence demo-1",
		Long: "Takes the name out of the annotation " + v1alpha1.AnnotationFence + " on the EtcdCluster. The " +
			"operator starts the member on its volume.",
		RunE: p.telling((*session).unfence),
	}
}

// fence asks for one member to be stopped. What can never be done is not written.
func (s *session) fence(ctx context.Context, member string) (string, error) {
	c, _, err := s.clusterOf(ctx, member)
	if err != nil {
		return "", err
	}
	asked := c.FenceAsked()
	if why := whyNoFence(c, member, asked); why != "" {
		return "", fmt.Errorf("%s is not fenced: %s. Nothing was written", member, why)
	}
	if slices.Contains(asked, member) {
		return member + " is fenced already, or will be. Nothing was written.", nil
	}
	return fenceOf(c, member), s.annotate(ctx, c, v1alpha1.AnnotationFence, member)
}

// whyNoFence says why a member cannot be stopped, or "". Names that no member has do not count.
func whyNoFence(c *v1alpha1.EtcdCluster, member string, asked []string) string {
	voters := 0
	for _, m := range c.Status.Members {
		if m.Role == "voter" {
			voters++
		}
		if m.Name != member && slices.Contains(asked, m.Name) {
			return fmt.Sprintf("%[1]s is, and one at a time can be. `kubectl etcd-steward unfence %[1]s -n %[2]s` "+
				"starts that one", m.Name, c.Namespace)
		}
	}
	switch {
	case c.Spec.IsEphemeral():
		return "its data is in its Pod, and would be lost"
	case voters < 3:
		return fmt.Sprintf("EtcdCluster %s has %d members with a vote, and three can spare one", c.Name, voters)
	}
	return ""
}

// fenceOf says what the operator does about a member that is fenced, and when.
func fenceOf(c *v1alpha1.EtcdCluster, member string) string {
	says := "The operator stops it once all others serve."
	if held := heldBack(c); held != "" {
		says = held + "stops it, while all others serve."
	}
	return fmt.Sprintf("%[1]s is fenced. %[2]s To wait for that: `kubectl wait etcd %[3]s --for=condition=Fenced "+
		"--timeout=10m`. Its claim is %[1]s. To start it again: `kubectl etcd-steward unfence %[1]s -n %[4]s`.",
		member, says, named(c), c.Namespace)
}

// unfence takes the name out of those that are asked for, and with it those that no member has any more.
func (s *session) unfence(ctx context.Context, member string) (string, error) {
	c, names, err := s.clusterOf(ctx, member)
	if err != nil {
		return "", err
	}
	asked := c.FenceAsked()
	if !slices.Contains(asked, member) {
		return member + " is not fenced. Nothing was written.", nil
	}
	left := slices.DeleteFunc(asked, func(name string) bool { return name == member || !slices.Contains(names, name) })
	says := "The operator starts it now."
	if held := heldBack(c); held != "" {
		says = held + "starts it."
	}
	return fmt.Sprintf("%s is not fenced any more. %s To wait for that: `kubectl wait etcd %s "+
			"--for=condition=Ready --timeout=10m`.", member, says, named(c)),
		s.annotate(ctx, c, v1alpha1.AnnotationFence, strings.Join(left, ","))
}
