package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

// backupRow is an EtcdBackup in a list.
type backupRow struct {
	Name string `json:"name"`
	// Time is that of its data, or of its object before the snapshot has begun.
	Time  metav1.Time `json:"time"`
	Stage string      `json:"stage,omitempty"`
	// Reason says why it failed, or does not get on, and Waits the latter in sentences.
	Reason    string `json:"reason,omitempty"`
	Waits     string `json:"waits,omitempty"`
	Verified  bool   `json:"verified"`
	Revision  int64  `json:"revision,omitempty"`
	SizeBytes int64  `json:"sizeBytes,omitempty"`
	Store     string `json:"store"`
	Key       string `json:"key,omitempty"`
	// IsEarlier tells a backup of an earlier cluster of this name, or of one that is gone.
	IsEarlier bool `json:"ofEarlierCluster,omitempty"`
}

func (p program) backupListCommand() *cobra.Command {
	return p.showing(&cobra.Command{
		Use: "ls CLUSTER", Short: "List the backups of a cluster, the newest first",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("kubectl etcd-steward backup ls takes the name of one EtcdCluster. To back up a " +
					"cluster that is called ls: `kubectl etcd-steward backup -- ls`")
			}
			return oneCluster(c, args)
		},
		Example: "  kubectl etcd-steward backup ls demo\n" +
			"  kubectl etcd-steward backup ls demo -o json",
		Long: "Lists the EtcdBackups of a cluster, also those of an earlier cluster of that name and those of one " +
			"that is gone. What a store has beyond them is not asked for. The exit code is 1 for an error.",
	}, func(ctx context.Context, s *session, args []string, show show) error {
		rows, err := s.backupsOf(ctx, args[0])
		if err != nil {
			return err
		}
		return show(sight{data: rows, text: func(out io.Writer) error { return printBackups(out, rows, s.now()) }})
	})
}

// backupsOf lists the backups that name a cluster. It need not be there any more.
func (s *session) backupsOf(ctx context.Context, name string) ([]backupRow, error) {
	var all v1alpha1.EtcdBackupList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(all.Items, func(b v1alpha1.EtcdBackup) bool { return b.Spec.ClusterRef.Name != name })
	c := &v1alpha1.EtcdCluster{}
	err := s.get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, c)
	switch {
	case apierrors.IsNotFound(err) && len(own) == 0:
		_, err = s.cluster(ctx, name) // which says which clusters there are
		return nil, err
	case apierrors.IsNotFound(err):
		c = &v1alpha1.EtcdCluster{}
	case err != nil:
		return nil, err
	}
	rows := make([]backupRow, len(own))
	for i, b := range own {
		rows[i] = rowOf(b, !isOf(c, b))
	}
	slices.SortFunc(rows, func(a, b backupRow) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(b.Name, a.Name))
	})
	return rows, nil
}

func rowOf(b v1alpha1.EtcdBackup, isEarlier bool) backupRow {
	row := backupRow{Name: b.Name, Time: b.CreationTimestamp, Stage: b.Status.Stage, Revision: b.Status.Revision,
		Verified: isTrue(b.Status.Conditions, v1alpha1.BackupVerified), SizeBytes: b.Status.SizeBytes,
		Store: inWords(b.Spec.Store), Key: b.Status.Key, IsEarlier: isEarlier}
	row.Reason, row.Waits = backupplan.Waits(&b)
	if b.Status.StartedAt != nil {
		row.Time = *b.Status.StartedAt
	}
	if failed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.BackupFailed); failed != nil &&
		failed.Status == metav1.ConditionTrue {
		row.Reason = failed.Reason
	}
	return row
}

// inWords is where a store is.
func inWords(s v1alpha1.BackupStore) string {
	switch {
	case s.S3 != nil:
		return "s3 " + path.Join(s.S3.Bucket, s.S3.Prefix)
	case s.GCS != nil:
		return "gcs " + path.Join(s.GCS.Bucket, s.GCS.Prefix)
	case s.Azure != nil:
		return "azure " + path.Join(s.Azure.Container, s.Azure.Prefix)
	case s.Volume != nil:
		return "volume " + path.Join(s.Volume.ClaimName, s.Volume.Path)
	}
	return ""
}

func printBackups(out io.Writer, rows []backupRow, now time.Time) error {
	err := printTable(out, "", rows, []column[backupRow]{
		{"NAME", func(b backupRow) string { return b.Name }},
		{"AGE", func(b backupRow) string { return age(b.Time.Time, now) }},
		{"STAGE", func(b backupRow) string { return strings.TrimSuffix(b.Stage+": "+b.Reason, ": ") }},
		{"VERIFIED", func(b backupRow) string { return yesOrNo(b.Verified) }},
		{"REVISION", func(b backupRow) string { return numberOf(b.Revision) }},
		{"SIZE", func(b backupRow) string {
			if b.SizeBytes == 0 {
				return ""
			}
			return rounded(b.SizeBytes)
		}},
		{"STORE", func(b backupRow) string { return b.Store }},
	})
	if err != nil {
		return err
	}
	var earlier, notes []string
	for _, b := range rows {
		if b.IsEarlier {
			earlier = append(earlier, b.Name)
		}
		if b.Waits != "" {
			notes = append(notes, fmt.Sprintf("EtcdBackup %s waits: %s", b.Name, b.Waits))
		}
	}
	if len(earlier) > 0 {
		notes = append(notes, "Of a cluster of this name that is gone: "+strings.Join(earlier, ", ")+".")
	}
	return printNotes(out, notes)
}

func numberOf(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func yesOrNo(isSo bool) string {
	if isSo {
		return "yes"
	}
	return "no"
}
