package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) replaceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "replace MEMBER", Short: "Put a new member in the place of one", Args: oneMember,
		Example: "  kubectl etcd-steward replace demo-1",
		Long: "Writes the name into the annotation " + v1alpha1.AnnotationReplace + " on the EtcdCluster. A new " +
			"member joins and gets its vote, then this one hands over and goes. One that has not served for two " +
			"minutes is removed first, and its volume is kept. Both happen only while the others are a quorum.",
		RunE: p.telling((*session).replace),
	}
}

func oneMember(c *cobra.Command, args []string) error {
	if len(args) == 1 && strings.LastIndex(args[0], "-") > 0 {
		return nil
	}
	return fmt.Errorf("%s takes the name of one member, such as demo-1. `kubectl etcd-steward status CLUSTER` lists "+
		"the members of a cluster", c.CommandPath())
}

// clusterOf reads the cluster of a member, and the names of all of its members. A name that none of them has is
// refused.
func (s *session) clusterOf(ctx context.Context, member string) (*v1alpha1.EtcdCluster, []string, error) {
	c, err := s.cluster(ctx, member[:strings.LastIndex(member, "-")])
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, m := range c.Status.Members {
		names = append(names, m.Name)
	}
	if !slices.Contains(names, member) {
		return nil, nil, fmt.Errorf("EtcdCluster %s has no member %s. It has: %s. Nothing was written", c.Name, member,
			strings.Join(names, ", "))
	}
	return c, names, nil
}

// replace asks for a new member in the place of one, beside those that are asked for already and are still there.
func (s *session) replace(ctx context.Context, member string) (string, error) {
	c, names, err := s.clusterOf(ctx, member)
	if err != nil {
		return "", err
	}
	asked := slices.DeleteFunc(c.ReplaceAsked(), func(name string) bool { return !slices.Contains(names, name) })
	if !slices.Contains(asked, member) {
		asked = append(asked, member)
	}
	return replacementOf(c, member), s.annotate(ctx, c, v1alpha1.AnnotationReplace, strings.Join(asked, ","))
}

// replacementOf says what the operator does about a member that is asked to be replaced, and when.
func replacementOf(c *v1alpha1.EtcdCluster, member string) string {
	says := fmt.Sprintf("A new member joins and gets its vote, then %s goes. `kubectl etcd-steward status %s` shows "+
		"how far it is.", member, named(c))
	if held := heldBack(c); held != "" {
		says = held + "lets a new member join, and then " + member + " goes."
	}
	return fmt.Sprintf("A new member in the place of %s is asked for. %s To take it back before the new member votes: "+
		"`kubectl annotate etcd %s %s-`.", member, says, named(c), v1alpha1.AnnotationReplace)
}
