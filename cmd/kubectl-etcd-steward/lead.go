package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// leadFor is for how long the operator looks at a request to lead: facts.LeadFor.
const leadFor = 10 * time.Minute

func (p program) moveLeaderCommand() *cobra.Command {
	return &cobra.Command{
		Use: "move-leader MEMBER", Short: "Have one member lead", Args: oneMember,
		Example: "  kubectl etcd-steward move-leader demo-1",
		Long: "Writes the name and the time into the annotation " + v1alpha1.AnnotationMoveLeader + " on the " +
			"EtcdCluster. The operator moves leadership there once the member serves and has a vote. After ten " +
			"minutes the request ends, and etcd alone chooses who leads.",
		RunE: p.telling((*session).moveLeader),
	}
}

// moveLeader asks that a member leads, and says how to wait for that.
func (s *session) moveLeader(ctx context.Context, member string) (string, error) {
	c, _, err := s.clusterOf(ctx, member)
	if err != nil {
		return "", err
	}
	if c.Status.Leader == member && c.Spec.Size > 0 {
		return member + " leads already. Nothing was written.", nil
	}
	now := s.now().UTC()
	return leadOf(c, member, now.Add(leadFor)), s.annotate(ctx, c, v1alpha1.AnnotationMoveLeader,
		member+"@"+now.Format(time.RFC3339))
}

// leadOf says what the operator does about a member that is asked to lead, and when.
func leadOf(c *v1alpha1.EtcdCluster, member string, until time.Time) string {
	isAsked := func(m v1alpha1.MemberStatus) bool { return m.Name == member }
	m := c.Status.Members[slices.IndexFunc(c.Status.Members, isAsked)]
	says := "The operator moves leadership there now"
	switch {
	case heldBack(c) != "":
		says = heldBack(c) + "moves leadership there"
	case m.Role == "learner":
		says = "It has no vote yet: once it has, the operator moves leadership there"
	case !m.Healthy:
		says = "It is not healthy now: once it serves, the operator moves leadership there"
	}
	return fmt.Sprintf("%[1]s is asked to lead. %[2]s. The request ends at %[3]s. To wait for it: `kubectl wait etcd "+
		"%[4]s --for=jsonpath='{.status.leader}'=%[1]s --timeout=10m`.", member, says, until.Format(time.RFC3339),
		named(c))
}
