package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func (p program) statusCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "status NAME", Short: "Show a cluster on one page", Args: oneCluster,
		Long: "Shows health, quorum, the next step of the operator, members, versions, certificates, the last " +
			"backup and the conditions that are not as they should be. The exit code is 2 for a cluster that is not " +
			"known to be Available, and 1 for an error.",
		RunE: func(c *cobra.Command, args []string) error {
			show, err := formatOf(format)
			if err != nil {
				return err
			}
			s, err := p.connect(p.flags)
			if err != nil {
				return err
			}
			in, err := s.look(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := show(page{summary: summarize(in), unseen: unseen(in.cluster), now: s.now()}, p.out); err != nil {
				return fmt.Errorf("printing the status: %w", err)
			}
			if !isAvailable(in) {
				return errNotAvailable
			}
			return nil
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "text", "What is printed: text, json or yaml.")
	return c
}

// formatOf is how a status is printed.
func formatOf(name string) (func(page, io.Writer) error, error) {
	switch name {
	case "text":
		return page.print, nil
	case "json":
		return func(p page, out io.Writer) error {
			encoder := json.NewEncoder(out)
			encoder.SetIndent("", "  ")
			return encoder.Encode(p.summary)
		}, nil
	case "yaml":
		return func(p page, out io.Writer) error {
			text, err := yaml.Marshal(p.summary)
			if err == nil {
				_, err = out.Write(text)
			}
			return err
		}, nil
	}
	return nil, fmt.Errorf("--output is %q; it must be text, json or yaml", name)
}

// look reads all that a status tells. Only the EtcdCluster is needed: what else may not be read is said.
func (s *session) look(ctx context.Context, name string) (seen, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return seen{}, err
	}
	in := seen{cluster: c, operator: s.operator(ctx, name)}
	var all v1alpha1.EtcdBackupList
	in.backupErr = s.list(ctx, s.namespace, &all)
	in.backups = all.Items
	return in, nil
}
