package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// hostAddress is where Pods of localkube find this machine.
const hostAddress = "198.18.0.1"

// Secrets of the S3 server in each namespace.
const (
	s3Credentials = "s3-credentials"
	s3CA          = "s3-ca"
)

// store is an S3 server on this machine, by TLS.
type store struct {
	*s3server.Server

	dir string
}

func (b *bench) startStore(ctx context.Context) (*store, error) {
	binaries := os.Getenv("S3_BINARIES")
	if binaries == "" {
		return nil, errors.New("S3_BINARIES is not set; `make bench` builds an S3 server and sets it")
	}
	dir, err := os.MkdirTemp(inMemory(), "bench-s3-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the S3 server: %w", err)
	}
	server, err := s3server.Run(ctx, s3server.Versitygw, s3server.Options{Host: hostAddress, TLS: true, Dir: dir, Binaries: binaries})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &store{Server: server, dir: dir}, nil
}

// inMemory is a directory that is on no disk; empty, which is where temporary files go, when there is none. A store is
// not on the members' disk, and what it writes there would be measured as what a backup costs them.
func inMemory() string {
	const shared = "/dev/shm"
	if _, err := os.Stat(shared); err != nil {
		return ""
	}
	return shared
}

func (s *store) stop() {
	s.Stop()
	_ = os.RemoveAll(s.dir)
}

// at is where the backup of a run goes.
func (s *store) at(run int) destination {
	return destination{kind: "S3", name: "to-s3-" + strconv.Itoa(run), store: v1alpha1.BackupStore{S3: &v1alpha1.S3Store{
		Bucket: s.Bucket, Endpoint: s.Endpoint, Region: s.Region, ForcePathStyle: true,
		CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: s3Credentials},
		CASecretRef:          &v1alpha1.StoreSecretReference{Name: s3CA},
	}}}
}

// volumeStore is a claim of each run's own: what is in a claim goes with it.
func volumeStore(run int) destination {
	name := "to-volume-" + strconv.Itoa(run)
	return destination{kind: "a volume", name: name, store: v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: name}}}
}

// secrets hands the credentials to a namespace.
func (s *store) secrets(ctx context.Context, k *kube, namespace string) error {
	for name, data := range map[string]map[string]string{
		s3Credentials: {"access-key-id": s.AccessKeyID, "secret-access-key": s.SecretAccessKey},
		s3CA:          {"ca.crt": string(s.CA)},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
		if err := k.client.Create(ctx, secret); err != nil {
			return fmt.Errorf("creating the Secret %s in %s: %w", name, namespace, err)
		}
	}
	return nil
}

// empty deletes all objects: a disk is not for ever.
func (s *store) empty(ctx context.Context) error {
	list, err := s.Client().ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.Bucket})
	if err != nil {
		return fmt.Errorf("listing the bucket: %w", err)
	}
	for _, object := range list.Contents {
		if _, err := s.Client().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: object.Key}); err != nil {
			return fmt.Errorf("deleting %s: %w", *object.Key, err)
		}
	}
	return nil
}
