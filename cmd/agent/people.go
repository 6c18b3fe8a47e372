package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// inspection is what a snapshot is, and what it is good for.
type inspection struct {
	Name            string           `json:"name"`
	SizeBytes       int64            `json:"sizeBytes"`
	SHA256          string           `json:"sha256"`
	EtcdVersion     string           `json:"etcdVersion"`
	Revision        int64            `json:"revision"`
	CompactRevision int64            `json:"compactRevision"`
	TotalKeys       int64            `json:"totalKeys"`
	AuthEnabled     bool             `json:"authEnabled"`
	Alarms          []string         `json:"alarms,omitempty"`
	Manifest        *backup.Manifest `json:"manifest,omitempty"`
}

func inspect(f *flagSet) work {
	var key, file, scratch string
	f.keyFlag(&key)
	f.StringVar(&file, "file", "", "Instead of a store and a key: a snapshot on this machine.")
	f.StringVar(&scratch, "scratch", os.TempDir(), "Directory with room for the snapshot of a store.")
	f.check(func() error {
		if (file == "") == (key == "") {
			return errors.New("want exactly one of --file and --key")
		}
		return nil
	})
	f.storeFlagsIf(func() bool { return file == "" })
	ofStore := f.withStore(func(ctx context.Context, t backup.Transfer) (any, error) {
		dir, err := os.MkdirTemp(scratch, "inspect-")
		if err != nil {
			return nil, fmt.Errorf("make a directory for the snapshot: %w", err)
		}
		defer os.RemoveAll(dir)
		return inspectionOf(backup.InspectObject(ctx, t, key, dir))
	})
	return func(ctx context.Context, t backup.Transfer) (any, error) {
		if file != "" {
			return inspectionOf(backup.InspectFile(file))
		}
		return ofStore(ctx, t)
	}
}

func inspectionOf(seen backup.Inspected, err error) (*inspection, error) {
	if err != nil {
		return nil, err
	}
	f := seen.Facts
	return &inspection{Name: seen.Name, SizeBytes: seen.SizeBytes, SHA256: seen.SHA256, EtcdVersion: seen.EtcdVersion,
		Revision: f.Revision, CompactRevision: f.CompactRevision, TotalKeys: f.TotalKeys, AuthEnabled: f.AuthEnabled,
		Alarms: f.Alarms, Manifest: seen.Manifest}, nil
}

func (i *inspection) print(w io.Writer) {
	fmt.Fprintln(w, i.Name)
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, line := range [][2]string{
		{"size", fmt.Sprintf("%s (%d bytes)", sizeOf(i.SizeBytes), i.SizeBytes)},
		{"SHA-256", i.SHA256 + ", and that of etcd at its end is right"},
		{"manifest", i.manifest()},
		{"etcd", i.EtcdVersion},
		{"revision", fmt.Sprintf("%d, compacted at %d", i.Revision, i.CompactRevision)},
		{"keys", fmt.Sprint(i.TotalKeys)},
		{"authentication", map[bool]string{true: "on", false: "off"}[i.AuthEnabled]},
		{"alarms", strings.Join(append(i.Alarms[:len(i.Alarms):len(i.Alarms)], "none")[:max(1, len(i.Alarms))], ", ")},
	} {
		fmt.Fprintf(table, "  %s\t%s\n", line[0], line[1])
	}
	_ = table.Flush()
	fmt.Fprintln(w, i.use())
}

func (i *inspection) manifest() string {
	m := i.Manifest
	if m == nil {
		return "none: nothing says that it was compared with the members of its cluster"
	}
	says := fmt.Sprintf("of %s of cluster %s/%s, from %s", m.Member, m.ClusterNamespace, m.ClusterName,
		m.StartedAt.Format("2006-01-02T15:04:05Z07:00"))
	if m.KeysHash.NoWitness != "" {
		return says + "; no other member confirmed its keys"
	}
	return says + fmt.Sprintf("; its keys are those that %s had", m.KeysHash.Member)
}

// use says what the snapshot is good for.
func (i *inspection) use() string {
	wrote, err := etcdutil.ParseVersion(i.EtcdVersion)
	if err != nil {
		return "Its version of etcd cannot be read."
	}
	says := fmt.Sprintf("A new EtcdCluster (spec.bootstrap.restore) or an EtcdRestore can begin with it, with "+
		"spec.version %s or newer", wrote.MinorString())
	if i.AuthEnabled {
		says += " and spec.tls.mode Managed"
	}
	if why := etcdutil.WhyNotBegin(wrote, etcdutil.Version{Major: wrote.Major, Minor: wrote.Minor + 1}); why != "" {
		return "No EtcdCluster can begin with it: " + why + "."
	}
	return says + "."
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

type listings []listing

func list(f *flagSet) work {
	var whose backup.Whose
	f.storeFlags()
	f.clusterFlags(&whose)
	f.check(func() error {
		return errors.Join(
			checkIfGiven("cluster-namespace", whose.Namespace),
			checkIfGiven("cluster-name", whose.Name),
			checkIfGiven("cluster-uid", whose.UID),
		)
	})
	return f.withStore(func(ctx context.Context, t backup.Transfer) (any, error) {
		found, err := backup.List(ctx, t.Bucket, whose)
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
