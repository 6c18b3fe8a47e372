package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// The Secrets that the backup's Pod gets from the kubelet.
const (
	credentialsSecret = cluster + "-s3-credentials"
	caSecret          = cluster + "-s3-ca"
)

// s3Server is the S3 server that a backup goes to.
type s3Server struct {
	binaries string // directory of the program; empty: no backup is taken
	host     string // where Pods find this machine
}

// backUp takes a backup to an S3 server that lives as long as it takes, and ends with the line that says what came of
// it.
func (d demo) backUp(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "demo-s3-")
	if err != nil {
		return fmt.Errorf("making a directory for the S3 server: %w", err)
	}
	defer os.RemoveAll(dir)
	d.title("Starting an S3 server on this machine, with TLS, for as long as this takes; its credentials and authority go into Secrets")
	server, err := s3server.Run(ctx, s3server.Versitygw, s3server.Options{Host: d.s3.host, TLS: true, Dir: dir, Bucket: "demo-backups", Binaries: d.s3.binaries})
	if err != nil {
		return err
	}
	defer server.Stop()
	return d.backUpTo(ctx, server.Access)
}

func (d demo) backUpTo(ctx context.Context, store s3server.Access) error {
	for _, secret := range storeSecrets(store) {
		if err := d.kube.apply(ctx, secret); err != nil {
			return err
		}
	}
	backup := newBackup(store, d.begin)
	text, err := yaml.Marshal(backup)
	if err != nil {
		return fmt.Errorf("writing the EtcdBackup: %w", err)
	}
	d.title("Backing the cluster up, and proving it: read back, restored, compared with what the members hold")
	fmt.Println("         " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n         "))
	if err := d.kube.apply(ctx, backup); err != nil {
		return err
	}
	status, err := d.untilVerified(ctx, backup.Name)
	if err != nil {
		return err
	}
	if err := holds(ctx, store, status); err != nil {
		return err
	}
	fmt.Printf("\n%s\n", summary(store.Bucket, status))
	return nil
}

// summary is the last line.
func summary(bucket string, s v1alpha1.EtcdBackupStatus) string {
	return fmt.Sprintf("demo: backup Verified, %d key(s) at revision %d, in s3://%s/%s", s.TotalKeys, s.Revision, bucket, s.Key)
}

// storeSecrets are the credentials and the CA of a server.
func storeSecrets(a s3server.Access) []*corev1.Secret {
	secret := func(name string, data map[string]string) *corev1.Secret {
		return &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data,
		}
	}
	return []*corev1.Secret{
		secret(credentialsSecret, map[string]string{"access-key-id": a.AccessKeyID, "secret-access-key": a.SecretAccessKey}),
		secret(caSecret, map[string]string{"ca.crt": string(a.CA)}),
	}
}

// backupManifest is an EtcdBackup as a user writes it.
type backupManifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              v1alpha1.EtcdBackupSpec `json:"spec"`
}

// newBackup has a name of its own: the demo may be run again, and each EtcdBackup is one backup.
func newBackup(a s3server.Access, at time.Time) backupManifest {
	return backupManifest{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EtcdBackup"},
		ObjectMeta: metav1.ObjectMeta{Name: cluster + at.UTC().Format("-20060102-150405")},
		Spec: v1alpha1.EtcdBackupSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: cluster},
			Store: v1alpha1.BackupStore{S3: &v1alpha1.S3Store{
				Bucket: a.Bucket, Endpoint: a.Endpoint, Region: a.Region, ForcePathStyle: true,
				CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: credentialsSecret},
				CASecretRef:          &v1alpha1.StoreSecretReference{Name: caSecret},
			}},
		},
	}
}

// untilVerified prints how far the backup is, until it is proven or was given up.
func (d demo) untilVerified(ctx context.Context, name string) (v1alpha1.EtcdBackupStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for last := ""; ; {
		status, err := d.kube.backup(ctx, name)
		if ctx.Err() != nil {
			return status, fmt.Errorf("the backup is not proven within %s; last: %s (see `kubectl describe etcdbackup %s`)", d.patience, last, name)
		}
		if err != nil {
			return status, err
		}
		if now := progress(status); now != last && now != "" {
			fmt.Printf("%6.1fs  %s\n", time.Since(d.begin).Seconds(), now)
			last = now
		}
		if done, err := ended(status); done {
			return status, err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// progress is a stage with how much of it is done, where that is known.
func progress(s v1alpha1.EtcdBackupStatus) string {
	if s.BytesTransferred == nil {
		return s.Stage
	}
	const mebi = 1 << 20
	text := fmt.Sprintf("%s  %.1f MiB", s.Stage, float64(*s.BytesTransferred)/mebi)
	if s.BytesTotal != nil {
		text += fmt.Sprintf(" of %.1f", float64(*s.BytesTotal)/mebi)
	}
	return text
}

// ended reports a backup that nothing changes any more, with an error unless it is proven.
func ended(s v1alpha1.EtcdBackupStatus) (bool, error) {
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.BackupFailed); c != nil && c.Status == metav1.ConditionTrue {
		return true, fmt.Errorf("the backup has failed: %s: %s", c.Reason, c.Message)
	}
	if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.BackupComplete) {
		return false, nil
	}
	if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.BackupVerified) {
		return true, errors.New("the backup is complete and was not proven")
	}
	return true, nil
}

// holds asks the server itself for what the status claims to be there.
func holds(ctx context.Context, a s3server.Access, s v1alpha1.EtcdBackupStatus) error {
	object, err := a.Client().HeadObject(ctx, &s3.HeadObjectInput{Bucket: &a.Bucket, Key: &s.Key})
	if err != nil {
		return fmt.Errorf("looking for %s in the bucket: %w", s.Key, err)
	}
	if object.ContentLength == nil || *object.ContentLength != s.SizeBytes {
		return fmt.Errorf("%s in the bucket has not the %d bytes that the status claims", s.Key, s.SizeBytes)
	}
	return nil
}
