package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restart NAME", Short: "Restart each member of a cluster once, one at a time", Args: oneCluster,
		Long: "Writes the annotation " + v1alpha1.AnnotationRestartedAt + " on the EtcdCluster. The operator then " +
			"restarts each member once, one at a time, the leader last, each only while all others are healthy.",
		RunE: func(c *cobra.Command, args []string) error {
			s, err := p.connect(p.flags)
			if err != nil {
				return err
			}
			said, err := s.restart(c.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, said)
			return err
		},
	}
}

// fieldOwner does not begin with "kubectl": what does, Flux takes back
// (fluxcd/kustomize-controller:internal/controller/kustomization_controller.go).
const fieldOwner = client.FieldOwner("etcd-steward-plugin")

// restart asks the operator to restart each member, and returns what comes of it.
func (s *session) restart(ctx context.Context, name string) (string, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return "", err
	}
	before := c.DeepCopy()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[v1alpha1.AnnotationRestartedAt] = s.now().UTC().Format(time.RFC3339)
	if err := explain(s.Patch(ctx, c, client.MergeFrom(before), fieldOwner), "patch", s.namespace); err != nil {
		return "", err
	}
	return "A restart of EtcdCluster " + name + " is asked for. " + restartOf(c), nil
}

// restartOf says what the operator does about it, and when.
func restartOf(c *v1alpha1.EtcdCluster) string {
	switch {
	case c.Spec.Paused:
		return "spec.paused is true: the operator restarts members once you set it to false."
	case c.Spec.Mode == v1alpha1.ModeDryRun:
		return "spec.mode is DryRun: the operator shows each step in `status`, and restarts members once you set it " +
			"to Enforce."
	case c.Spec.Storage != nil && c.Spec.Storage.Ephemeral != nil:
		return "The data is ephemeral: the operator replaces each member by a new one, one at a time. " +
			"`kubectl etcd-steward status " + c.Name + "` shows how far it is."
	}
	return "The operator restarts each member once, one at a time, while all others are healthy. " +
		"`kubectl etcd-steward status " + c.Name + "` shows how far it is."
}
