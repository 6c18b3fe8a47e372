package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// showAll shows one line for each cluster of the namespace, or of all namespaces.
func (s *session) showAll(ctx context.Context, isEverywhere bool, show show) error {
	namespace := s.namespace
	if isEverywhere {
		namespace = ""
	}
	all, err := s.lookAll(ctx, namespace)
	if err != nil {
		return err
	}
	pages, summaries := make([]page, len(all)), make([]summary, len(all))
	var ends error
	for i, in := range all {
		pages[i] = s.pageOf(in)
		summaries[i] = pages[i].summary
		if !pages[i].Available && pages[i].Health.State != stateAsleep {
			ends = errNotAvailable
		}
	}
	return show(sight{data: summaries, ends: ends, text: func(out io.Writer) error {
		if len(pages) == 0 {
			_, err := fmt.Fprintf(out, "There is no EtcdCluster in %s.\n", inNamespace(namespace))
			return err
		}
		columns := clusterColumns()
		if !isEverywhere {
			columns = columns[1:]
		}
		if err := printTable(out, "", pages, columns); err != nil {
			return err
		}
		return printNotes(out, notesOf(pages))
	}})
}

// lookAll reads what a line of each cluster tells. Only the EtcdClusters are needed: what else may not be read is said.
func (s *session) lookAll(ctx context.Context, namespace string) ([]seen, error) {
	var clusters v1alpha1.EtcdClusterList
	if err := s.list(ctx, namespace, &clusters); err != nil {
		return nil, err
	}
	operators := s.operators(ctx, namespace)
	var made v1alpha1.EtcdBackupList
	backupErr := s.list(ctx, namespace, &made)
	var asked v1alpha1.EtcdRestoreList
	restoreErr := s.list(ctx, namespace, &asked)
	all := make([]seen, len(clusters.Items))
	for i := range clusters.Items {
		c := &clusters.Items[i]
		all[i] = seen{cluster: c, operator: operators.of(ctx, c), backups: made.Items, backupErr: backupErr,
			restores: asked.Items, restoreErr: restoreErr}
	}
	return all, nil
}

func clusterColumns() []column[page] {
	return []column[page]{
		{"NAMESPACE", func(p page) string { return p.Namespace }},
		{"NAME", func(p page) string { return p.Name }},
		{"HEALTH", func(p page) string { return p.Health.State }},
		{"MARGIN", page.margin},
		{"VERSION", page.versionInShort},
		{"READY", func(p page) string { return fmt.Sprintf("%d/%d", p.Size.Ready, p.Size.Wanted) }},
		{"NEXT STEP", func(p page) string {
			if p.NextStep == nil {
				return ""
			}
			return inShort(p.NextStep)
		}},
		{"LAST BACKUP", page.backupInShort},
		{"CERTIFICATE", func(p page) string {
			if p.Certificates == nil {
				return ""
			}
			return untilExpiry(&p.Certificates.Time, p.now)
		}},
	}
}

// margin is how many more members may fail, or why that is not known.
func (p page) margin() string {
	if p.Quorum.Margin == nil || *p.Quorum.Margin < 0 {
		return p.Quorum.State
	}
	return fmt.Sprint(*p.Quorum.Margin)
}

func (p page) versionInShort() string {
	v := p.Version
	switch {
	case p.isVersionRefused():
		return v.Current + ", not " + v.Target
	case v.Current != "" && v.Target != "" && v.Target != v.Current:
		return v.Current + " to " + v.Target
	}
	return v.Current
}

// backupInShort is the age of the newest backup.
func (p page) backupInShort() string {
	switch last := p.Backup.Last; {
	case p.Backup.Message != "":
		return "Unknown"
	case last == nil:
		return ""
	case !last.Verified:
		return age(last.StartedAt.Time, p.now) + ", not verified"
	default:
		return age(last.StartedAt.Time, p.now)
	}
}

// notesOf is what the lines cannot tell: operators that do not run, and what could not be read. Each is said once.
func notesOf(pages []page) []string {
	var notes []string
	for _, p := range pages {
		if p.Operator.State != operatorRuns && p.Operator.Message != noOperator {
			notes = append(notes, p.Operator.Message)
		}
		if p.Backup.Message != "" {
			notes = append(notes, "EtcdBackups cannot be read: "+p.Backup.Message)
		}
		if p.Restores.Message != "" {
			notes = append(notes, "EtcdRestores cannot be read: "+p.Restores.Message)
		}
		for _, r := range p.Restores.Open {
			notes = append(notes, fmt.Sprintf("EtcdCluster %s in namespace %s: %s", p.Name, p.Namespace, r.Message))
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}
