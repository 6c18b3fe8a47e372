package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

// look is how often the cluster is looked at.
const look = 200 * time.Millisecond

// untilReady prints each step that the operator names, until the cluster is Ready and, where given, also says so.
func (d demo) untilReady(ctx context.Context, also func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	begin, last := time.Now(), ""
	for tick := time.NewTicker(look); ; {
		seen, err := d.kube.cluster(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("not ready within %s; last step: %s (see `kubectl describe etcd %s`)", d.patience, last, cluster)
		}
		if err != nil {
			return err
		}
		if step := seen.Status.NextStep.Message; step != last && step != "" {
			fmt.Printf("%6.1fs  %d/%d  %s\n", time.Since(d.begin).Seconds(), seen.healthyVoters(), seen.Spec.Size, step)
			last = step
		}
		if seen.isReady() && (also == nil || also()) {
			fmt.Printf("%6.1fs  ready after %.1fs\n", time.Since(d.begin).Seconds(), time.Since(begin).Seconds())
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (d demo) printMembers(ctx context.Context) error {
	seen, err := d.kube.cluster(ctx)
	if err != nil {
		return err
	}
	fmt.Println()
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tID\tROLE\tVERSION\tHEALTHY\tNODE")
	for _, m := range seen.Status.Members {
		name := m.Name
		if name == seen.Status.Leader {
			name += " (leader)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%t\t%s\n", name, m.ID, m.Role, m.Version, m.Healthy, m.NodeName)
	}
	return table.Flush()
}
