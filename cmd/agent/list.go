package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func listFlags(o *options, f *flagSet) {
	storeFlags(o, f)
	clusterFlags(o, f)
	f.check(func() error {
		return errors.Join(
			checkIfGiven("cluster-namespace", o.whose.Namespace),
			checkIfGiven("cluster-name", o.whose.Name),
			checkIfGiven("cluster-uid", o.whose.UID),
		)
	})
}

// listing is one line of a list.
type listing struct {
	Key         string     `json:"key"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	Revision    int64      `json:"revision,omitempty"`
	SizeBytes   int64      `json:"sizeBytes,omitempty"`
	EtcdVersion string     `json:"etcdVersion,omitempty"`
	Proven      bool       `json:"proven,omitempty"` // its manifest says so
	// Problem says why it is no backup; empty for one.
	Problem string `json:"problem,omitempty"`
}

// listings are printed for a person.
type listings []listing

func list(ctx context.Context, o *options, progress *backup.Progress) (any, error) {
	return withStore(ctx, o, progress, func(transfer backup.Transfer) (listings, error) {
		found, err := backup.List(ctx, transfer.Bucket, o.whose)
		all := listings{}
		for _, l := range found {
			all = append(all, listingOf(l))
		}
		return all, err
	})
}

func listingOf(l backup.Listed) listing {
	line := listing{Key: l.Key, Problem: l.Why}
	if m := l.Manifest; m != nil {
		line.Proven = m.Proven
		line.CompletedAt, line.Revision, line.SizeBytes, line.EtcdVersion = &m.CompletedAt, m.Revision, m.SizeBytes,
			m.EtcdVersion
	}
	return line
}

func (all listings) print(w io.Writer) {
	if len(all) == 0 {
		fmt.Fprintln(w, "The store has no backup there.")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPLETED\tREVISION\tSIZE\tETCD\tPROVEN\tKEY")
	for _, l := range all {
		if l.CompletedAt == nil {
			fmt.Fprintf(table, "-\t-\t-\t-\t-\t%s: %s\n", l.Key, l.Problem)
			continue
		}
		key := l.Key
		if l.Problem != "" {
			key += ": " + l.Problem
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", l.CompletedAt.Format(time.RFC3339), l.Revision,
			sizeOf(l.SizeBytes), l.EtcdVersion, map[bool]string{true: "yes", false: "not said"}[l.Proven], key)
	}
	_ = table.Flush()
}

// sizeOf is a size as a person reads it.
func sizeOf(bytes int64) string {
	for _, unit := range []struct {
		name  string
		shift int
	}{{"Gi", 30}, {"Mi", 20}, {"Ki", 10}} {
		if bytes >= 1<<unit.shift {
			return fmt.Sprintf("%.1f%s", float64(bytes)/float64(int64(1)<<unit.shift), unit.name)
		}
	}
	return fmt.Sprint(bytes)
}
