package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) rotateCACommand() *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "rotate-ca CLUSTER", Short: "Replace the CAs of a cluster while it runs", Args: oneCluster,
		Example: "  kubectl etcd-steward rotate-ca demo\n" +
			"  kubectl etcd-steward rotate-ca demo --overlap 1h",
		Long: "Writes the time into the annotation " + v1alpha1.AnnotationRotateCA + " on the EtcdCluster. The " +
			"operator then makes new CAs, and restarts members one at a time. Each is restarted twice: once to trust " +
			"both CAs, and once to trust the new one alone. Clients have to read the Secret of clients again after " +
			"each step.",
		RunE: p.onCluster(func(c *cobra.Command, s *session, name string) error {
			said, err := s.rotateCA(c.Context(), name, overlap)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, said)
			return err
		}),
	}
	c.Flags().DurationVar(&overlap, "overlap", 24*time.Hour,
		"How long clients get for each step that they have to follow.")
	return c
}

// rotateCA asks for it, and says how to follow it.
func (s *session) rotateCA(ctx context.Context, name string, overlap time.Duration) (string, error) {
	c, err := s.cluster(ctx, name)
	switch {
	case err != nil:
		return "", err
	case overlap < 0:
		return "", fmt.Errorf("--overlap is %s, and clients cannot get less than no time: use 0s or more", overlap)
	case !c.Spec.IsTLS():
		return "EtcdCluster " + name + " has spec.tls.mode: Disabled, and no CA. Nothing was written.", nil
	}
	asked := s.now().UTC().Format(time.RFC3339)
	says := "The operator replaces the CAs now."
	if held := heldBack(c); held != "" {
		says = held + "replaces the CAs."
	}
	said := fmt.Sprintf("New CAs of EtcdCluster %[1]s are asked for. %[2]s Clients get %[3]s to read Secret "+
		"%[1]s-client-tls after each step. `kubectl describe etcd %[5]s` shows which step is next. To call it off: "+
		"`kubectl annotate etcd %[5]s %[4]s-`.", name, says, overlap, v1alpha1.AnnotationRotateCA, named(c))
	return said + ownCAs(c), s.annotate(ctx, c, v1alpha1.AnnotationRotateCA, overlap.String()+"@"+asked)
}

// ownCAs says which CAs the operator does not replace, as a sentence with a space in front, or "".
func ownCAs(c *v1alpha1.EtcdCluster) string {
	clients, peers := c.Spec.CASources()
	named := slices.DeleteFunc([]string{clients.String(), peers.String()},
		func(name string) bool { return name == "" })
	if len(named) == 0 {
		return ""
	}
	return " The operator does not replace the CAs that come from elsewhere: " + strings.Join(named, ", ") +
		". Put another CA there, and the operator takes it."
}
